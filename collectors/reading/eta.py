"""When it will be ready: from this model's earlier runs here, else from bytes read, else from the bar's own pace."""

from statistics import median
from typing import Literal

from msgspec import Struct

from collectors.reading.events import PastRun
from collectors.reading.log import bars
from collectors.reading.log.parts import Bar
from collectors.reading.log.phases import ORDER
from collectors.reading.state import State

RUNS = 5  # earlier runs that count
_WINDOW_S = 30.0  # of bytes read, for their rate
_JUMP = 3.0  # a unit this many times slower than those before it is another pace: the page cache ended


class Arrival(Struct, frozen=True):
    """`seconds` from the State's time; `of`: "ready", or the end of the running bar where no history tells more."""

    seconds: float | None = None
    spread: float | None = None  # half of the range that the earlier runs span
    source: Literal["history", "bytes", "bar"] | None = None
    n: int = 0  # earlier runs it is the median of
    of: str = "ready"


def arrival(state: State) -> Arrival:
    log = state.log
    if log.ready or log.phase in ("stopped", "failed"):
        return Arrival()
    return _history(state) or _bytes(state) or _bar(state) or Arrival()


def _history(state: State) -> Arrival | None:
    """The median of what the running and the later steps took, less what the running one has used already."""
    runs = _alike(state)
    if not runs:
        return None
    now = state.log.steps[-1] if state.log.steps else None
    name = now.name if now else "start"
    used = max(0.0, state.t - (now.t0 if now else 0.0))
    later = ORDER[ORDER.index(name) + 1 : ORDER.index("ready")]
    left = [sum(run.steps.get(step, 0.0) for step in later) + max(0.0, run.steps.get(name, 0.0) - used) for run in runs]
    return Arrival(median(left), (max(left) - min(left)) / 2 if len(left) > 1 else None, "history", len(runs))


def _alike(state: State) -> tuple[PastRun, ...]:
    """The last runs of the same class; a load is cold while at least half of what it reads comes from storage."""
    runs = state.run.history
    read, through = state.hosts.read.last, state.hosts.rchar.last
    target = sum(state.run.shard_bytes)
    if read is not None and through and target and through > target / 20:
        same = tuple(run for run in runs if run.cold is (read > through / 2))
        runs = same or runs
    return runs[-RUNS:]


def _bytes(state: State) -> Arrival | None:
    """Bytes that the busiest rank read against the shards' sizes: every rank reads all shards."""
    total = sum(state.run.shard_bytes) + sum(state.run.drafter_bytes)
    if not total or state.log.phase not in ("starting", "loading"):
        return None
    one = max((p.rchar or 0 for p in state.hosts.procs.values()), default=0)
    tree, slope = state.hosts.rchar.last, state.hosts.rchar.slope(state.t - _WINDOW_S)
    if not one or not tree or not slope or slope <= 0 or one >= total:
        return None
    return Arrival((total - one) / (slope * one / tree), None, "bytes", of="weights")


def _bar(state: State) -> Arrival | None:
    bar = bars.shown(state.log)
    left = left_of(bar) if bar is not None else None
    return None if left is None else Arrival(left, None, "bar", of="bar")


def left_of(bar: Bar) -> float | None:
    """Seconds a bar has left at its recent pace: of 25 shards in 20 s and then 16 s each, the 16 s count.

    With fewer than two points of its own, what the bar printed.
    """
    if bar.total is None or bar.done >= bar.total:
        return 0.0 if bar.total is not None else None
    pace = pace_of(bar)
    return bar.printed_eta_s if pace is None else (bar.total - bar.done) * pace


def pace_of(bar: Bar) -> float | None:
    """Seconds a unit: the mean of the last five intervals, or the last one alone where the pace has jumped."""
    spans = [(b[0] - a[0], b[1] - a[1]) for a, b in zip(bar.track, bar.track[1:], strict=False) if b[1] > a[1]]
    recent = spans[-5:]
    if not recent or not sum(s for s, _ in recent):
        return None
    last = recent[-1][0] / recent[-1][1]
    before = spans[-6:-1]
    earlier = sum(s for s, _ in before) / sum(n for _, n in before) if before else last
    if earlier and last > _JUMP * earlier and recent[-1][0] >= 2:  # bars print whole seconds
        return last
    return sum(s for s, _ in recent) / sum(n for _, n in recent)
