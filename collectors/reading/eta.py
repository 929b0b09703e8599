"""When it will be ready: from this model's earlier runs here, else from bytes read, else from the bar's own pace."""

from math import isfinite
from statistics import median
from typing import Literal

from msgspec import Struct

from collectors.reading.events import PastRun
from collectors.reading.log import bars
from collectors.reading.log.parts import Bar
from collectors.reading.log.phases import ORDER
from collectors.reading.series import Ring
from collectors.reading.state import State
from collectors.reading.timeline import spans

RUNS = 5  # earlier runs that count
_WINDOW_S = 30.0  # of bytes read, for their rate
_JUMP = 3.0  # a unit this many times slower than those before it is another pace: the page cache ended
_AGREE = 0.25  # how far bytes and bar may differ, as parts of the whole, and still tell of the same load
_PACES = 2.0  # how far the two may differ in the time that is left
_LATE_S, _LATE = (
    10.0,
    0.5,
)  # a step that has had so much more than its longest makes the median of the rest idle talk
_START = ORDER[: ORDER.index("ready")]


class Arrival(Struct, frozen=True):
    """`seconds` from the State's time; `of`: "ready", or the end of the weights or of the running bar where no
    history tells more."""

    seconds: float | None = None
    spread: float | None = None  # half of the range that the earlier runs span
    source: Literal["history", "bytes", "bar"] | None = None
    n: int = 0  # earlier runs it is the median of
    of: str = "ready"
    late: float | None = (
        None  # no time can be given: the running step has had so much longer than ever before
    )


def arrival(state: State) -> Arrival:
    log = state.log
    up = log.ready or (state.life.health == 200 and state.life.owner != "other")
    if up or log.stopping_t is not None or state.life.exit is not None or log.suspects.fatal is not None:
        return Arrival()
    past = _history(state)
    if past is not None and past.late is None:
        return past
    return _bytes(state) or _bar(state) or past or Arrival()


def _history(state: State) -> Arrival | None:
    """Over the running and the later steps: the median of what each took, less what it has had already."""
    runs = [_lengths(run) for run in _alike(state)]
    now = state.log.steps[-1].name if state.log.steps else "start"
    if not runs or now not in _START:
        return None
    had = _had(state)
    most = max(run[now] for run in runs)
    late = had.get(now, 0.0) - most
    if late > max(_LATE_S, _LATE * most):
        return Arrival(None, None, "history", len(runs), late=late)
    coming = _START[_START.index(now) :]
    left = sum(max(0.0, median(run[step] for run in runs) - had.get(step, 0.0)) for step in coming)
    whole = [sum(max(0.0, run[step] - had.get(step, 0.0)) for step in coming) for run in runs]
    return Arrival(left, (max(whole) - min(whole)) / 2 if len(runs) > 1 else None, "history", len(runs))


def _lengths(run: PastRun) -> dict[str, float]:
    """Seconds of every step of one earlier run; "start" has the silence before its first line too."""
    steps = {step: run.steps.get(step, 0.0) for step in _START}
    known = sum(steps.values()) - steps["start"]
    return {**steps, "start": max(steps["start"], run.total - known)}


def _had(state: State) -> dict[str, float]:
    """Seconds that each step of this start has had until now."""
    had = {} if state.log.steps else {"start": state.t}
    for step, t0, t1 in spans(state):
        had[step.name] = had.get(step.name, 0.0) + max(0.0, (state.t if t1 is None else t1) - t0)
    return had


def _alike(state: State) -> tuple[PastRun, ...]:
    """The last runs of the same class, whole ones only. Cold is a load of which at least half comes from storage."""
    runs = tuple(run for run in state.run.history if _sound(run))
    cold = _cold(state)
    same = tuple(run for run in runs if run.cold is cold) if cold is not None else ()
    return (same or runs)[-RUNS:]


def _sound(run: PastRun) -> bool:
    """Whether the run's times can be true: a file that anybody may edit tells them."""
    times = (run.total, *run.steps.values())
    return run.total > 0 and all(isfinite(time) and time >= 0 for time in times)


def _cold(state: State) -> bool | None:
    """Read from storage, against what the busiest process read by any way; a mapped file counts only in the first."""
    target = sum(state.run.shard_bytes)
    stored = state.hosts.read.last or 0.0
    through = max((p.rchar or 0 for p in state.hosts.procs.values()), default=0)
    most = max(stored, through)
    return None if not target or most < target / 20 else stored >= most / 2


def _bytes(state: State) -> Arrival | None:
    """Bytes read since the weights began against the shards' sizes, wherever the bar does not speak against it.

    From storage they are counted once however many ranks read them; by calls of read, every rank reads all.
    """
    total = sum(state.run.shard_bytes)
    begun = next((step.t0 for step in state.log.steps if step.name == "weights"), None)
    if not total or begun is None or state.log.steps[-1].name != "weights":
        return None
    ranks = max(
        1, sum((p.rchar or 0) > total / 100 for p in state.hosts.procs.values() if "Worker" in p.title)
    )
    for ring, readers in ((state.hosts.read, 1), (state.hosts.rchar, ranks)):
        got = ((ring.last or 0.0) - (_at(ring, begun) or 0.0)) / readers
        pace = (ring.slope(max(begun, state.t - _WINDOW_S)) or 0.0) / readers
        if pace > 0 and 0 < got < total and _agrees(state, got / total, (total - got) / pace):
            return Arrival((total - got) / pace, None, "bytes", of="weights")
    return None


def _agrees(state: State, share: float, left: float) -> bool:
    """Whether the bar, as far as there is one, tells of the same load: as far along, and no other pace.

    A checkpoint that is partly in the page cache is read from storage in part only: 13 of 32 shards in 10 s were
    "done in 78 s" by the bytes, and 14 s it took.
    """
    bar = bars.shown(state.log)
    if bar is None or not bar.total or bar.model != "target":
        return share > 0.01
    rest = left_of(bar, state.t) if pace_of(bar) is not None else None
    paced = not rest or rest / _PACES <= left <= rest * _PACES
    return paced and abs(bar.done / bar.total - share) <= _AGREE


def _at(ring: Ring, t: float) -> float | None:
    return next((value for at, value in reversed(ring.points) if at <= t and value is not None), None)


def _bar(state: State) -> Arrival | None:
    bar = bars.shown(state.log)
    left = left_of(bar, state.t) if bar is not None else None
    return Arrival(left, None, "bar", of="bar") if left else None


def left_of(bar: Bar, now: float | None = None) -> float | None:
    """Seconds a bar has left at its present pace: of 25 shards in 20 s and then 16 s each, the 16 s count.

    `now`: how long the running unit has taken already shortens its own rest, and slows the pace once it is slower
    than those before it. With fewer than two points of its own, what the bar printed.
    """
    if bar.total is None or bar.done >= bar.total:
        return 0.0 if bar.total is not None else None
    pace, waited = pace_of(bar), max(0.0, (now or 0.0) - bar.t)
    if pace is None:
        return None if bar.printed_eta_s is None else max(0.0, bar.printed_eta_s - waited)
    if waited > max(2.0, _JUMP * pace):
        pace = waited
    return max(0.0, (bar.total - bar.done) * pace - min(waited, pace))


def pace_of(bar: Bar) -> float | None:
    """Seconds a unit: the mean of the last five intervals, or of those since the pace has jumped."""
    spans = [
        (b[0] - a[0], b[1] - a[1]) for a, b in zip(bar.track, bar.track[1:], strict=False) if b[1] > a[1]
    ]
    if not spans or not sum(s for s, _ in spans[-5:]):
        return None
    last = spans[-1][0] / spans[-1][1]
    since = len(spans)
    while since and spans[since - 1][0] * _JUMP > last * spans[since - 1][1]:
        since -= 1
    before = [s / n for s, n in spans[max(0, since - 5) : since]]
    jumped = spans[-1][0] >= 2 and before and max(before) * _JUMP < last  # bars print whole seconds
    recent = spans[max(since, len(spans) - 5) :] if jumped else spans[-5:]
    return sum(s for s, _ in recent) / sum(n for _, n in recent)
