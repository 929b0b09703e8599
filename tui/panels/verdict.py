"""One sentence on what the drafter buys, from the rules that `compare` uses too."""

from collectors.reading import serving
from collectors.reading.acceptance import Figures
from collectors.reading.verdict import Measured, Verdict
from collectors.reading.verdict import verdict as judge
from tui import versus
from tui.chosen import Chosen, chosen, running
from tui.rows import Row, clean, wrap
from tui.view import View

_SIGNS = {"good": ("✓", "good"), "bad": ("✗", "bad"), "unsure": ("!", "warn"), "unknown": ("·", "muted")}


def verdict(view: View, width: int, limit: int = 2) -> list[Row]:
    """No row where nothing is drafted; the next step follows the sentence where there is room."""
    found = chosen(view)
    if found is None or not serving.speculates(view.state.serving) or not found.figures.drafts:
        return []
    said, beside = _judged(view, found)
    sign, style = _SIGNS.get(said.tone, _SIGNS["unknown"])
    sentence = f"{said.sentence}{beside}"
    then = None if running(view.state.serving) is not None else said.next  # the experiment is under way
    lines = wrap(clean(f"{sentence} Next: {then}." if then else sentence), width - 4)
    if len(lines) > limit:
        lines = wrap(clean(sentence), width - 4, limit)
    return [((f" {sign} " if n == 0 else "   ", style), (line, "plain")) for n, line in enumerate(lines)]


def _judged(view: View, found: Chosen) -> tuple[Verdict, str]:
    """Against a baseline, if the benchmark shown or one before it has one, and what it is; else by the drafts alone."""
    ended = [bench for bench in view.state.serving.benchmarks if bench.end_t is not None]
    cells = [
        versus.cell(view.versus, bench)
        for bench in ((found.bench,) if found.bench else tuple(reversed(ended)))
    ]
    beside = next(filter(None, cells), None)
    if beside is None or beside.verdict is None or view.versus is None:
        return judge(measured(found.figures)), ""
    contrast = view.versus.contrasts[0]
    if contrast.controlled:
        alike = ", the same but for one thing"
    elif contrast.differences is None:
        alike = ""
    else:
        alike = (
            f"; {len(contrast.differences)} things differ" if contrast.differences else ", the same launch"
        )
    return beside.verdict, f" Baseline: {view.versus.baseline}{alike}."


def measured(figures: Figures) -> Measured:
    return Measured(
        tok_s=figures.tok_s,
        drafts=figures.drafts,
        draft_tokens=figures.draft_tokens,
        accepted=figures.accepted,
        per_position=figures.per_position or (),
        step_s=figures.step_s,
        mean_running=figures.mean_running,
    )
