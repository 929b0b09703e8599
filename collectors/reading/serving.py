"""What speculation buys, from the server's own counters: rates and windows between marks.

The definitions are acceptance.py's; what a window is, windows.py's; which metrics count, names.py's.
"""

from collections.abc import Callable
from statistics import fmean
from typing import Any

from msgspec import Struct, structs

from collectors.reading.acceptance import Figures, figures, of_window
from collectors.reading.counters import Slot, increment, slots_of, summed
from collectors.reading.events import Metrics, Request, Series
from collectors.reading.live import Live, point
from collectors.reading.names import MAX, MEAN, SUM, TOGETHER
from collectors.reading.windows import Totals, difference, joined

MARKS = 12
BENCHMARKS = 16
RECENT_S = 60.0  # the longest "last N s" window
REST_S = 5.0  # idle for longer ends a busy window
MIN_INTERVAL_S = 0.25  # an exact scrape may come 20 ms after a regular one: no rate from so little


class Mark(Struct, frozen=True):
    label: str
    begin: Totals


class Benchmark(Struct, frozen=True):
    """One benchmark: while it runs `begin` is kept, once ended only the `window` (a difference)."""

    id: str
    label: str
    t: float  # when it began
    begin: Totals | None = None
    end_t: float | None = None
    window: Totals | None = None
    progress: dict[str, Any] = {}  # the newest bench_progress data: done, total, left_s, …
    plan: dict[str, Any] = {}  # the bench_begin data: wrapped, concurrency, requests, …
    result: dict[str, Any] = {}  # the bench_end data


class Burst(Struct, frozen=True):
    """The last stretch in which the server worked: what idle screens show, dated."""

    begin: Totals
    end: Totals


class ServingState(Struct, frozen=True):
    names: tuple[str, ...] = ()  # series by our number, which stays theirs
    order: tuple[int, ...] = ()  # the record's number -> ours: a recorder that restarts numbers afresh
    slots: tuple[Slot | None, ...] = ()
    last: dict[int, float] = {}  # raw values of the newest page
    gone: tuple[int, ...] = ()  # series that left it
    totals: Totals = Totals()  # bridged, since the first page
    page_t: float | None = None  # the newest good page; None: never one
    error: str | None = None  # why the newest scrape gave none
    live: Live = Live()
    live_from: Totals | None = None  # where the newest point's interval will begin
    recent: tuple[Totals, ...] = ()  # windows of the last minute's scrapes; t is the length of each
    burst: Burst | None = None
    marks: tuple[Mark, ...] = ()  # newest last
    benchmarks: tuple[Benchmark, ...] = ()  # newest last


def read(state: ServingState, event: Metrics | Series | Request) -> ServingState:
    match event:
        case Series():
            return _named(state, event)
        case Metrics(error=None):
            return _page(state, event)
        case Metrics():
            return structs.replace(state, error=event.error)
        case Request(kind="mark"):
            return structs.replace(
                state, marks=(*state.marks, Mark(event.label, _now(state, event.t)))[-MARKS:]
            )
        case Request(kind="bench_begin" | "bench_progress" | "bench_end"):
            return _bench(state, event)
        case _:
            return state


def _named(state: ServingState, event: Series) -> ServingState:
    known = {name: number for number, name in enumerate(state.names)}
    names = state.names + tuple(dict.fromkeys(name for name in event.names if name not in known))
    numbers = {name: number for number, name in enumerate(names)}
    order = state.order[: event.start] + tuple(numbers[name] for name in event.names)
    return structs.replace(state, names=names, order=order, slots=slots_of(names))


def _now(state: ServingState, t: float) -> Totals:
    return structs.replace(state.totals, t=t)


def _page(state: ServingState, event: Metrics) -> ServingState:
    first = state.page_t is None
    values, grown, resets = dict(state.totals.values), {}, 0
    page = {state.order[n]: value for n, value in event.values.items() if n < len(state.order)}
    for number, value in page.items():
        slot = state.slots[number]
        if slot is None or not slot.counts:
            continue
        before = state.last.get(number)
        resets += before is not None and value < before
        more = increment(before, value, not first)
        values[number] = values.get(number, 0.0) + more
        if more:
            grown[number] = more
    left = {state.order[n] for n in event.gone if n < len(state.order)}
    last = {**state.last, **page}
    gone = tuple(sorted((left | set(state.gone)) - set(page)))
    after = structs.replace(state, last=last, gone=gone, page_t=event.t, error=None)
    window = _interval(state, after, grown, event.t, bool(resets))
    before_ = state.totals
    totals = Totals(
        event.t,
        values,
        before_.active + window.active,
        before_.busy + window.busy,
        before_.busy_tokens + window.busy_tokens,
        before_.running + window.running,
        before_.intervals + window.intervals,
        before_.resets + window.resets,
    )
    after = structs.replace(
        after, totals=totals, recent=_recent(state.recent, window), burst=_burst(state, totals, window)
    )
    return _plot(after)


def _interval(
    before: ServingState, after: ServingState, grown: dict[int, float], t: float, reset: bool
) -> Totals:
    """The window since the page before this one."""
    if before.page_t is None:
        return Totals(0.0, {}, resets=0)
    length = round(t - before.page_t, 3)
    ran, runs = gauge(before, "running") or 0.0, gauge(after, "running") or 0.0
    active = bool(grown) or ran > 0 or runs > 0
    busy = ran > 0 and runs > 0
    tokens = summed(after.slots, grown).get("generated", 0.0)
    return Totals(
        length,
        grown,
        length if active else 0.0,
        length if busy else 0.0,
        tokens if busy else 0.0,
        (ran + runs) / 2 * length,
        int(active),
        int(reset),
    )


def _recent(recent: tuple[Totals, ...], window: Totals) -> tuple[Totals, ...]:
    kept, length = [window], window.t
    for older in reversed(recent):
        length += older.t
        if length > RECENT_S or len(kept) >= 2 * RECENT_S:
            break
        kept.append(older)
    return tuple(reversed(kept))


def _burst(state: ServingState, totals: Totals, window: Totals) -> Burst | None:
    if not window.intervals:
        return state.burst
    if state.burst is None or totals.t - window.t - state.burst.end.t > REST_S:
        return Burst(state.totals, totals)
    return Burst(state.burst.begin, totals)


def _plot(state: ServingState) -> ServingState:
    begin = state.live_from or state.totals
    length = state.totals.t - begin.t
    if state.live_from is not None and length < MIN_INTERVAL_S:
        return state
    sums = summed(state.slots, difference(begin, state.totals).values)
    gauges = {name: gauge(state, name) for name in ("kv_used", "running", "waiting", "stated_length")}
    return structs.replace(
        state, live_from=state.totals, live=point(state.live, state.totals.t, length, sums, gauges)
    )


def _bench(state: ServingState, event: Request) -> ServingState:
    if event.kind == "bench_begin":
        new = Benchmark(event.id, event.label, event.t, begin=_now(state, event.t), plan=event.data)
        return structs.replace(state, benchmarks=(*state.benchmarks, new)[-BENCHMARKS:])
    return structs.replace(
        state,
        benchmarks=tuple(_bench_step(state, b, event) if b.id == event.id else b for b in state.benchmarks),
    )


def _bench_step(state: ServingState, bench: Benchmark, event: Request) -> Benchmark:
    if bench.begin is None:  # ended already: a late word changes nothing
        return bench
    if event.kind == "bench_progress":
        return structs.replace(bench, progress=event.data)
    window = difference(bench.begin, _now(state, event.t))
    return structs.replace(bench, begin=None, end_t=event.t, window=window, result=event.data)


def gauge(state: ServingState, meaning: str) -> float | None:
    """A gauge now, of all engines together as its row in names.py says; None: not on the page."""
    values = [
        state.last[n]
        for n, slot in enumerate(state.slots)
        if slot is not None and slot.meaning == meaning and n in state.last and n not in state.gone
    ]
    if not values:
        return None
    return _TOGETHER[TOGETHER[meaning]](values)


_TOGETHER: dict[str, Callable[[list[float]], float]] = {SUM: sum, MAX: max, MEAN: fmean}


def last_window(state: ServingState, seconds: float = 10.0) -> Figures | None:
    """The newest `seconds` (at most 60) up to the newest page; None before two pages were read."""
    parts: list[Totals] = []
    for window in reversed(state.recent):
        if sum(p.t for p in parts) >= seconds:
            break
        parts.append(window)
    whole = joined(parts)
    return of_window(whole, state.slots) if whole.t > 0 else None


def since_mark(state: ServingState) -> Figures | None:
    """Since the newest mark; None without one."""
    return figures(state.marks[-1].begin, state.totals, state.slots) if state.marks else None


def since_start(state: ServingState) -> Figures | None:
    """Since the first page."""
    if state.page_t is None:
        return None
    return of_window(structs.replace(state.totals, t=state.totals.active), state.slots)


def benchmark(state: ServingState, id_: str) -> Figures | None:
    """One benchmark, up to now while it runs; None for an unknown id."""
    for bench in reversed(state.benchmarks):
        if bench.id == id_:
            if bench.window is not None:
                return of_window(bench.window, state.slots)
            return figures(bench.begin, state.totals, state.slots) if bench.begin is not None else None
    return None


def busy_window(state: ServingState) -> tuple[float, float, Figures] | None:
    """The last stretch of work: when it began, when it ended, its figures. None: never busy."""
    if state.burst is None:
        return None
    begin, end = state.burst.begin, state.burst.end
    return begin.t, end.t, figures(begin, end, state.slots)


def idle(state: ServingState) -> bool | None:
    """Whether nothing ran in the newest interval; None before two pages."""
    return None if len(state.recent) < 2 else not state.recent[-1].intervals


def speculates(state: ServingState) -> bool | None:
    """Whether speculation is on; None before the first page (vLLM makes all its counters at start)."""
    if state.page_t is None:
        return None
    meanings = {slot.meaning for slot in state.slots if slot is not None}
    return bool(meanings & {"drafts", "draft_tokens", "stated_length"})
