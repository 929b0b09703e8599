"""RecordWriter: the only hand that writes record.jsonl, and the State that what it wrote makes.

Nothing enters the State that is not in the file: a replay of the file is the State by construction.
"""

import contextlib
import os
import sys
import traceback

from collectors.reading.events import AnyEvent, Log
from collectors.reading.state import State, step
from collectors.record import checkpoint, wire
from collectors.record.folder import RunFolder
from collectors.record.follow import Follower

BLOCK = 65536


class RecordWriter:
    """Opens or continues a record. A torn last line (the recorder before was killed in it) is cut off.

    `trouble`: why the last write failed, None while writing works; `written`: bytes written by this process.
    """

    def __init__(self, folder: RunFolder) -> None:
        self._folder = folder
        self._fd = os.open(folder.record, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        self._end = _cut_torn_line(self._fd)
        before = Follower(folder)
        before.advance()
        self.state: State = before.state
        self.log_offset = before.log_offset
        self.ended = before.ended
        self.inbox_taken = before.inbox_taken
        self.trouble: str | None = None
        self.written = 0

    def write(self, *events: AnyEvent, inbox: str = "") -> bool:
        """Append the events in one write and step the State; False, and neither, when the disk refuses."""
        entries = [wire.entry_of(event) for event in events]
        for entry in entries:  # threads hand over late: the record's time never goes back
            entry.t = max(entry.t, self.state.t)
        if inbox:
            entries[-1].inbox = inbox
        if not self._append(b"".join(map(wire.encode, entries))):
            return False
        for event, entry in zip(events, entries, strict=True):
            if entry.log is not None:
                self.log_offset = entry.log[1]
            self._step(entry, event.data if isinstance(event, Log) else b"")
        self.ended = self.ended or entries[-1].exit is not None
        return True

    def _step(self, entry: wire.Entry, data: bytes) -> None:
        """A rule that fails must not end the recording: the facts are in the file, the State can be made
        again.
        """
        try:
            for event in wire.events_of(entry, lambda _start, _end: data):
                self.state = step(self.state, event)
        except Exception:
            traceback.print_exc(file=sys.stderr)

    def save_checkpoint(self) -> None:
        try:
            checkpoint.save(self._folder, self.state, self._end, self.log_offset)
        except OSError as error:
            self.trouble = error.strerror or str(error)

    def close(self) -> None:
        os.close(self._fd)

    def _append(self, raw: bytes) -> bool:
        """All or nothing: what a full disk took of a line is cut off again, which needs no space."""
        try:
            if os.fstat(self._fd).st_size != self._end:
                os.ftruncate(self._fd, self._end)
            if os.write(self._fd, raw) != len(raw):
                raise OSError(0, "no space left on the disk")
        except OSError as error:
            self.trouble = error.strerror or str(error)
            with contextlib.suppress(OSError):
                os.ftruncate(self._fd, self._end)  # at once: a reader must not meet half of it
            return False
        self._end += len(raw)
        self.written += len(raw)
        self.trouble = None
        return True


def _cut_torn_line(fd: int) -> int:
    """Truncate the file behind its last newline; returns its size then."""
    end = os.fstat(fd).st_size
    while end > 0:
        start = max(0, end - BLOCK)
        found = os.pread(fd, end - start, start).rfind(b"\n")
        if found >= 0:
            end = start + found + 1
            break
        end = start
    os.ftruncate(fd, end)
    return end
