"""The only writer to the terminal outside the screen: data on stdout, all else on stderr.

Nothing that came from a log, a path or a server reaches a terminal with its control characters.
"""

import sys
from typing import Any

import msgspec

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
_ESCAPED = {code: f"\\u{code:04x}" for code in _CONTROL}


def clean(text: str) -> str:
    """`text` without anything that a terminal would obey; it may still hold tabs and newlines."""
    return text.translate(_CONTROL)


def data(text: str) -> None:
    _write(sys.stdout, clean(text) + "\n")


def json(value: Any) -> None:
    """One JSON value on one line; structs as objects, unknown as null. What JSON lets through is escaped too."""
    _write(sys.stdout, msgspec.json.encode(value).decode().translate(_ESCAPED) + "\n")


def say(text: str) -> None:
    _write(sys.stderr, clean(text) + "\n")


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


def _write(stream: Any, text: str) -> None:
    """A terminal or pipe in a narrower encoding (LC_ALL=C) gets `?` for what it cannot show, not an error."""
    try:
        stream.write(text)
    except UnicodeEncodeError:
        stream.write(text.encode(stream.encoding, "replace").decode(stream.encoding))
    stream.flush()
