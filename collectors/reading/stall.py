"""Whether a start stands still: only with evidence, against this phase's own pace, never from silence alone.

621 s of silent warm-up, 36 minutes of capture and 30 s a shard are no stalls: something works through them, and
here something is a CPU, a disk, a GPU's memory or the bar. Sources send changes only, so that a source that is well
and sends nothing says that nothing changed.
"""

from collections.abc import Mapping

from msgspec import Struct

from collectors.reading import eta
from collectors.reading.events import Proc
from collectors.reading.hosts import rank_of
from collectors.reading.log import bars
from collectors.reading.log.parts import Bar
from collectors.reading.series import Ring
from collectors.reading.state import State

LEAST_S = 60.0  # nothing is called a stall sooner
WITHOUT_BAR_S = 180.0  # locks and other nodes are waited for in quiet too
APART_S = 300.0  # ranks take turns at building kernels; while weights are read they do the same at once
_PACES = 10.0  # a bar is late after this many times its slowest interval
_HANGING = 4  # minutes with nothing but a full queue's message
_BEHIND = 0.8  # of what the others have: a rank with as much as they waits for them
_STATES = {
    "T": ", it is stopped (SIGSTOP or a debugger)",
    "D": ", it waits for a disk or a driver",
    "Z": ", it is dead",
}


class Stalled(Struct, frozen=True):
    since_s: float | None
    evidence: tuple[str, ...]
    ranks: tuple[str, ...] = ()  # those that stopped while others go on


def stalled(state: State) -> Stalled | None:
    """None while it moves, when it need not (serving, stopped), or when nothing is known but silence."""
    log, life = state.log, state.life
    if log.stopping_t is not None or life.exit or life.reaped or log.suspects.fatal is not None:
        return None
    up = log.ready or (life.health == 200 and life.owner != "other")
    quiet = _quiet_s(state)
    hung = log.suspects.hang
    if hung is not None and hung[1] >= _HANGING and (up or quiet is None or quiet >= LEAST_S):
        text = f"a worker has not read its queue for {hung[1]} minutes, and nobody else writes"
        return Stalled(60.0 * hung[1], (text,))
    if up:
        return None
    return _gpus_behind(state) or _ranks_behind(state) or _idle(state, quiet)


def _quiet_s(state: State) -> float | None:
    """Seconds since any process, any GPU's memory or any bar moved; None where the processes are not seen."""
    worked = state.hosts.worked
    if worked is None or "host" in state.life.sources:
        return None
    grown = [_risen(ring) for ring in _rings(state).values()]
    moved = [bar.t for bar in state.log.bars]
    return state.t - max([worked, *grown, *moved])


def _idle(state: State, quiet: float | None) -> Stalled | None:
    """The whole tree uses no CPU, reads nothing, its GPUs are still, and the bar is late by its own pace."""
    bar = bars.shown(state.log)
    if bar is not None and (bar.total is None or bar.done >= bar.total):
        bar = None
    least = WITHOUT_BAR_S if bar is None else max(LEAST_S, _PACES * _slowest(bar))
    if quiet is None or quiet < least or any(state.gpus.last[gpu].util_pct for gpu in _rings(state)):
        return None
    evidence = [f"its processes have used no CPU and read nothing for {quiet:.0f} s"]
    if _rings(state):
        evidence.append("no GPU's memory grew")
    if bar is not None:
        pace = eta.pace_of(bar)
        usual = f", {pace:.1f} s each before" if pace else ""
        evidence.append(f"{bar.label} stands at {bar.done:g} of {bar.total:g}{usual}")
    return Stalled(round(quiet, 1), tuple(evidence))


def _slowest(bar: Bar) -> float:
    return max((b[0] - a[0] for a, b in zip(bar.track, bar.track[1:], strict=False)), default=0.0)


def _gpus_behind(state: State) -> Stalled | None:
    """While weights are read, GPUs whose memory stands still well below that of the others, which grow."""
    rings = _rings(state)
    if state.log.phase != "loading" or len(rings) < 2 or "gpu" in state.life.sources:
        return None
    level = {gpu: ring.last or 0.0 for gpu, ring in rings.items()}
    risen = {gpu: _risen(ring) for gpu, ring in rings.items()}
    recent = state.t - LEAST_S
    least = min((level[gpu] for gpu in rings if risen[gpu] > recent), default=None)
    if least is None or any(ring.points[0][0] > recent for ring in rings.values()):
        return None
    still = [gpu for gpu in rings if risen[gpu] <= recent and level[gpu] < _BEHIND * least]
    if not still:
        return None
    names = {gpu: _rank_on(state, gpu) for gpu in still}
    evidence = tuple(
        f"GPU {gpu}{f' ({names[gpu]})' if names[gpu] else ''} stands at {level[gpu] / 1024:.1f} GiB"
        f" while the others grow past {least / 1024:.1f}"
        for gpu in still
    )
    ranks = tuple(name for name in names.values() if name)
    return Stalled(round(state.t - max(risen[gpu] for gpu in still), 1), evidence, ranks)


def _ranks_behind(state: State) -> Stalled | None:
    """Fewer than half of the ranks have stopped for long, with less done than the others, which go on."""
    hosts = state.hosts
    ranks = _ranks(hosts.procs)
    if len(ranks) < 2 or "host" in state.life.sources or state.log.phase == "starting":
        return None
    least = LEAST_S if state.log.phase == "loading" else APART_S
    still = {name: pid for name, pid in ranks.items() if state.t - hosts.work[pid].last >= least}
    going = {name: pid for name, pid in ranks.items() if state.t - hosts.work[pid].last < LEAST_S / 4}
    if not still or len(still) + len(going) < len(ranks) or 2 * len(still) > len(ranks):
        return None
    if len(ranks) == 2 and state.log.phase != "loading":
        return None
    done = {pid: _done(state, hosts.procs[pid]) for pid in ranks.values()}
    least_done = min(done[pid] for pid in going.values())
    behind = {
        name: pid
        for name, pid in still.items()
        if hosts.procs[pid].state in ("T", "Z") or done[pid] < _BEHIND * least_done
    }
    if not behind:
        return None
    since = {name: state.t - hosts.work[pid].last for name, pid in behind.items()}
    evidence = tuple(
        f"{name} (pid {pid}) has used no CPU and read nothing for {since[name]:.0f} s while the other ranks go on"
        f"{_STATES.get(hosts.procs[pid].state, '')}"
        for name, pid in sorted(behind.items())
    )
    return Stalled(round(max(since.values()), 1), evidence, tuple(sorted(behind)))


def _ranks(procs: Mapping[int, Proc]) -> dict[str, int]:
    """Rank -> pid of the processes that hold GPUs: workers and schedulers, else (TP 1) the engine cores themselves."""
    named = {pid: proc.title for pid, proc in procs.items() if rank_of(proc.title) is not None}
    workers = {pid: title for pid, title in named.items() if "Worker" in title or "scheduler" in title}
    return {str(rank_of(title)): pid for pid, title in (workers or named).items()}


def _done(state: State, proc: Proc) -> float:
    """How far a rank is: while weights are read by what it holds of them, for a mapped file counts as read by whichever
    rank touched it first; later by its CPU seconds."""
    if state.log.phase != "loading":
        return proc.cpu_s
    held = [ring.last or 0.0 for gpu in proc.gpus if (ring := state.gpus.memory.get(gpu)) is not None]
    return sum(held) if held else float(proc.rss_mib)


def _rings(state: State) -> dict[int, Ring]:
    """The memory of the GPUs that the server may see."""
    mine = state.run.gpus_of_run
    return {gpu: ring for gpu, ring in state.gpus.memory.items() if mine is None or gpu in mine}


def _rank_on(state: State, gpu: int) -> str | None:
    return next(
        (rank_of(p.title) for p in state.hosts.procs.values() if gpu in p.gpus and rank_of(p.title)), None
    )


def _risen(ring: Ring) -> float:
    """When the ring last rose."""
    known = [(t, value) for t, value in ring.points if value is not None]
    for before, after in zip(reversed(known[:-1]), reversed(known[1:]), strict=False):
        if after[1] > before[1]:
            return after[0]
    return known[0][0] if known else 0.0
