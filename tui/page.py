"""Page: a widget that shows rows of styled text and repaints only the cells that changed.

A state a second over SSH must cost little: rows are compared with what stands there, and only the stretch
from the first to the last changed cell of a row is sent.
"""

from collections.abc import Callable, Sequence
from typing import ClassVar

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual.geometry import Region
from textual.strip import Strip
from textual.widget import Widget

from tui.rows import STYLES, Row, fit, stack, to_ascii

Draw = Callable[[int, int], Sequence[Row]]  # (width, height) -> at most `height` rows


class Page(Widget):
    """Shows what `draw(width, height)` returns; `show` asks it again."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {f"page--{name}" for name in STYLES}
    ALLOW_SELECT = False

    def __init__(self, draw: Draw, *, id: str | None = None) -> None:  # noqa: A002  (Textual's own name)
        super().__init__(id=id)
        self._draw = draw
        self._rows: list[Row] = []

    def show(self) -> None:
        """Draw again, and repaint what differs."""
        width, height = self.size
        if not width or not height:
            return
        rows = stack(self._draw(width, height), width, height)
        if getattr(self.app, "ascii_only", False):
            rows = [to_ascii(row) for row in rows]
        before, self._rows = self._rows, rows
        if len(before) != len(rows):
            self.refresh()
            return
        for y, (old, new) in enumerate(zip(before, rows, strict=True)):
            if old != new:
                start, end = _changed(old, new, width)
                self.refresh(Region(start, y, end - start, 1))

    def on_resize(self) -> None:
        self._rows = []
        self.show()

    def render_line(self, y: int) -> Strip:
        width = self.size.width
        if y >= len(self._rows):
            return Strip.blank(width, self._style("plain"))
        row = fit(self._rows[y], width)
        return Strip([Segment(text, self._style(style)) for text, style in row], width)

    def _style(self, name: str) -> Style:
        return self.get_component_rich_style(f"page--{name}")


def _changed(old: Row, new: Row, width: int) -> tuple[int, int]:
    """The cells [start, end) outside which both rows are equal, whole spans at a time at either end."""
    start = 0
    for before, after in zip(old, new, strict=False):
        if before != after:
            start += _common(before, after)
            break
        start += cell_len(before[0])
    end = width
    for before, after in zip(reversed(old), reversed(new), strict=False):
        if before != after or end <= start:
            break
        end -= cell_len(before[0])
    return (start, end) if start < end else (0, width)


def _common(old: tuple[str, str], new: tuple[str, str]) -> int:
    """Cells at the start of two spans that are equal."""
    if old[1] != new[1]:
        return 0
    same = 0
    for a, b in zip(old[0], new[0], strict=False):
        if a != b:
            break
        same += cell_len(a)
    return same
