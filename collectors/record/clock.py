"""The run's clock: seconds since its start on CLOCK_BOOTTIME, which never jumps and counts suspend too."""

import time
from pathlib import Path

from collectors.record.folder import RunInfo

ANCHOR_EVERY_S = 3600.0


def boot_id() -> str:
    """Names this boot of the machine; "" where the kernel does not say."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return ""


class RunClock:
    """Called, it gives `t` now, never less than `last_t` (the record's last).

    After a reboot CLOCK_BOOTTIME has begun anew: then the wall clock carries the run's time on from `wall0`.
    """

    def __init__(self, info: RunInfo, last_t: float = 0.0, wall0: float | None = None) -> None:
        self.same_boot = boot_id() == info.boot_id
        self._last = last_t
        boot = time.clock_gettime(time.CLOCK_BOOTTIME)
        if self.same_boot:
            self._zero = info.boottime0
        else:
            self._zero = boot - max(last_t, time.time() - (info.created if wall0 is None else wall0))

    def at(self, boottime: float) -> float:
        """`t` of an instant of this boot."""
        return round(boottime - self._zero, 3)

    def __call__(self) -> float:
        now = time.clock_gettime(time.CLOCK_BOOTTIME) - self._zero
        self._last = round(max(self._last, now, 0.0), 3)
        return self._last


def wall() -> float:
    """Wall-clock seconds since the epoch, for anchors."""
    return round(time.time(), 3)
