"""What the recorder does besides recording when a run gets somewhere: timings at ready, the caller's hooks."""

import sys
import traceback
from collections.abc import Callable

from collectors.reading.report import Report, report
from collectors.reading.state import State
from collectors.record import timings
from collectors.record.folder import RunFolder, RunInfo

OnChange = Callable[[str, Report], None]  # ("ready" | "failed" | "stalled", the report)


class Announcer:
    """`see` each new State. Those of before a restart of the recorder were announced by the one before it."""

    def __init__(self, folder: RunFolder, info: RunInfo, on_change: OnChange | None, state: State) -> None:
        self._folder = folder
        self._info = info
        self._on_change = on_change
        self._timed = state.log.ready or state.life.first_healthy_t is not None
        self._told: str | None = None
        self._baseline = True

    def see(self, state: State, ready: bool) -> None:
        """Neither a full disk nor a hook may end the recording."""
        try:
            if ready and not self._timed:
                self._timed = True
                timings.append(self._folder, self._info, state)
            if self._on_change is None:
                return
            found = report(state)
            before, told = self._told, happened(found)
            first, self._baseline, self._told = self._baseline, False, told
            if told is not None and told != before and not first:
                self._on_change(told, found)
        except Exception:
            traceback.print_exc(file=sys.stderr)


def happened(found: Report) -> str | None:
    """The hooks' word for where the run stands: "ready", "failed", "stalled", or None."""
    if found.phase == "failed":
        return "failed"
    if found.stalled is not None:
        return "stalled"
    return "ready" if found.ready else None
