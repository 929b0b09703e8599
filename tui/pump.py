"""Where a screen's states come from: a run's folder as it grows, or its record by the record's own clock."""

import time
from collections.abc import Iterator
from typing import Protocol

from collectors.errors import ExitCode, SpecwatchError
from collectors.reading.events import AnyEvent, Exit, Log
from collectors.reading.state import State, step
from collectors.record import reader
from collectors.record.folder import RunFolder
from collectors.record.follow import Follower


class Pump(Protocol):
    """`read` brings `state` up to date, for at most `max_s` seconds of work; True when anything changed."""

    @property
    def pace(self) -> float | None: ...  # of a replay; None: live
    @property
    def state(self) -> State: ...
    @property
    def log_offset(self) -> int: ...
    @property
    def behind(self) -> bool: ...
    def read(self, max_s: float) -> bool: ...
    def now(self) -> float: ...
    def age(self) -> float | None: ...
    def recorder_lives(self) -> bool: ...


class Live:
    """A run as its recorder writes it."""

    pace: float | None = None

    def __init__(self, folder: RunFolder) -> None:
        self.folder = folder
        self._run = Follower(folder)

    @property
    def state(self) -> State:
        return self._run.state

    @property
    def log_offset(self) -> int:
        return self._run.log_offset

    @property
    def behind(self) -> bool:
        return self._run.behind

    def read(self, max_s: float) -> bool:
        changed = self._run.advance(max_s)
        if not changed and not self.folder.run_json.exists():
            raise SpecwatchError(
                f"the run's folder {self.folder.path} is gone",
                "`specwatch runs` lists the runs that are left",
                ExitCode.NO_SUCH_RUN,
            )
        return changed

    def now(self) -> float:
        """The run's clock: stands still at its exit, and where nobody records any more."""
        age = self._run.age()
        return self.state.t + (age if age is not None and self.state.life.exit is None else 0.0)

    def age(self) -> float | None:
        return None if self.state.life.exit is not None else self._run.age()

    def recorder_lives(self) -> bool:
        return self.folder.recorder_lives()


class Replay:
    """A record by its own clock, `pace` times as fast; starts `at` seconds into the run."""

    behind = False

    def __init__(self, folder: RunFolder, pace: float = 1.0, at: float = 0.0) -> None:
        self.folder = folder
        self.pace: float | None = pace
        self.state = State()
        self.log_offset = 0
        self._events: Iterator[tuple[float, AnyEvent]] = reader.replay(folder)
        self._next: tuple[float, AnyEvent] | None = next(self._events, None)
        self._began = time.monotonic()
        self._at = at
        self._stop = float("inf")

    def hold(self, t: float) -> None:
        """Stand still at `t` of the run's clock (screenshots)."""
        self._stop = t

    def now(self) -> float:
        t = self._at + (time.monotonic() - self._began) * (self.pace or 1.0)
        end = self.state.t if self._next is None else float("inf")
        return min(t, self._stop, max(end, self.state.t))

    def age(self) -> float | None:
        return None

    def recorder_lives(self) -> bool:
        return True

    def read(self, max_s: float) -> bool:
        deadline, now, changed = time.monotonic() + max_s, self.now(), False
        while self._next is not None and self._next[0] <= now:
            event = self._next[1]
            self.state = step(self.state, event)
            if isinstance(event, Log):
                self.log_offset = event.offset + len(event.data)
            self._next = None if isinstance(event, Exit) else next(self._events, None)
            changed = True
            if time.monotonic() > deadline:
                self.behind = True
                return True
        self.behind = False
        return changed
