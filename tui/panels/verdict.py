"""One sentence on what the drafter buys, from the rules that `compare` uses too."""

from collectors.reading import serving
from collectors.reading.acceptance import Figures
from collectors.reading.verdict import Measured
from collectors.reading.verdict import verdict as judge
from tui.chosen import chosen
from tui.rows import Row, clean, wrap
from tui.view import View

_SIGNS = {"good": ("✓", "good"), "bad": ("✗", "bad"), "unsure": ("!", "warn"), "unknown": ("·", "muted")}


def verdict(view: View, width: int, limit: int = 2) -> list[Row]:
    """No row where nothing is drafted; the next step follows the sentence where there is room."""
    found = chosen(view)
    if found is None or not serving.speculates(view.state.serving) or not found.figures.drafts:
        return []
    said = judge(measured(found.figures))
    sign, style = _SIGNS.get(said.tone, _SIGNS["unknown"])
    lines = wrap(clean(f"{said.sentence} Next: {said.next}." if said.next else said.sentence), width - 4)
    if len(lines) > limit:
        lines = wrap(clean(said.sentence), width - 4, limit)
    return [((f" {sign} " if n == 0 else "   ", style), (line, "plain")) for n, line in enumerate(lines)]


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
