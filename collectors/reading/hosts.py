"""What the server's processes do: memory, CPU and bytes read, per process and summed, with rates."""

import re

from msgspec import Struct, structs

from collectors.reading.events import Box, HostSample, Proc
from collectors.reading.series import Ring

POINTS = 240
_RANK = re.compile(r"((?:DP|PP|PCP|TP|DCP|EP)\d+(?:_(?:DP|PP|PCP|TP|DCP|EP)\d+)*)")


class HostState(Struct, frozen=True):
    procs: dict[int, Proc] = {}
    box: Box = Box()
    cpu: Ring = Ring(POINTS)  # CPU seconds used by the whole tree, as a total
    read: Ring = Ring(POINTS)  # bytes read from storage by the whole tree, as a total
    rchar: Ring = Ring(POINTS)  # bytes read by any way, page cache included
    ended_cpu_s: float = 0.0  # totals of processes that are gone, so that the sums never fall
    ended_read: int = 0
    ended_rchar: int = 0
    t: float | None = None


def read(state: HostState, event: HostSample) -> HostState:
    procs = {**state.procs, **event.procs}
    ended = [procs.pop(pid) for pid in event.gone if pid in procs]
    # A pid that came again with less than it had is another process: what the first one did stays counted.
    ended += [state.procs[p] for p, q in event.procs.items() if p in state.procs and q.cpu_s < state.procs[p].cpu_s]
    state = structs.replace(
        state,
        ended_cpu_s=state.ended_cpu_s + sum(p.cpu_s for p in ended),
        ended_read=state.ended_read + sum(p.read_bytes or 0 for p in ended),
        ended_rchar=state.ended_rchar + sum(p.rchar or 0 for p in ended),
    )
    cpu = state.ended_cpu_s + sum(p.cpu_s for p in procs.values())
    stored = state.ended_read + sum(p.read_bytes or 0 for p in procs.values())
    rchar = state.ended_rchar + sum(p.rchar or 0 for p in procs.values())
    return structs.replace(
        state,
        procs=procs,
        box=event.box or state.box,
        cpu=state.cpu.add(event.t, round(cpu, 2)),
        read=state.read.add(event.t, stored),
        rchar=state.rchar.add(event.t, rchar),
        t=event.t,
    )


def rank_of(title: str) -> str | None:
    """`VLLM::Worker_TP0` -> "TP0"; `sglang::scheduler_TP1` -> "TP1"; None for a process without a rank."""
    found = _RANK.search(title)
    return found[1] if found else None
