"""State: what is known of a run, and `step`, the one place where an event changes it.

Frozen and comparable: the recorder's State at exit, one replayed from the start, one resumed from any checkpoint and
one read in other chunks are equal (tests/test_one_state.py). Under 1 MB encoded: counts, problems, bars and bounded
series, never the log's lines.
"""

from msgspec import Struct, structs

from collectors.reading import gpus as gpus_part
from collectors.reading import hosts as hosts_part
from collectors.reading import life as life_part
from collectors.reading import serving as serving_part
from collectors.reading.events import (
    AnyEvent,
    BrokenFiles,
    Clock,
    Exit,
    GpuSample,
    Health,
    HostSample,
    Log,
    Metrics,
    Reaped,
    Request,
    RunFacts,
    Series,
    Source,
    Started,
    Tick,
)
from collectors.reading.gpus import GpuState
from collectors.reading.hosts import HostState
from collectors.reading.life import LifeState
from collectors.reading.log import reader as log_part
from collectors.reading.log.state import LogState
from collectors.reading.serving import ServingState


class State(Struct, frozen=True):
    t: float = 0.0
    run: RunFacts = RunFacts()
    wall0: float | None = None  # wall-clock seconds at t = 0, from the newest anchor
    log: LogState = LogState()
    life: LifeState = LifeState()
    gpus: GpuState = GpuState()
    hosts: HostState = HostState()
    serving: ServingState = ServingState()


def step(state: State, event: AnyEvent) -> State:
    """The State after `event`. Pure; costs about 7 µs and what the event's own part costs."""
    t = max(state.t, event.t)
    match event:
        case Log():
            return structs.replace(state, t=t, log=log_part.read(state.log, event))
        case Metrics() | Series() | Request():
            served = serving_part.read(state.serving, event)
            return structs.replace(state, t=t, serving=served, life=life_part.read(state.life, event))
        case GpuSample():
            return structs.replace(state, t=t, gpus=gpus_part.read(state.gpus, event))
        case HostSample():
            return structs.replace(state, t=t, hosts=hosts_part.read(state.hosts, event))
        case Health() | Source() | BrokenFiles() | Reaped() | Exit():
            return structs.replace(state, t=t, life=life_part.read(state.life, event))
        case Started():
            log = structs.replace(state.log, noise=event.run.noise)
            return structs.replace(state, t=t, run=event.run, log=log)
        case Clock():
            return structs.replace(state, t=t, wall0=event.wall - event.t)
        case Tick():
            return structs.replace(state, t=t)
