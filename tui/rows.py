"""Rows of styled text: what every panel draws and every screen stacks.

A span is a text and the name of a style; there is no markup to interpret, so nothing that a log or a model
says can become any. What comes from outside goes through `clean` once, where it enters a row.
"""

import re
import unicodedata
from collections.abc import Iterable

from rich.cells import cell_len, set_cell_size

Span = tuple[str, str]
Row = tuple[Span, ...]

# The styles that a span may name; tui/page.tcss gives each its colours.
STYLES = (
    "plain", "muted", "faint", "strong", "title", "good", "warn", "bad", "accent",
    "fill", "trough", "drafted", "accepted", "mark", "key", "alarm", "match",
)  # fmt: skip

_ODD = re.compile(
    r"[^ -~\u00a1-\u00ac\u00ae-\u02ff\u0370-\u052f\u2010-\u2027\u2030-\u205e\u2100-\u2bff\u3000-\ud7ff]"
)


def clean(text: str) -> str:
    """Inert text of known width: controls, escapes, bidirectional and invisible characters become `·`."""
    return _ODD.sub(_visible, text)


def _visible(found: re.Match[str]) -> str:
    char = found[0]
    if char == "\t":
        return " "
    if (
        0xFE00 <= ord(char) <= 0xFE0F
    ):  # asks for another width of the character before, which terminals disagree on
        return ""
    return "·" if unicodedata.category(char) in ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp") else char


def row(*spans: Span | str) -> Row:
    return tuple((span, "plain") if isinstance(span, str) else span for span in spans)


def text_of(line: Row) -> str:
    return "".join(text for text, _ in line)


def width_of(line: Row) -> int:
    return sum(cell_len(text) for text, _ in line)


def cut(text: str, width: int) -> str:
    """At most `width` cells; what is lost shows as an ellipsis."""
    if width <= 0:
        return ""
    return text if cell_len(text) <= width else set_cell_size(text, width - 1) + "…"


def left(text: str, width: int) -> str:
    """Exactly `width` cells, the text at the left."""
    return set_cell_size(cut(text, width), width) if width > 0 else ""


def right(text: str, width: int) -> str:
    """Exactly `width` cells, the text at the right."""
    text = cut(text, width)
    return " " * (width - cell_len(text)) + text


def fit(line: Row, width: int) -> Row:
    """Exactly `width` cells: cut with an ellipsis, or filled with blanks."""
    used = width_of(line)
    if used == width:
        return line
    if used < width:
        return (*line, (" " * (width - used), "plain"))
    spans: list[Span] = []
    room = width - 1
    for text, style in line:
        if (size := cell_len(text)) > room:
            spans.append((set_cell_size(text, max(0, room)) + "…", style))
            break
        spans.append((text, style))
        room -= size
    return tuple(spans) if width > 0 else ()


def spread(start: Row, end: Row, width: int) -> Row:
    """`start` at the left, `end` at the right edge; when both do not fit the start is cut."""
    end_width = width_of(end)
    if end_width >= width:
        return fit(end, width)
    return (*fit(start, width - end_width), *end)


def wrap(text: str, width: int, limit: int = 99) -> list[str]:
    """Words in lines of at most `width` cells, at most `limit` lines; the last one says when it was cut."""
    lines: list[str] = []
    current = ""
    for word in text.split():
        joined = f"{current} {word}" if current else word
        if cell_len(joined) <= width:
            current = joined
            continue
        if current:
            lines.append(current)
        while cell_len(word) > width > 0:
            head = set_cell_size(word, width).rstrip() or word[0]
            lines.append(head)
            word = word[len(head) :]
        current = word
    if current:
        lines.append(current)
    if len(lines) > limit:
        lines = [*lines[: limit - 1], cut(" ".join(lines[limit - 1 :]), width)]
    return lines


def bar(fraction: float | None, width: int, style: str = "fill") -> Row:
    """A horizontal bar of eighths of a cell; None is an empty trough."""
    if width <= 0:
        return ()
    eighths = 0 if fraction is None else round(min(1.0, max(0.0, fraction)) * width * 8)
    if fraction and eighths == 0:
        eighths = 1  # something is not nothing
    full, rest = divmod(eighths, 8)
    done = "█" * full + (" ▏▎▍▌▋▊▉"[rest] if rest else "")
    return tuple(span for span in ((done, style), ("─" * (width - len(done)), "trough")) if span[0])


def line_bar(fraction: float | None, width: int, style: str = "fill") -> Row:
    """The thin bar of a progress line, half a cell fine."""
    if width <= 0:
        return ()
    halves = 0 if fraction is None else int(min(1.0, max(0.0, fraction)) * width * 2 + 1e-9)
    done = "━" * (halves // 2) + ("╸" if halves % 2 else "")
    return tuple(span for span in ((done, style), ("─" * (width - len(done)), "trough")) if span[0])


# For terminals that speak no UTF-8, and for the Linux console, whose font has no braille.
_ASCII = str.maketrans({
    **dict.fromkeys("█▉▊▋▌▍■", "#"), **dict.fromkeys("▎▏╸─┴┬┤├┼┐┌└┘—−", "-"), **dict.fromkeys("━≈", "="),
    "│": "|", "┊": ":", "·": ".", "…": "~", "×": "x", "✓": "v", "✗": "x", "▸": ">", "◂": "<", "±": "+",
    "→": ">", "▁": "_", "°": " ", "↑": "^", "↓": "v", "≤": "<", "Δ": "d",
})  # fmt: skip


def to_ascii(line: Row) -> Row:
    """The same row in ASCII, cell for cell."""
    return tuple(
        ("".join(c if c < "\x7f" else "?" * cell_len(c) for c in text.translate(_ASCII)), style)
        for text, style in line
    )


def stack(rows: Iterable[Row], width: int, height: int) -> list[Row]:
    """Exactly `height` rows of exactly `width` cells."""
    fitted = [fit(line, width) for line in rows][:height]
    return fitted + [((" " * width, "plain"),)] * (height - len(fitted))
