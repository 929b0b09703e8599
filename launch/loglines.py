"""Physical lines of a log by byte offset, forwards or backwards, in bounded memory."""

import os
from collections.abc import Iterator

BLOCK = 256 * 1024
LONGEST = 64 * 1024  # bytes of one line that are kept: the reading looks at less


def forwards(fd: int, start: int, *, partial: bool) -> Iterator[tuple[int, bytes]]:
    """`(offset of the line after, line)` from the line at `start` on, as far as the file goes now.

    `partial`: a last line without its newline counts too.
    """
    rest, cut = b"", 0
    at = start
    while block := os.pread(fd, BLOCK, at):
        *whole, last = block.split(b"\n")
        for line in whole:
            start += len(rest) + cut + len(line) + 1
            yield start, (rest + line)[:LONGEST]
            rest, cut = b"", 0
        cut += max(0, len(rest) + len(last) - LONGEST)
        rest = (rest + last)[:LONGEST]
        at += len(block)
    if partial and rest:
        yield start + len(rest) + cut, rest


def backwards(fd: int, end: int) -> Iterator[bytes]:
    """The lines before `end`, newest first; a last one without its newline comes first."""
    if end == 0:
        return
    if os.pread(fd, 1, end - 1) == b"\n":
        end -= 1
    rest = b""
    at = end
    while at > 0:
        start = max(0, at - BLOCK)
        first, *lines = (os.pread(fd, at - start, start) + rest).split(b"\n")
        for line in reversed(lines):
            yield line[:LONGEST]
        rest, at = first[:LONGEST], start
    yield rest
