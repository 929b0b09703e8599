"""Follower: the State of a run, live or ended, read from its folder alone. Every front end stands on this.

run = Follower(folder)
while not run.ended:
    if run.advance(max_s=0.05):
        show(run.state)
    sleep(…)
"""

import time

from collectors.errors import SpecwatchError
from collectors.reading.state import State, step
from collectors.record import checkpoint, reader, wire
from collectors.record.clock import boot_id
from collectors.record.folder import RunFolder

STALE_S = 5.0  # the recorder ticks each second: five silent ones mean that it is gone or stopped


class Follower:
    """`state` as of the last whole line read; starts from the checkpoint where one holds, else at the start.

    `ended`: the record's last word (Exit) was read; nothing follows.
    `behind`: the last `advance` ran out of time before the record's end.
    """

    def __init__(self, folder: RunFolder, *, from_start: bool = False) -> None:
        self.folder = folder
        self.state = State()
        self.ended = False
        self.behind = True
        self.record_offset = 0
        self.log_offset = 0  # bytes of server.log that the record has indexed
        self.inbox_taken: set[str] = (
            set()
        )  # files of the requests read; those before the checkpoint are removed
        self._log = reader.LogBytes(folder.server_log)
        found = None if from_start else checkpoint.load(folder)
        if found is not None:
            self.state = found.state
            self.record_offset = found.record_offset
            self.log_offset = found.log_offset
            self.ended = found.state.life.exit is not None

    def advance(self, max_s: float | None = None) -> bool:
        """Read what the record has more, for at most `max_s` seconds; True when there was anything.

        Cheap when there was not: one stat. A record that is not there yet is an empty one.
        """
        self.behind = False
        try:
            if self.folder.record.stat().st_size <= self.record_offset:
                return False
        except OSError:
            return False
        start = self.record_offset
        deadline = None if max_s is None else time.monotonic() + max_s
        for line in reader.lines(self.folder.record, self.record_offset):
            for event in wire.events_of(line.entry, self._log):
                self.state = step(self.state, event)
            self.record_offset = line.end
            if line.entry.inbox:
                self.inbox_taken.add(line.entry.inbox)
            if line.entry.log is not None:
                self.log_offset = line.entry.log[1]
            if line.entry.exit is not None:
                self.ended = True
            if deadline is not None and time.monotonic() > deadline:
                self.behind = True
                break
        return self.record_offset > start

    def age(self, now: float | None = None) -> float | None:
        """Seconds since the record's last line; `now` is CLOCK_BOOTTIME. None before the first line.

        After a reboot, or read on another host, that clock says nothing of this run: then by the wall clock.
        """
        if self.record_offset == 0:
            return None
        if boot_id() == self._boot_id():
            boot = time.clock_gettime(time.CLOCK_BOOTTIME) if now is None else now
            return max(0.0, boot - self._boottime0 - self.state.t)
        if self.state.wall0 is None:
            return None
        return max(0.0, time.time() - self.state.wall0 - self.state.t)

    def _boot_id(self) -> str | None:
        """The boot in which the run's clock began, read once (run.json never changes)."""
        if not hasattr(self, "_boot"):
            try:
                info = self.folder.info()
                self._boot: str | None = info.boot_id
                self._boottime0 = info.boottime0
            except SpecwatchError:
                self._boot = None
        return self._boot
