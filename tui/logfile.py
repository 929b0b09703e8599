"""server.log, read backwards or forwards by byte offsets; only the lines that are shown are classified.

Nothing is indexed: the newest page of a 60 MB log costs one block of 64 KiB. `end` is the offset up to which
the record has indexed the log, so the screen never shows what the State has not read.
"""

import os
from collections.abc import Callable, Iterator
from pathlib import Path

from tui.view import LogLine

BLOCK = 64 * 1024
LONGEST = 16 * 1024  # bytes of one line that are looked at
BUDGET = 4 * 1024 * 1024  # bytes read for one page: that many of noise alone are said, not read through

Raw = tuple[int, bytes]  # offset of the first byte, the line without its newline
Look = Callable[[bytes, int], list[LogLine]]  # of one physical line: none when empty, several when glued


class LogFile:
    """Opens late and again: the file may come after the screen."""

    def __init__(self, path: Path, look: Look) -> None:
        self._path = path
        self._look = look
        self._fd: int | None = None

    def close(self) -> None:
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None

    def _read(self, start: int, end: int) -> bytes:
        if self._fd is None:
            try:
                self._fd = os.open(self._path, os.O_RDONLY | os.O_CLOEXEC)
            except OSError:
                return b""
        return os.pread(self._fd, max(0, end - start), start)

    def backwards(self, end: int) -> Iterator[Raw]:
        """Lines before `end`, the newest first; `end` itself may stand inside the last one."""
        rest = b""
        at = end
        while at > 0:
            start = max(0, at - BLOCK)
            block = self._read(start, at)
            if not block:
                return
            parts = (block + rest).split(b"\n")
            rest = parts[0]
            offset = start + sum(len(part) + 1 for part in parts)
            for part in reversed(parts[1:]):
                offset -= len(part) + 1
                yield offset, part
            at = start
            if len(rest) > BUDGET:  # one line without an end: its beginning is enough
                rest = rest[:LONGEST]
        if rest:
            yield 0, rest

    def forwards(self, start: int, end: int) -> Iterator[Raw]:
        """Lines from `start` (a line's first byte) to `end`."""
        rest, at = b"", start
        while at < end:
            block = self._read(at, min(end, at + BLOCK))
            if not block:
                break
            at += len(block)
            *whole, rest = (rest + block).split(b"\n")
            for part in whole:
                yield start, part
                start += len(part) + 1
        if rest:
            yield start, rest

    def page(self, end: int, height: int, *, show_all: bool) -> list[LogLine]:
        """The `height` newest lines before `end`, oldest first; fewer when the budget ends in noise."""
        found: list[LogLine] = []
        for offset, raw in self.backwards(end):
            if end - offset > BUDGET:
                break
            for line in reversed(self._look(raw[:LONGEST], offset)):
                if line.hidden and not show_all:
                    continue
                if found and _same(line, found[-1]):
                    found[-1] = _folded(line, found[-1])
                elif len(found) == height:
                    return found[::-1]
                else:
                    found.append(line)
        return found[::-1]

    def after(self, start: int, end: int, count: int, *, show_all: bool) -> list[LogLine]:
        """The next `count` lines that begin at or after `start`."""
        found: list[LogLine] = []
        for offset, raw in self.forwards(start, end):
            if len(found) == count or offset - start > BUDGET:
                break
            found += [line for line in self._look(raw[:LONGEST], offset) if show_all or not line.hidden]
        return found[:count]

    def find(self, wanted: str, start: int, end: int, *, forward: bool, show_all: bool) -> LogLine | None:
        """The nearest line that holds `wanted`, letter case aside, not counting the one at `start` nor hidden ones."""
        needle = wanted.lower().encode()
        raws = self.forwards(start, end) if forward else self.backwards(start)
        for offset, raw in raws:
            if needle in raw.lower() and not (forward and offset == start):
                for line in self._look(raw[:LONGEST], offset):
                    if wanted.lower() in line.text.lower() and (show_all or not line.hidden):
                        return line
        return None


def _same(older: LogLine, newer: LogLine) -> bool:
    """The same words from another rank: shown once, counted."""
    return older.text == newer.text and older.level == newer.level and older.hidden == newer.hidden


def _folded(older: LogLine, newer: LogLine) -> LogLine:
    return LogLine(
        offset=older.offset,
        clock=newer.clock,
        process=older.process,
        level=newer.level,
        text=newer.text,
        hidden=newer.hidden,
        count=newer.count + older.count,
    )
