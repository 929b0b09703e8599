"""Plots of braille dots: a pure function from series to rows of text, with axes, units, marks and gaps.

A cell holds 2 x 4 dots, so a plot of 60 x 5 cells resolves 120 instants and 20 levels. Missing data stays
empty: a None value breaks a line, and so does a silence longer than `gap` seconds.
"""

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from rich.cells import cell_len

from tui import format as fmt
from tui.rows import Row, Span, clean, cut, left, right

# The bit of each dot of a braille cell, by column and by row from the top (Unicode 2800).
_DOTS = ((0x01, 0x02, 0x04, 0x40), (0x08, 0x10, 0x20, 0x80))
_ASCII_LEVELS = " .:|#"

Points = Sequence[tuple[float, float | None]]


class Line(NamedTuple):
    """One series. `area`: filled down to 0, so that two series differ without colour."""

    label: str
    style: str
    points: Points
    area: bool = False


class Mark(NamedTuple):
    t: float
    label: str = ""


class Frame(NamedTuple):
    """What the dots mean: time at both edges, value at the top (0 is the bottom), cells across and down."""

    t0: float
    t1: float
    top: float
    width: int
    height: int


def plot(
    lines: Sequence[Line],
    *,
    t0: float,
    t1: float,
    width: int,
    height: int,
    marks: Sequence[Mark] = (),
    gap: float = 10.0,
    label_width: int = 6,
    now: str = "now",
    ascii_only: bool = False,
) -> list[Row]:
    """`height` rows: axis labels at the left, the dots, and the time axis as the last row."""
    inner = width - label_width - 1
    if inner < 4 or height < 2 or t1 <= t0:
        return []
    seen = [v for line in lines for t, v in line.points if v is not None and t0 <= t <= t1]
    frame = Frame(t0, t1, nice_top(max(seen, default=0.0)), inner, height - 1)
    cells = _paint(lines, frame, gap, ascii_only)
    _mark(cells, frame, marks)
    body = [(*axis, *_spans(cells[y])) for y, axis in enumerate(_value_axis(frame, label_width))]
    return [*body, _time_axis(frame, label_width, now)]


def nice_top(value: float) -> float:
    """The least of 1, 1.2, 1.5, 2, 2.5, 3, 3.5, 4, 5, 6, 8 times a power of ten from `value`; 1 for none."""
    if not 1e-300 < value < math.inf:  # below, its power of ten is 0
        return 1.0
    scale = 10.0 ** math.floor(math.log10(value))
    for step in (1, 1.2, 1.5, 2, 2.5, 3, 3.5, 4, 5, 6, 8, 10):
        if value <= step * scale * (1 + 1e-9):
            return float(f"{step * scale:.6g}")
    return 10 * scale


def _levels(line: Line, frame: Frame, gap: float) -> Iterator[tuple[int, int, int]]:
    """(dot column, lowest, highest level) wherever the series is known; levels count from 0 at the bottom.

    Between two known points the value is a straight line; several points in one column keep their extremes.
    """
    columns, top_level = frame.width * 2, frame.height * 4 - 1
    per_column = (frame.t1 - frame.t0) / columns

    def level(value: float) -> int:
        return round(min(1.0, max(0.0, value / frame.top)) * top_level)

    before: tuple[float, float] | None = None
    for t, value in line.points:
        if value is None or not math.isfinite(value):
            before = None
            continue
        column = int((t - frame.t0) / per_column)
        if before is not None and t - before[0] <= gap:
            first = int((before[0] - frame.t0) / per_column)
            for x in range(max(0, first), min(columns - 1, column) + 1):
                a, b = map(level, _between(before, (t, value), frame.t0 + x * per_column, per_column))
                yield x, min(a, b), max(a, b)
        elif 0 <= column < columns or t == frame.t1:
            yield min(column, columns - 1), level(value), level(value)
        before = (t, value)


def _between(p: tuple[float, float], q: tuple[float, float], t: float, wide: float) -> tuple[float, float]:
    """The values of the line p-q at both edges of the column [t, t + wide)."""
    if q[0] <= p[0]:
        return p[1], q[1]
    slope = (q[1] - p[1]) / (q[0] - p[0])
    start, end = max(t, p[0]), min(t + wide, q[0])
    return p[1] + (start - p[0]) * slope, p[1] + (end - p[0]) * slope


def _paint(lines: Sequence[Line], frame: Frame, gap: float, ascii_only: bool) -> list[list[Span]]:
    """Cells of one character each; where two series meet, the later one gives the colour."""
    bits = [[0] * frame.width for _ in range(frame.height)]
    style = [["plain"] * frame.width for _ in range(frame.height)]
    for line in lines:
        for x, low, high in _levels(line, frame, gap):
            for dot in range(0 if line.area else low, high + 1):
                y, inside = divmod(frame.height * 4 - 1 - dot, 4)
                bits[y][x // 2] |= _DOTS[x % 2][inside]
                style[y][x // 2] = line.style
    return [
        [(_glyph(b, ascii_only), s) for b, s in zip(bits[y], style[y], strict=True)]
        for y in range(frame.height)
    ]


def _glyph(bits: int, ascii_only: bool) -> str:
    if bits == 0:
        return " "
    return _ASCII_LEVELS[(bits.bit_count() + 1) // 2] if ascii_only else chr(0x2800 + bits)


def _mark(cells: list[list[Span]], frame: Frame, marks: Sequence[Mark]) -> None:
    """A dotted vertical in the cells that hold no dots, its label on the first row that has room for it."""
    for mark in sorted(marks, key=lambda m: m.t):
        if not frame.t0 <= mark.t <= frame.t1:
            continue
        x = min(frame.width - 1, int((mark.t - frame.t0) / (frame.t1 - frame.t0) * frame.width))
        for line in cells:
            if line[x][0] == " ":
                line[x] = ("┊", "mark")
        label = cut(clean(mark.label), 12)
        start, end = x + 1, x + 1 + len(label)
        if cell_len(label) != len(label) or end > frame.width:
            continue
        for line in cells:
            if all(char == " " for char, _ in line[start : end + 1]):
                line[start:end] = [(char, "mark") for char in label]
                break


def _spans(cells: Sequence[Span]) -> Iterator[Span]:
    """Neighbours of one style as one span: fewer bytes to the terminal."""
    run, style = "", ""
    for char, own in cells:
        own = style if char == " " and style else own
        if own != style and run:
            yield run, style
            run = ""
        run, style = run + char, own
    if run:
        yield run, style


def _value_axis(frame: Frame, label_width: int) -> Iterator[Row]:
    middle = frame.height // 2
    for y in range(frame.height):
        if y == 0:
            label, tick = fmt.number(frame.top), "┬"
        elif y == frame.height - 1:
            label, tick = "0", "┴"
        elif y == middle and frame.height % 2:
            label, tick = fmt.number(frame.top / 2), "┤"
        else:
            label, tick = "", "│"
        yield (right(label, label_width - 1) + " ", "muted"), (tick, "faint")


def _time_axis(frame: Frame, label_width: int, now: str) -> Row:
    span = frame.t1 - frame.t0
    start = f"-{fmt.about(span)}" if span >= 55 else f"-{span:.0f} s"
    if frame.width < len(start) + len(now) + 2:
        return ((" " * (label_width + 1) + left(start, frame.width), "muted"),)
    text = start + right(now, frame.width - len(start))
    half = f"-{fmt.about(span / 2)}" if span >= 110 else f"-{span / 2:.0f} s"
    place = frame.width // 2
    if place > len(start) + 4 and place + len(half) < frame.width - len(now) - 4:
        text = text[:place] + half + text[place + len(half) :]
    return ((" " * (label_width + 1) + text, "muted"),)
