"""A comparison as a file: SVG (bars), HTML (the SVG and the words), Markdown. Pure strings; all text escaped."""

from collections.abc import Iterator
from html import escape
from pathlib import Path

from collectors.errors import SpecwatchError
from launch.compare.comparison import Comparison
from launch.compare.text import grid, lines, markdown

WIDTH, BAR, GAP, LEFT = 760, 16, 6, 190
_COLOURS = ("#8a8f98", "#2f7ed8", "#d9822b", "#3d9970", "#8e5ea2")


def save(comparison: Comparison, path: Path) -> None:
    """By the name's ending. Raises SpecwatchError for another ending or a place that cannot be written."""
    makers = {".svg": svg, ".html": html, ".md": markdown}
    if path.suffix not in makers:
        raise SpecwatchError(f"{path} is no .svg, .html or .md", "the ending of --save chooses the form")
    try:
        path.write_text(makers[path.suffix](comparison), encoding="utf-8")
    except OSError as error:
        raise SpecwatchError(f"{path} cannot be written: {error.strerror}", "choose another place") from error


def svg(comparison: Comparison) -> str:
    """Two groups of bars: tok/s by concurrency and side, acceptance by position and side."""
    names = [comparison.baseline, *comparison.sides]
    speed = [
        (
            f"{name}, concurrency {row.concurrency or '—'}",
            measured.tok_s,
            f"{measured.tok_s:.1f} tok/s",
            names.index(name),
        )
        for row in comparison.rows
        for name, measured in [
            (comparison.baseline, row.baseline),
            *((c.side, c.measured) for c in row.cells),
        ]
        if measured.tok_s is not None
    ]
    accepted = [
        (
            f"{cell.side}, c{row.concurrency or '—'}, position {i}",
            share,
            f"{share:.1%}",
            names.index(cell.side),
        )
        for row in comparison.rows
        for cell in row.cells
        for i, share in enumerate(cell.measured.per_position)
    ]
    body, y = [], 10
    top = max((value for _, value, _, _ in speed), default=1.0)
    for title, bars, full in (("tok/s", speed, top), ("accepted, by position", accepted, 1.0)):
        if not bars:
            continue
        body.append(f'<text x="10" y="{y + 14}" font-weight="bold">{title}</text>')
        drawn = list(_bars(bars, full or 1.0, y + 24))
        body += drawn
        y += 24 + len(bars) * (BAR + GAP) + 16
    size = f'width="{WIDTH}" height="{y}"'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="sans-serif" font-size="12">\n'
        f'<rect {size} fill="white"/>\n' + "\n".join(body) + "\n</svg>\n"
    )


def _bars(bars: list[tuple[str, float, str, int]], full: float, y: int) -> Iterator[str]:
    room = WIDTH - LEFT - 110
    for i, (label, value, shown, side) in enumerate(bars):
        at = y + i * (BAR + GAP)
        length = max(1.0, room * value / full)
        yield f'<text x="{LEFT - 8}" y="{at + 12}" text-anchor="end">{escape(label)}</text>'
        yield f'<rect x="{LEFT}" y="{at}" width="{length:.1f}" height="{BAR}" fill="{_COLOURS[side % len(_COLOURS)]}"/>'
        yield f'<text x="{LEFT + length + 6:.1f}" y="{at + 12}">{escape(shown)}</text>'


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
