"""record.jsonl -> events: whole lines from an offset on, the log's bytes fetched from server.log.

What every reader shares: the follower of a live run, the replay, the recorder that continues a record.
"""

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import msgspec

from collectors.reading.events import AnyEvent
from collectors.record import wire
from collectors.record.folder import RunFolder

BLOCK = 1 << 20
LONGEST_LINE = 16 << 20  # a page of 8 engines names its series in about 300 kB; beyond this it is no record


class Line(NamedTuple):
    end: int  # offset in record.jsonl right after the line
    entry: wire.Entry


def lines(record: Path, offset: int) -> Iterator[Line]:
    """The whole lines from `offset` (a line's start) to the file's end as it is now; a torn last line waits.

    A damaged line in the middle is passed over: what follows it still counts. A file that is missing or closed
    to us has no lines.
    """
    try:
        file = record.open("rb")
    except OSError:
        return
    with file:
        file.seek(offset)
        rest = b""
        while block := file.read(BLOCK):
            *whole, rest = (rest + block).split(b"\n")
            for raw in whole:
                offset += len(raw) + 1
                try:
                    yield Line(offset, wire.decode(raw))
                except (msgspec.MsgspecError, UnicodeDecodeError):
                    continue
            if len(rest) > LONGEST_LINE:
                return


class LogBytes:
    """Reads server.log by offsets; a log that is gone or shorter than the record says gives what there is."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._fd: int | None = None

    def __call__(self, start: int, end: int) -> bytes:
        if self._fd is None:
            try:
                self._fd = os.open(self._path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
            except OSError:
                return b""
        parts = []
        with contextlib.suppress(OSError):
            while start < end and (part := os.pread(self._fd, min(end - start, BLOCK), start)):
                parts.append(part)
                start += len(part)
        return b"".join(parts)

    def close(self) -> None:
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None

    def __del__(self) -> None:
        self.close()


def replay(folder: RunFolder, offset: int = 0) -> Iterator[tuple[float, AnyEvent]]:
    """All events of a record with their times, from the line at `offset` to the record's present end."""
    log = LogBytes(folder.server_log)
    for line in lines(folder.record, offset):
        for event in wire.events_of(line.entry, log):
            yield event.t, event
    log.close()
