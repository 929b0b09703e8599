"""A comparison as a file: SVG (bars), HTML (the SVG and the words), Markdown. Pure strings; all text escaped."""

from collections.abc import Iterator, Sequence
from html import escape
from pathlib import Path
from typing import NamedTuple

from collectors.errors import SpecwatchError
from launch.bench.summary import DASH
from launch.compare.comparison import Comparison
from launch.compare.text import grid, lines, markdown

BAR, GAP, BARS = 16, 6, 400
CHARACTER = 7  # the width of one: an SVG cannot measure its own text
_COLOURS = ("#8a8f98", "#2f7ed8", "#d9822b", "#3d9970", "#8e5ea2")


def save(comparison: Comparison, path: Path) -> None:
    """By the name's ending. Raises SpecwatchError for another ending or a place that cannot be written."""
    makers = {".svg": svg, ".html": html, ".md": markdown}
    if path.suffix.lower() not in makers:
        raise SpecwatchError(f"{path} is no .svg, .html or .md", "the ending of --save chooses the form")
    try:
        path.write_text(makers[path.suffix.lower()](comparison), encoding="utf-8")
    except OSError as error:
        raise SpecwatchError(f"{path} cannot be written: {error.strerror}", "choose another place") from error


class _Bar(NamedTuple):
    label: str
    value: float
    shown: str
    side: int  # its colour
    interval: tuple[float, float] | None = None


def svg(comparison: Comparison) -> str:
    """Two groups of bars: tok/s by load and side, acceptance by load, side and position."""
    speed, accepted = list(_speed(comparison)), list(_accepted(comparison))
    left = 16 + CHARACTER * max((len(bar.label) for bar in (*speed, *accepted)), default=0)
    width = left + BARS + 16 + CHARACTER * max((len(bar.shown) for bar in (*speed, *accepted)), default=0)
    top = max((bar.interval[1] if bar.interval else bar.value for bar in speed), default=1.0)
    body, y = [], 10
    for title, bars, full in (
        ("tok/s, and its 95 % interval where it is known", speed, top),
        ("accepted share, by position", accepted, 1.0),
    ):
        if bars:
            body.append(f'<text x="10" y="{y + 14}" font-weight="bold">{title}</text>')
            body += _bars(bars, full or 1.0, left, y + 24)
            y += 24 + len(bars) * (BAR + GAP) + 16
    size = f'width="{width}" height="{y}"'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="sans-serif" font-size="12">\n'
        f'<rect {size} fill="white"/>\n' + "\n".join(body) + "\n</svg>\n"
    )


def _speed(comparison: Comparison) -> Iterator[_Bar]:
    names = [comparison.baseline, *comparison.sides]
    for row in comparison.rows:
        sides = [
            (comparison.baseline, row.baseline, None),
            *((c.side, c.measured, c.gain) for c in row.cells),
        ]
        for name, it, gained in sides:
            if it.tok_s is not None:
                times = f" = {gained.speedup:.2f}×" if gained is not None and gained.speedup else ""
                shown = f"{it.tok_s:.1f} tok/s{times}"
                yield _Bar(f"{name}, {it.name or DASH}", it.tok_s, shown, names.index(name), it.tok_s_ci)


def _accepted(comparison: Comparison) -> Iterator[_Bar]:
    names = [comparison.baseline, *comparison.sides]
    for row in comparison.rows:
        for name, it in [
            (comparison.baseline, row.baseline),
            *((c.side, c.measured) for c in row.cells),
        ]:
            for i, share in enumerate(it.per_position):
                label = f"{name}, {it.name or DASH}, position {i}"
                yield _Bar(label, share, f"{share:.1%}", names.index(name))


def _bars(bars: Sequence[_Bar], full: float, left: int, y: int) -> Iterator[str]:
    for i, bar in enumerate(bars):
        at = y + i * (BAR + GAP)
        length = max(1.0, BARS * bar.value / full)
        colour = _COLOURS[bar.side % len(_COLOURS)]
        end = length
        yield f'<text x="{left - 8}" y="{at + 12}" text-anchor="end">{escape(bar.label)}</text>'
        yield f'<rect x="{left}" y="{at}" width="{length:.1f}" height="{BAR}" fill="{colour}"/>'
        if bar.interval is not None:
            low, end = (BARS * limit / full for limit in bar.interval)
            middle = at + BAR / 2
            yield (
                f'<path d="M{left + low:.1f} {at + 4}v{BAR - 8}M{left + low:.1f} {middle}H{left + end:.1f}'
                f'M{left + end:.1f} {at + 4}v{BAR - 8}" stroke="black"/>'
            )
        yield f'<text x="{left + max(length, end) + 6:.1f}" y="{at + 12}">{escape(bar.shown)}</text>'


def html(comparison: Comparison) -> str:
    head, *rows = grid(comparison)
    cells = "".join(f"<th>{escape(text)}</th>" for text in head)
    table = f"<tr>{cells}</tr>" + "".join(
        "<tr>" + "".join(f"<td>{escape(t)}</td>" for t in row) + "</tr>" for row in rows
    )
    words = list(lines(comparison))[len(rows) + 2 :]
    style = "body{font:14px sans-serif;margin:2em}td,th{padding:.2em .8em;text-align:right}"
    return (
        f'<!doctype html>\n<meta charset="utf-8">\n<title>specwatch compare</title>\n<style>{style}</style>\n'
        f"<table>{table}</table>\n{svg(comparison)}<pre>{escape(chr(10).join(words))}</pre>\n"
    )
