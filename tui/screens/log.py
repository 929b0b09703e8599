"""The log without the noise: scroll, search, show all."""

from textual.app import ComposeResult
from textual.widgets import Input

from tui.logview import LogView
from tui.page import Page
from tui.panels.banner import banner
from tui.rows import Row, clean
from tui.screens.run_screen import RunScreen, bindings


class LogScreen(RunScreen):
    NAME = "log"
    CSS_PATH = "log.tcss"
    BINDINGS = bindings("log")

    def __init__(self) -> None:
        super().__init__()
        # Held, not asked for by name: a key or a beat may come before the screen is composed.
        self.log_view = LogView(id="log")
        self.search_field = Input(placeholder="search the log", id="search", compact=True)

    def compose_body(self) -> ComposeResult:
        yield Page(lambda width, _: [self._status(width)], id="status")
        yield self.log_view
        yield self.search_field

    def show(self) -> None:
        self.log_view.follow_to(self.view, self.monitor.log_file)
        super().show()

    def _status(self, width: int) -> Row:
        for message in banner(self.view, width, 1):
            return message
        return self.log_view.status(self.view)

    def ask(self) -> None:
        search = self.search_field
        search.display = True
        search.focus()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.input.display = False
        self.set_focus(None)
        self.log_view.search = event.value
        self.action_find_previous()

    def key_escape(self) -> None:
        search = self.search_field
        if search.display:
            search.display = False
            self.set_focus(None)
        else:
            self.log_view.search = ""
        self.show()

    def _move(self, how: str, *args: int) -> None:
        getattr(self.log_view, how)(*args)
        self.show()

    def action_line_up(self) -> None:
        self._move("up", 1)

    def action_line_down(self) -> None:
        self._move("down", 1)

    def action_page_up(self) -> None:
        self._move("up", max(1, self.log_view.size.height - 1))

    def action_page_down(self) -> None:
        self._move("down", max(1, self.log_view.size.height - 1))

    def action_first_line(self) -> None:
        self._move("first")

    def action_follow(self) -> None:
        self._move("newest")

    def action_show_all(self) -> None:
        self._move("toggle_all")

    def action_only_errors(self) -> None:
        self._move("toggle_errors")

    def action_find_next(self) -> None:
        self._find(True)

    def action_find_previous(self) -> None:
        self._find(False)

    def _find(self, forward: bool) -> None:
        if self.log_view.search and not self.log_view.find(forward):
            where = "below" if forward else "above"
            self.monitor.say(f"Nothing {where} holds “{clean(self.log_view.search)}”.")
        self.show()
