"""What the GPUs do: the last reading of each and a bounded history of its memory, for growth and stragglers."""

from msgspec import Struct, structs

from collectors.reading.events import Gpu, GpuSample
from collectors.reading.series import Ring

MEMORY_POINTS = 240


class GpuState(Struct, frozen=True):
    last: dict[int, Gpu] = {}
    memory: dict[int, Ring] = {}  # GPU index -> used MiB over time
    error: str | None = None  # why NVML gives nothing; None before the first reading too
    t: float | None = None


def read(state: GpuState, event: GpuSample) -> GpuState:
    if event.error is not None:
        return structs.replace(state, error=event.error, t=event.t)
    memory = dict(state.memory)
    for index, gpu in event.gpus.items():
        if gpu.used_mib is not None:
            memory[index] = memory.get(index, Ring(MEMORY_POINTS)).add(event.t, gpu.used_mib)
    return structs.replace(state, last={**state.last, **event.gpus}, memory=memory, error=None, t=event.t)


def growth_mib_per_s(state: GpuState, index: int, now: float, window: float = 30.0) -> float | None:
    """Memory growth of one GPU over the last `window` seconds; None with fewer than two readings in it."""
    ring = state.memory.get(index)
    return ring.slope(now - window) if ring else None
