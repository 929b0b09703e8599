"""The time of day that a stretch of a log was printed at."""

import re

_STAMP = re.compile(rb"\d\d-\d\d[ T]\d\d:\d\d:\d\d(?=[ \].,])")
_YEAR = re.compile(rb"20\d\d-")
_NEAR = (
    200  # Only near a line's beginning: what is further on may be cut off, by where a chunk happens to end.
)
_WINDOW = 4096


def last_stamp(data: bytes, begin: int, end: int) -> str | None:
    """The last "12-01 05:17:09" or "2026-02-26 16:41:05" that a line of data[begin:end] has near its beginning.
    `begin` is a line's beginning, `end` where a line ends."""
    near = max(begin, data.rfind(b"\n", begin, max(begin, end - _WINDOW)) + 1)
    for start in dict.fromkeys((near, begin)):
        for found in reversed(list(_STAMP.finditer(data, start, end))):
            at = found.start()
            if _YEAR.fullmatch(data, max(begin, at - 5), at):
                at -= 5
            line = max(data.rfind(b"\n", start, at), data.rfind(b"\r", start, at)) + 1 or start
            if at - line <= _NEAR:
                return data[at : found.end()].decode().replace("T", " ")
    return None
