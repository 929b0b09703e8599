"""Bytes of a log -> Lines: split at newline and carriage return, wrappers and escapes off, prefix and head read."""

from msgspec import Struct


class Line(Struct):
    """One line as an expert sees it. `text` has no wrapper prefix and no escape; `msg` no process prefix and no head either."""

    text: str  # at most 2,000 characters
    lineno: int  # counts "\n"-ended lines of the file from 1
    offset: int  # of its first byte in the file
    t: float  # when it was complete
    process: str | None = None  # "APIServer", "EngineCore_DP0", "Worker_TP3", "TP6" (SGLang); the last of nested ones
    pid: int | None = None
    level: str | None = None  # DEBUG … CRITICAL where the head says it
    wall: str | None = None  # the head's own stamp, "12-01 05:17:09" or "2026-02-26 16:41:05"
    source: str | None = None  # the head's "file.py:123"
    msg: str = ""
