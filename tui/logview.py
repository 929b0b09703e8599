"""LogView: a window on server.log held by a byte offset; what is above and below is read when it is scrolled to.

Not a list of lines with a scroll bar: counting the lines that a filter leaves of 60 MB would cost a second, and
the byte offset says as well where one is.
"""

from collections.abc import Iterator

from collectors.reading.log.state import Problem
from tui import format as fmt
from tui.logfile import LogFile
from tui.page import Page
from tui.panels.logtail import line_row
from tui.rows import Row, Span, clean
from tui.view import LogLine, View


class LogView(Page):
    """`end`: the lines shown are the last before this offset; None follows the newest."""

    def __init__(self, *, id: str) -> None:  # noqa: A002  (Textual's own name)
        super().__init__(self._draw_lines, id=id)
        self.search = ""
        self._all = False
        self._errors = False
        self._end: int | None = None
        self._match: int | None = None
        self._view = View()
        self._log: LogFile | None = None
        self._lines: list[LogLine] = []
        self._made_of: object = None

    def follow_to(self, view: View, log: LogFile) -> None:
        self._view, self._log = view, log

    @property
    def _newest(self) -> int:
        return self._view.state.log.size

    def _draw_lines(self, width: int, height: int) -> list[Row]:
        made_of = (self._end if self._end is not None else self._newest, height, self._all, self._errors)
        if made_of != self._made_of:
            self._made_of, self._lines = made_of, self._page(height)
        if not self._lines:
            return [((" no lines yet" if not self._errors else " no errors and no warnings", "muted"),)]
        return [line_row(line, width, search=self.search) for line in self._lines]

    def _page(self, height: int) -> list[LogLine]:
        end = self._newest if self._end is None else self._end
        if self._errors:
            return list(_problems(self._view.state.log.problems, end))[-height:]
        return self._log.page(end, height, show_all=self._all) if self._log else []

    def status(self, view: View) -> Row:
        """Where the window stands, and what the filters hide."""
        log = view.state.log
        where = "following" if self._end is None else f"at {self._end / max(1, log.size) * 100:.0f} %"
        if self._errors:
            kept = "errors and warnings only"
        elif self._all:
            kept = "all lines"
        else:
            kept = f"{fmt.count(log.hidden_lines)} hidden as noise"
        spans: list[Span] = [
            (f" {where}", "good" if self._end is None else "accent"),
            (f" · {fmt.count(log.lines)} lines, {fmt.size(log.size)} · {kept}", "muted"),
        ]
        if self.search:
            spans += [(" · searching ", "muted"), (clean(self.search), "match")]
        return tuple(spans)

    # --- moving

    def up(self, count: int) -> None:
        """Never above the first page."""
        if len(self._lines) < self.size.height:
            return
        end = self._lines[-min(count, len(self._lines))].offset
        if end > 0:
            self._end = end
            if len(self._page(self.size.height)) < self.size.height:
                self.first()

    def down(self, count: int) -> None:
        if self._end is not None:
            below = self._after(self._end, count + 1)
            self._end = below[count].offset if len(below) > count else None

    def first(self) -> None:
        page = self._after(0, self.size.height + 1)
        self._end = page[-1].offset if len(page) > self.size.height else None

    def newest(self) -> None:
        self._end = None
        self._match = None

    def toggle_all(self) -> None:
        self._all, self._errors = not self._all, False

    def toggle_errors(self) -> None:
        self._errors, self._end = not self._errors, None

    def _after(self, start: int, count: int) -> list[LogLine]:
        if self._errors:
            whole = _problems(self._view.state.log.problems, self._newest)
            return [line for line in whole if line.offset >= start][:count]
        return self._log.after(start, self._newest, count, show_all=self._all) if self._log else []

    def find(self, forward: bool) -> bool:
        """Go to the next line that holds `search`; False when there is none that way."""
        if self._log is None or not self.search:
            return False
        self._errors = False
        start = self._match if self._match is not None else self._end
        if start is None:
            start = self._newest
        found = self._log.find(self.search, start, self._newest, forward=forward, show_all=self._all)
        if found is None:
            return False
        self._match = found.offset
        if not any(line.offset == found.offset for line in self._lines):
            below = self._after(found.offset, self.size.height // 2 + 1)
            self._end = below[-1].offset if len(below) > self.size.height // 2 else None
        return True


def _problems(problems: tuple[Problem, ...], end: int) -> Iterator[LogLine]:
    """What the State holds of errors and warnings: nothing has to be searched."""
    for one in sorted(problems, key=lambda p: p.offset):
        if one.offset < end:
            process = one.processes[0] if one.processes else ""
            yield LogLine(one.offset, "", clean(process), one.severity, clean(one.line), count=one.count)
