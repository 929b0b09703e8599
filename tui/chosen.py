"""Which window's figures the Speculation screen shows, and how that window is called."""

from typing import NamedTuple

from rich.cells import cell_len, set_cell_size

from collectors.reading import serving
from collectors.reading.acceptance import Figures
from collectors.reading.serving import Benchmark, ServingState
from tui import format as fmt
from tui.rows import clean
from tui.view import View

LAST_S = 30.0
FRESH_S = 10.0  # counters older than this say nothing of the present


class Chosen(NamedTuple):
    figures: Figures
    words: str  # "this benchmark", "since the mark", "last 30 s", "last busy 04:02:11, 38 s"
    bench: Benchmark | None = None  # the ended one whose window it is


def running(state: ServingState) -> Benchmark | None:
    """The newest benchmark that has begun and not ended."""
    return next((b for b in reversed(state.benchmarks) if b.end_t is None), None)


def chosen(view: View) -> Chosen | None:
    """A running benchmark; else what is newest: since the mark, the last seconds, the last work.

    None before the first two pages of counters.
    """
    state = view.state.serving
    bench = None if view.ended else running(state)
    if bench is not None and (found := serving.benchmark(state, bench.id)) is not None:
        return Chosen(found, "this benchmark")
    ended = max((b.end_t or 0.0 for b in state.benchmarks), default=0.0)
    if state.marks and state.marks[-1].begin.t > ended and (found := serving.since_mark(state)) is not None:
        return Chosen(found, f"since mark {clean(state.marks[-1].label)}".rstrip())
    live = not view.ended and view.t - (state.page_t or 0.0) < FRESH_S
    if live and serving.idle(state) is False and (found := serving.last_window(state, LAST_S)) is not None:
        return Chosen(found, f"last {fmt.number(found.seconds)} s")
    return _past(view, state)


def _past(view: View, state: ServingState) -> Chosen | None:
    """Idle: the last benchmark when nothing ran after it, else the last busy stretch; either is dated."""
    busy = serving.busy_window(state)
    if busy is None:
        return None
    begin, end, found = busy
    for bench in reversed(state.benchmarks):
        if bench.end_t is not None and bench.end_t >= begin and bench.t <= end:
            inside = serving.benchmark(state, bench.id)
            if inside is not None and bench.end_t >= end - 2:
                return Chosen(
                    inside, f"benchmark {short(bench.label)}, ended {when(view, bench.end_t)}", bench
                )
    return Chosen(found, f"last busy {when(view, end)}, for {fmt.duration(end - begin)}")


def short(label: str, width: int = 12) -> str:
    """A benchmark's label without the word that says what it is; the end of a long one tells more than its start."""
    label = clean(label).removeprefix("benchmark ").strip()
    return label if cell_len(label) <= width else "…" + set_cell_size(label[-(width - 1) :], width - 1)


def when(view: View, t: float) -> str:
    """An instant of the run as wall-clock time; without an anchor, as its distance."""
    wall0 = view.state.wall0
    if wall0 is None:
        return f"{fmt.ago(view.t - t)} ago"
    return fmt.clock(wall0 + t + view.utc_offset)
