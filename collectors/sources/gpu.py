"""NVML, read in one thread: memory (v2), utilisation, power, temperature, who holds which GPU. Blocking.

On an H200 with driver 580 a GPU's reading costs 0.5 ms, but each PCIe counter 21 ms: one counter a sample, in
turns.
"""

import contextlib
from collections.abc import Callable
from typing import Any, TypeVar

import pynvml

from collectors.reading.events import Gpu, GpuSample

HOLDERS_EVERY = 5  # samples: processes come and go seldom
RETRY_S = 30.0

_T = TypeVar("_T")


class GpuSource:
    """`sample` gives the GPUs whose reading changed, or None. Without NVML: its error, once.

    `holders`: pid -> indexes of the GPUs on which NVML names it (in a container NVML may name other pids).
    """

    def __init__(self, clock: Callable[[], float], only: tuple[int, ...] | None = None) -> None:
        self.holders: dict[int, tuple[int, ...]] = {}
        self._clock = clock
        self._only = only
        self._handles: dict[int, Any] | None = None
        self._last: dict[int, Gpu] = {}
        self._error: str | None = None
        self._retry_at = 0.0
        self._samples = 0

    def forget(self) -> None:
        self._last = {}
        self._error = None

    def sample(self, *, pcie: bool) -> GpuSample | None:
        """`pcie`: read one PCIe counter too (21 ms)."""
        t = self._clock()
        if self._handles is None:
            if t < self._retry_at:
                return None
            if error := self._open():
                self._retry_at = t + RETRY_S
                known, self._error = self._error, error
                return GpuSample(t=t, error=error) if error != known else None
        assert self._handles is not None
        turn = self._samples // 2 % max(1, len(self._handles))
        direction = self._samples % 2 if pcie else None
        now = {
            index: _read(handle, direction if place == turn else None)
            for place, (index, handle) in enumerate(self._handles.items())
        }
        if self._samples % HOLDERS_EVERY == 0:
            self.holders = _holders(self._handles)
        self._samples += 1
        if now and all(gpu == Gpu() for gpu in now.values()):
            return self._lost(t)
        changed = {index: gpu for index, gpu in now.items() if _differs(self._last.get(index), gpu)}
        self._last.update(changed)
        return GpuSample(t=t, gpus=changed) if changed else None

    def close(self) -> None:
        if self._handles is not None:
            with contextlib.suppress(pynvml.NVMLError):
                pynvml.nvmlShutdown()
            self._handles = None

    def _open(self) -> str | None:
        """None when NVML answers, else why it does not."""
        try:
            pynvml.nvmlInit()
            count = pynvml.nvmlDeviceGetCount()
            wanted = range(count) if self._only is None else [i for i in self._only if i < count]
            self._handles = {i: pynvml.nvmlDeviceGetHandleByIndex(i) for i in wanted}
        except pynvml.NVMLError as error:
            return f"NVML: {error}"
        self._error = None
        return None

    def _lost(self, t: float) -> GpuSample:
        """The driver answers nothing any more (reset, unloaded, fell off the bus): begin anew, later."""
        self.close()
        self._retry_at = t + RETRY_S
        self._error = "NVML: the driver answers no more"
        self._last = {}
        return GpuSample(t=t, error=self._error)


def _ask(read: Callable[..., _T], *arguments: Any, **named: Any) -> _T | None:
    try:
        return read(*arguments, **named)
    except pynvml.NVMLError:  # not supported by this GPU, or not allowed
        return None


def _read(handle: Any, direction: int | None) -> Gpu:
    # Version 1 counts the driver's reserve as used: 615 MiB on an idle H200. Old drivers know only that one.
    memory = _ask(pynvml.nvmlDeviceGetMemoryInfo, handle, version=pynvml.nvmlMemory_v2)
    if memory is None:
        memory = _ask(pynvml.nvmlDeviceGetMemoryInfo, handle)
    use = _ask(pynvml.nvmlDeviceGetUtilizationRates, handle)
    milliwatts = _ask(pynvml.nvmlDeviceGetPowerUsage, handle)
    counters = (pynvml.NVML_PCIE_UTIL_RX_BYTES, pynvml.NVML_PCIE_UTIL_TX_BYTES)
    rate = None
    if direction is not None:
        rate = _ask(pynvml.nvmlDeviceGetPcieThroughput, handle, counters[direction])
    mb_s = None if rate is None else rate // 1000  # kB/s
    return Gpu(
        used_mib=None if memory is None else memory.used >> 20,
        util_pct=None if use is None else use.gpu,
        power_w=None if milliwatts is None else round(milliwatts / 1000),
        temp_c=_ask(pynvml.nvmlDeviceGetTemperature, handle, pynvml.NVML_TEMPERATURE_GPU),
        pcie_rx_mb_s=mb_s if direction == 0 else None,
        pcie_tx_mb_s=mb_s if direction == 1 else None,
    )


def _holders(handles: dict[int, Any]) -> dict[int, tuple[int, ...]]:
    found: dict[int, tuple[int, ...]] = {}
    for index, handle in handles.items():
        for process in _ask(pynvml.nvmlDeviceGetComputeRunningProcesses, handle) or ():
            found[process.pid] = (*found.get(process.pid, ()), index)
    return found


def _differs(old: Gpu | None, new: Gpu) -> bool:
    """An idle GPU's power and temperature tremble by a watt and a degree: that is no change."""
    if old is None or (old.used_mib, old.util_pct) != (new.used_mib, new.util_pct):
        return True
    if new.pcie_rx_mb_s or new.pcie_tx_mb_s:
        return True
    watts = abs((new.power_w or 0) - (old.power_w or 0))
    return watts > max(3, (old.power_w or 0) // 50) or abs((new.temp_c or 0) - (old.temp_c or 0)) >= 2
