"""Whether a start stands still: only with evidence, against this phase's own pace, never from silence alone.

621 s of silent warm-up, 36 minutes of capture and 30 s a shard are no stalls: something works through them, and
here something is a CPU, a disk, a GPU's memory or the bar.
"""

from msgspec import Struct

from collectors.reading import eta
from collectors.reading.hosts import rank_of
from collectors.reading.log import bars
from collectors.reading.series import Ring
from collectors.reading.state import State

LEAST_S = 60.0  # nothing is called a stall sooner
_PACES = 8.0  # a bar is late after this many times its slowest interval
_IDLE_CORES = 0.05  # the whole tree uses less than this: it waits
_TRICKLE = 65_536  # bytes a second: what polls and logs read
_WINDOW_S = 60.0


class Stalled(Struct, frozen=True):
    since_s: float | None
    evidence: tuple[str, ...]
    ranks: tuple[str, ...] = ()  # those that stopped while others go on


def stalled(state: State) -> Stalled | None:
    """None while it moves, when it need not (serving, stopped), or when nothing is known but silence."""
    log = state.log
    if log.stopping_t is not None or state.life.exit is not None or log.suspects.fatal is not None:
        return None
    hung = log.suspects.hang
    if hung is not None and hung[1] >= 4:
        times = hung[1]
        return Stalled(60.0 * times, (f"a worker has not read its queue for {times} minutes, and nobody else writes",))
    if log.ready or state.life.health == 200:
        return None
    return _lagging_gpus(state) or _idle(state)


def _idle(state: State) -> Stalled | None:
    """The whole tree uses no CPU, reads nothing and its GPUs' memory is still; a bar that moves speaks against it."""
    since = state.t - _WINDOW_S
    cpu, read = _rate(state.hosts.cpu, since), _rate(state.hosts.rchar, since)
    if cpu is None or read is None or cpu > _IDLE_CORES or read > _TRICKLE:
        return None
    if any((_rate(ring, since) or 0) > 0 for ring in state.gpus.memory.values()):
        return None
    quiet = state.t - max(_moved(state.hosts.cpu, _IDLE_CORES), state.log.last_t or 0.0)
    bar = bars.shown(state.log)
    unfinished = bar is not None and bar.total is not None and bar.done < bar.total
    slowest = _slowest(bar.track) if bar is not None and unfinished else 0.0
    if quiet < max(LEAST_S, _PACES * slowest):
        return None
    evidence = [f"its processes used {cpu:.2f} cores in the last minute", "they read nothing"]
    if state.gpus.memory:
        evidence.append("no GPU's memory grew")
    if bar is not None and unfinished:
        pace = eta.pace_of(bar)
        usual = f", {pace:.1f} s each before" if pace else ""
        evidence.append(f"{bar.label} stands at {bar.done:g} of {bar.total:g}{usual}")
    return Stalled(round(quiet, 1), tuple(evidence))


def _lagging_gpus(state: State) -> Stalled | None:
    """While weights are read, GPUs whose memory stands still well below that of the others, which grow."""
    if state.log.phase != "loading" or len(state.gpus.memory) < 2:
        return None
    since = state.t - _WINDOW_S
    mine = state.run.gpus_of_run
    rings = {i: r for i, r in state.gpus.memory.items() if mine is None or i in mine}
    growth = {i: _rate(r, since) for i, r in rings.items()}
    moving = [i for i, rate in growth.items() if rate is not None and rate > 1]
    if not moving or any(rate is None for rate in growth.values()):
        return None
    level = min(rings[i].last or 0.0 for i in moving)
    still = [i for i, rate in growth.items() if rate == 0 and (rings[i].last or 0.0) < 0.8 * level]
    if not still:
        return None
    ranks = tuple(name for i in still if (name := _rank_on(state, i)))
    evidence = tuple(
        f"GPU {i}{f' ({_rank_on(state, i)})' if _rank_on(state, i) else ''} stands at {(rings[i].last or 0) / 1024:.1f} GiB"
        f" while the others grow past {level / 1024:.1f}"
        for i in still
    )
    return Stalled(round(state.t - max(_moved(rings[i], 0.0) for i in still), 1), evidence, ranks)


def _rank_on(state: State, gpu: int) -> str | None:
    return next((rank_of(p.title) for p in state.hosts.procs.values() if gpu in p.gpus and rank_of(p.title)), None)


def _rate(ring: Ring, since: float) -> float | None:
    """Change per second over the window, None when the window is not covered: a source may have been away."""
    points = [p for p in ring.points if p[1] is not None]
    if len(points) < 2 or points[0][0] > since:
        return None
    inside = ring.since(since)
    return ring.slope(since) if len([p for p in inside if p[1] is not None]) > 1 else None


def _moved(ring: Ring, least: float) -> float:
    """When the ring last rose faster than `least` a second."""
    known = [(t, v) for t, v in ring.points if v is not None]
    for (t0, a), (t1, b) in zip(reversed(known[:-1]), reversed(known[1:]), strict=False):
        if t1 > t0 and (b - a) / (t1 - t0) > least:
            return t1
    return known[0][0] if known else 0.0


def _slowest(track: tuple[tuple[float, float], ...]) -> float:
    return max((b[0] - a[0] for a, b in zip(track, track[1:], strict=False)), default=0.0)
