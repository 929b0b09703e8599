"""The plots of the Speculation screen. To add one: a row in PLOTS, the most telling first."""

from collections.abc import Callable
from typing import NamedTuple

from collectors.reading import serving
from collectors.reading.live import Live
from collectors.reading.serving import ServingState
from tui import format as fmt
from tui.canvas import Line, Mark, plot
from tui.chosen import short
from tui.rows import Row, Span
from tui.view import View

SPANS = (120.0, 600.0, 3600.0, 86_400.0)  # seconds that a plot may show, the least first
LABELS = 7
LEAST = 4  # rows of a plot, its title among them


class Plot(NamedTuple):
    title: str
    unit: str
    lines: Callable[[Live], list[Line]]
    drafts: bool = False  # has no meaning without speculation


PLOTS: tuple[Plot, ...] = (
    Plot("tok/s", "", lambda live: [Line("generated", "fill", live.tok_s.points, area=True)]),
    Plot(
        "drafted and accepted tokens/s",
        "",
        lambda live: [
            Line("accepted", "accepted", live.accepted_tok_s.points, area=True),
            Line("drafted", "drafted", live.drafted_tok_s.points),
        ],
        drafts=True,
    ),
    Plot(
        "acceptance",
        "%",
        lambda live: [
            Line(
                "accepted of drafted",
                "accepted",
                [(t, None if v is None else v * 100) for t, v in live.acceptance_rate.points],
            )
        ],
        drafts=True,
    ),
    Plot(
        "requests",
        "",
        lambda live: [
            Line("running", "fill", live.running.points, area=True),
            Line("waiting", "mark", live.waiting.points),
        ],
    ),
)


def plots(view: View, width: int, height: int) -> list[Row]:
    """As many plots as `height` has room for, one above the other; only the last has the time axis."""
    live = view.state.serving.live
    drafts = serving.speculates(view.state.serving) is not False
    shown = [p for p in PLOTS if drafts or not p.drafts][: max(0, (height - 1) // LEAST)]
    if not shown or width < 24:
        return []
    t0, t1 = window(view, width)
    marks = _marks(view.state.serving)
    each, extra = divmod(height - 1, len(shown))
    rows: list[Row] = []
    for n, one in enumerate(shown):
        last = n == len(shown) - 1
        rows.append(_title(one, live, t1))
        body = each - 1 + (extra if n == 0 else 0)
        drawn = plot(
            one.lines(live), t0=t0, t1=t1, width=width - 1, height=body + 1,
            marks=marks, gap=gap(t1 - t0), label_width=LABELS,
            now="end" if view.ended else "now", ascii_only=view.ascii_only,
        )  # fmt: skip
        rows += drawn if last else drawn[:-1]
    return rows[:height]


def window(view: View, width: int) -> tuple[float, float]:
    """The stretch of the run's clock that plots show: the least of SPANS that holds what is worth seeing.

    That is the running benchmark, or the last one or the last work while the server is idle.
    """
    state = view.state.serving
    start = view.t - SPANS[0]
    if state.benchmarks:
        start = min(start, state.benchmarks[-1].t - 5) if state.benchmarks[-1].end_t is None else start
    if state.burst is not None and state.burst.end.t < view.t - SPANS[0] / 2:
        start = min(start, state.burst.begin.t - 5)
    ago = view.t - start
    span = next((s for s in SPANS if s >= ago), SPANS[-1])
    return view.t - span, view.t


def gap(span: float) -> float:
    """A silence that breaks a line: ten missed scrapes, or more where the points are thinned."""
    return max(10.0, span / 40)


def _marks(state: ServingState) -> list[Mark]:
    marks = [Mark(m.begin.t, short(m.label)) for m in state.marks]
    for bench in state.benchmarks:
        marks.append(Mark(bench.t, short(bench.label)))
        if bench.end_t is not None:
            marks.append(Mark(bench.end_t))
    return marks


def _title(one: Plot, live: Live, now: float) -> Row:
    """Title and legend; the newest value where it is no older than a few scrapes."""
    lines = one.lines(live)
    spans: list[Span] = [(f" {one.title}", "plain"), (f" {one.unit}" if one.unit else "", "muted")]
    for line in lines:
        t, value = line.points[-1] if line.points else (0.0, None)
        fresh = value if t >= now - 5 else None
        sign = "■" if line.area else "━"
        name = f" {line.label}" if len(lines) > 1 else ""
        spans += [(f"   {sign}", line.style), (f"{name} {fmt.number(fresh)}", "muted")]
    return tuple(spans)
