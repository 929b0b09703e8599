"""What all screens share: the header, a body, the footer, and the search for the app's newest View."""

from typing import TYPE_CHECKING, ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.screen import Screen

from tui import keys
from tui.page import Page
from tui.panels.banner import banner
from tui.panels.header import footer, header
from tui.rows import Row
from tui.view import View

if TYPE_CHECKING:
    from tui.app import Monitor


class RunScreen(Screen[None]):
    """Subclasses say which `NAME` of the key table they are, and draw their body."""

    NAME: ClassVar[str] = ""
    CSS_PATH = "run_screen.tcss"
    AUTO_FOCUS = ""  # None would be the app's: the first widget, a hidden search field that eats keys
    VERTICAL_BREAKPOINTS = [(0, "-tiny"), (8, "-full")]  # noqa: RUF012  (Textual's own declaration)

    def compose(self) -> ComposeResult:
        yield Page(lambda width, _: [header(self.view, width)], id="header")
        yield from self.compose_body()
        yield Page(lambda width, _: [footer(self.view, self.NAME, width)], id="footer")

    def compose_body(self) -> ComposeResult:
        yield Page(self._body, id="body")

    def _body(self, width: int, height: int) -> list[Row]:
        limit = 1 if height < 12 else 3
        above = banner(self.view, width, limit)
        return [*above, *self.body(width, max(0, height - len(above)))]

    def body(self, width: int, height: int) -> list[Row]:
        raise NotImplementedError

    @property
    def monitor(self) -> "Monitor":
        from tui.app import Monitor

        assert isinstance(self.app, Monitor)
        return self.app

    @property
    def view(self) -> View:
        return self.monitor.view

    def show(self) -> None:
        """The view changed: every page compares and repaints what differs."""
        for page in self.query(Page):
            page.show()

    def on_screen_resume(self) -> None:
        self.show()


def bindings(screen: str) -> list[BindingType]:
    """Textual's bindings of a screen's own keys; those that work everywhere are the app's."""
    rows = keys.of_screen(screen) if screen else keys.everywhere()
    own = [key for key in rows if not screen or key.screens != keys.EVERYWHERE]
    return [Binding(key.keys, key.action, key.label or key.help, show=False, priority=False) for key in own]
