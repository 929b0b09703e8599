"""What the server's processes do: memory, CPU and bytes read, per process and summed, and when each last worked.

The source sends only what changed: a process that is not in a sample did nothing worth a line since its last one.
"""

import re

from msgspec import Struct, structs

from collectors.reading.events import Box, HostSample, Proc
from collectors.reading.series import Ring

POINTS = 240
IDLE_CORES = (
    0.05  # a process that uses less only waits: poll loops of vLLM's waiting processes take 0.01-0.02
)
TRICKLE = 65_536  # bytes a second: what polls and logs read
_BURST_S, _BURST = 0.5, 8 << 20  # CPU seconds and bytes in one sample that no waiting process comes to
_APART_S = 1.0  # at least; over shorter times one clock tick of CPU (0.01 s) looks like work
_RANK = re.compile(r"((?:DP|PP|PCP|TP|DCP|EP)\d+(?:_(?:DP|PP|PCP|TP|DCP|EP)\d+)*)")


class Work(Struct, frozen=True, array_like=True):
    """When a process last worked, and the reading that the next one is compared with."""

    last: float
    since: float
    base: Proc


class HostState(Struct, frozen=True):
    procs: dict[int, Proc] = {}
    work: dict[int, Work] = {}  # of the processes in `procs`
    ended_work: float | None = None  # when those that are gone last worked
    box: Box = Box()
    oom_kills_before: int | None = (
        None  # the container's counter as first seen: earlier kills are none of ours
    )
    cpu: Ring = Ring(POINTS)  # CPU seconds used by the whole tree, as a total
    read: Ring = Ring(POINTS)  # bytes read from storage by the whole tree, as a total
    rchar: Ring = Ring(POINTS)  # bytes read by any way, page cache included
    ended_cpu_s: float = 0.0  # totals of processes that are gone, so that the sums never fall
    ended_read: int = 0
    ended_rchar: int = 0
    t: float | None = None

    @property
    def oom_kills(self) -> int | None:
        """Kills by the container's OOM killer since the run began; None where no counter is."""
        now, before = self.box.oom_kills, self.oom_kills_before
        return None if now is None or before is None else max(0, now - before)

    @property
    def worked(self) -> float | None:
        """When any process of the tree last worked; None before the first sample of one."""
        times = [
            *(w.last for w in self.work.values()),
            *([] if self.ended_work is None else [self.ended_work]),
        ]
        return max(times, default=None)


def read(state: HostState, event: HostSample) -> HostState:
    procs = {**state.procs, **event.procs}
    ended = [procs.pop(pid) for pid in event.gone if pid in procs]
    # A pid that came again with less than it had is another process: what the first one did stays counted.
    ended += [
        state.procs[p] for p, q in event.procs.items() if p in state.procs and q.cpu_s < state.procs[p].cpu_s
    ]
    state = structs.replace(
        state,
        ended_cpu_s=state.ended_cpu_s + sum(p.cpu_s for p in ended),
        ended_read=state.ended_read + sum(p.read_bytes or 0 for p in ended),
        ended_rchar=state.ended_rchar + sum(p.rchar or 0 for p in ended),
    )
    box = event.box or state.box
    work = {pid: known for pid, known in state.work.items() if pid in procs}
    for pid in event.procs.keys() & procs.keys():
        work[pid] = _worked(work.get(pid), procs[pid], event.t)
    cpu = state.ended_cpu_s + sum(p.cpu_s for p in procs.values())
    stored = state.ended_read + sum(p.read_bytes or 0 for p in procs.values())
    rchar = state.ended_rchar + sum(p.rchar or 0 for p in procs.values())
    return structs.replace(
        state,
        procs=procs,
        work=work,
        ended_work=event.t if ended else state.ended_work,
        box=box,
        oom_kills_before=box.oom_kills if state.oom_kills_before is None else state.oom_kills_before,
        cpu=state.cpu.add(event.t, round(cpu, 2)),
        read=state.read.add(event.t, stored),
        rchar=state.rchar.add(event.t, rchar),
        t=event.t,
    )


def _worked(work: Work | None, proc: Proc, t: float) -> Work:
    if work is None or proc.cpu_s < work.base.cpu_s:
        return Work(t, t, proc)
    spent = t - work.since
    cpu = proc.cpu_s - work.base.cpu_s
    got = max(
        (proc.rchar or 0) - (work.base.rchar or 0),
        (proc.read_bytes or 0) - (work.base.read_bytes or 0),  # a mapped file counts here and in no rchar,
        (proc.rss_mib - work.base.rss_mib) << 20,  # and only here where a network file system holds it
    )
    burst = cpu >= _BURST_S or got >= _BURST
    if spent < _APART_S and not burst:
        return work
    worked = burst or cpu > IDLE_CORES * spent or got > TRICKLE * spent
    return Work(t if worked else work.last, t, proc)


def rank_of(title: str) -> str | None:
    """`VLLM::Worker_TP0` -> "TP0"; `sglang::scheduler_TP1` -> "TP1"; None for a process without a rank."""
    found = _RANK.search(title)
    return found[1] if found else None
