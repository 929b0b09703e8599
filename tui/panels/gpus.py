"""Memory of each GPU with its growth; the one that lags behind the others is marked."""

from statistics import median

from collectors.reading.events import Gpu
from collectors.reading.gpus import growth_mib_per_s
from collectors.reading.state import State
from tui import format as fmt
from tui.rows import Row, Span, bar, clean, cut, right
from tui.view import View

BEHIND = 0.85  # of the others' median: tensor-parallel ranks hold equal shares, give or take a shard
FAIR_MIB = 2048  # below this the first shards decide who is ahead


def gpus(view: View, width: int, limit: int = 9) -> list[Row]:
    """A header and a row a GPU; with more GPUs than rows, two or more beside each other."""
    state = view.state
    shown = of_run(state)
    if not shown:
        return _none(view, width)
    behind = stragglers(state)
    if len(shown) < limit and width >= 44:
        return [_head(width), *(_wide(state, i, width, view.t, i in behind) for i in shown)]
    columns = max(1, min(width // 26, -(-len(shown) // max(1, limit))))
    height = min(limit, -(-len(shown) // columns))
    cell = width // columns
    cells = [_narrow(state, i, cell, i in behind) for i in shown]
    return [tuple(span for part in cells[y::height][:columns] for span in part) for y in range(height)]


def of_run(state: State) -> list[int]:
    """The GPUs that this run may use, of those that were read."""
    mine = state.run.gpus_of_run
    return sorted(i for i in state.gpus.last if mine is None or i in mine)


def stragglers(state: State) -> set[int]:
    """GPUs whose memory lags well behind the run's others while it loads; none of fewer than three."""
    used = {i: state.gpus.last[i].used_mib or 0 for i in of_run(state)}
    if len(used) < 3 or state.log.ready:
        return set()
    middle = median(used.values())
    return {i for i, mib in used.items() if middle > FAIR_MIB and mib < BEHIND * middle}


def _none(view: View, width: int) -> list[Row]:
    if view.state.gpus.error is not None:
        return [
            ((" GPU  ", "muted"), (cut(f"{fmt.DASH} {clean(view.state.gpus.error)}", width - 7), "muted"))
        ]
    if view.state.gpus.t is None and not view.ended and view.t < 10:
        return [((" GPU  not read yet", "muted"),)]
    return [((" GPU  — none is visible here", "muted"),)]


_TAIL = 42  # cells of the columns at the right of the bar


def _head(width: int) -> Row:
    names = (
        right("GiB", 7)
        + right("of", 7)
        + right("GiB/min", 9)
        + right("util", 7)
        + right("W", 6)
        + right("°C", 5)
    )
    if width < 70:
        return ((" GPU  memory" + right("GiB", width - 20) + right("util", 7) + " ", "muted"),)
    return ((" GPU  memory" + " " * (width - 12 - _TAIL - 8) + names + " " * 9, "muted"),)


def _wide(state: State, index: int, width: int, now: float, behind: bool) -> Row:
    gpu = state.gpus.last[index]
    total = _total(state, index)
    head: Span = (f" {right(str(index), 3)}  ", "strong")
    if width < 70:
        tail = f"{right(fmt.gib(gpu.used_mib), 7)}{right(_percent(gpu.util_pct), 7)} "
        return (head, *_memory(gpu, total, width - 6 - len(tail), behind), (tail, "plain"))
    growth = growth_mib_per_s(state.gpus, index, now)
    per_min = None if growth is None else growth * 60 / 1024
    pace = fmt.DASH if per_min is None else "0" if abs(per_min) < 0.05 else f"{per_min:+.1f}"
    size = right(fmt.gib(total), 7)
    tail = right(pace, 9) + right(_percent(gpu.util_pct), 7) + right(_whole(gpu.power_w), 6)
    tail += right(_whole(gpu.temp_c), 5)
    room = width - 6 - _TAIL - 8
    return (
        head,
        *_memory(gpu, total, room, behind),
        (right(fmt.gib(gpu.used_mib), 7), "strong"),
        (size, "muted"),
        (tail, "plain"),
        (" ◂ behind" if behind else " " * 9, "warn"),
    )


def _narrow(state: State, index: int, cell: int, behind: bool) -> list[Span]:
    gpu = state.gpus.last[index]
    tail = right(fmt.gib(gpu.used_mib), 7) + right(_percent(gpu.util_pct), 6) + " "
    memory = _memory(gpu, _total(state, index), max(3, cell - 5 - len(tail)), behind)
    return [(f" {right(str(index), 2)}  ", "strong"), *memory, (tail, "warn" if behind else "plain")]


def _memory(gpu: Gpu, total: int | None, width: int, behind: bool) -> Row:
    share = gpu.used_mib / total if gpu.used_mib is not None and total else None
    return bar(share, width, "warn" if behind else "fill")


def _total(state: State, index: int) -> int | None:
    sizes = state.run.gpu_total_mib
    return sizes[index] if index < len(sizes) else None


def _percent(value: int | None) -> str:
    return fmt.DASH if value is None else f"{value} %"


def _whole(value: int | None) -> str:
    return fmt.DASH if value is None else f"{value}"
