"""Takes Views: the pump's state with what is reckoned from it and read beside it, at one instant."""

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from collectors.reading.eta import arrival
from collectors.reading.report import phase, told
from collectors.reading.stall import stalled
from tui.logfile import LogFile
from tui.pump import Pump
from tui.view import LogLine, View

if TYPE_CHECKING:
    from launch.compare.comparison import Comparison

SAID_S = 8.0  # how long a notice stays


class Views:
    def __init__(self, pump: Pump, log: LogFile, *, name: str, utc_offset: float, ascii_only: bool) -> None:
        self._pump = pump
        self._log = log
        self._name = name
        self._utc_offset = utc_offset
        self._ascii_only = ascii_only
        self._tail: tuple[LogLine, ...] = ()
        self._tail_of = (-1, 0)
        self._said = ("", 0.0)
        self.versus: Comparison | None = None
        self.leave = ""
        self.standing: Callable[[], str] = str  # what is said as long as nothing else is

    def say(self, text: str) -> None:
        self._said = (text, time.monotonic() + SAID_S)

    def take(self, height: int, *, frozen: bool = False) -> View:
        """`height`: rows of the terminal, as many log lines at most are read."""
        pump, state = self._pump, self._pump.state
        text, until = self._said
        age = pump.age()
        return View(
            state=told(state),
            phase=phase(state),
            t=pump.now(),
            age=age,
            recorder_lives=age is None or age < 3 or pump.recorder_lives(),
            arrival=arrival(state),
            stalled=None if pump.behind else stalled(state),
            tail=self._newest(height),
            frozen=frozen,
            pace=pump.pace,
            reading=pump.behind,
            notice=text if time.monotonic() < until else self.standing(),
            name=self._name,
            utc_offset=self._utc_offset,
            ascii_only=self._ascii_only,
            versus=self.versus,
            leave=self.leave,
        )

    def _newest(self, height: int) -> tuple[LogLine, ...]:
        """Read again only when the log grew or the screen became higher."""
        end = self._pump.log_offset
        if self._tail_of != (end, height):
            self._tail_of = (end, height)
            self._tail = tuple(self._log.page(end, height, show_all=False))
        return self._tail
