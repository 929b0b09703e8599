"""The only writer to the terminal outside the screen: data on stdout, all else on stderr.

Nothing that came from a log, a path or a server reaches a terminal with its control characters.
"""

import contextlib
import io
import os
import sys
from typing import Any

import msgspec

from collectors.errors import SpecwatchError

# C0 and C1 but for tab and newline, and all marks that turn the reading direction round.
_CONTROL = dict.fromkeys(
    (
        *range(0x09),
        *range(0x0B, 0x20),
        *range(0x7F, 0xA0),
        0x061C,
        0x200E,
        0x200F,
        *range(0x202A, 0x202F),
        *range(0x2066, 0x206A),
    ),
    "�",
)
_ELSEWHERE = "give it a terminal, a pipe or a file that can be written; `>/dev/null` drops it"
_ESCAPED = {code: f"\\u{code:04x}" for code in _CONTROL}


def clean(text: str) -> str:
    """`text` without anything that a terminal would obey; it may still hold tabs and newlines."""
    return text.translate(_CONTROL)


def data(text: str) -> None:
    _print(clean(text) + "\n")


def json(value: Any) -> None:
    """One JSON value on one line; structs as objects, unknown as null. What JSON lets through is escaped too."""
    _print(msgspec.json.encode(value).decode().translate(_ESCAPED) + "\n")


def say(text: str) -> None:
    """Where stderr is full or closed nobody can be told, and the command goes on."""
    try:
        _write(sys.stderr, clean(text) + "\n")
    except BrokenPipeError:
        raise
    except OSError:
        discard(sys.stderr)


def error(message: str, hint: str = "") -> None:
    say(f"error: {message}")
    if hint:
        say(f"hint: {hint}")


class StatusLine:
    """One line on stderr that is drawn over again: only for a terminal. `done` leaves the line empty."""

    def __init__(self) -> None:
        self._drawn = False

    def draw(self, text: str) -> None:
        sys.stderr.write(f"\r{clean(text)}\x1b[K")
        sys.stderr.flush()
        self._drawn = True

    def done(self) -> None:
        if self._drawn:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
            self._drawn = False


class Closed(io.TextIOBase):
    """Stands for a stdout that was closed before the start (`>&-`): Python itself puts None there."""

    def write(self, _text: str) -> int:
        raise SpecwatchError("standard output is closed", _ELSEWHERE)


def refused(problem: OSError) -> SpecwatchError:
    """Stdout does not take what is written, such as on a full disk: nothing more goes there."""
    discard(sys.stdout)
    return SpecwatchError(f"standard output cannot be written: {problem.strerror or problem}", _ELSEWHERE)


def discard(stream: Any) -> None:
    """What is still in the stream's buffer, and all that follows, goes nowhere: Python's end would fail on it."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def no_screen(*streams: Any) -> str:
    """Why the screen cannot be drawn, "" when it can."""
    if not all(stream.isatty() for stream in streams):
        return "the screen needs a terminal"
    term = os.environ.get("TERM", "")
    if term in ("", "dumb"):
        said = f"TERM={term} says that this one cannot" if term else "TERM, which says so, is not set"
        return f"the screen needs a terminal that can move its cursor: {said}"
    return ""


def _print(text: str) -> None:
    try:
        _write(sys.stdout, text)
    except BrokenPipeError:  # who reads it has had enough
        raise
    except OSError as problem:
        raise refused(problem) from None


def _write(stream: Any, text: str) -> None:
    """A terminal or pipe in a narrower encoding (LC_ALL=C) gets `?` for what it cannot show, not an error."""
    try:
        stream.write(text)
    except UnicodeEncodeError:
        stream.write(text.encode(stream.encoding, "replace").decode(stream.encoding))
    stream.flush()
