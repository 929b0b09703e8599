"""The question before a stop."""

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.screen import ModalScreen

from tui.page import Page
from tui.rows import Row, clean, wrap


class StopScreen(ModalScreen[bool]):
    """True when the user wants it; every other key leaves the server alone."""

    CSS_PATH = "stop.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y", "dismiss(True)", show=False),
        Binding("n,escape,q,enter,s,ctrl+c", "dismiss(False)", show=False),
    ]

    def __init__(self, name: str) -> None:
        super().__init__()
        self._run_name = name

    def compose(self) -> ComposeResult:
        yield Page(self._draw_question, id="question")

    def on_mount(self) -> None:
        self.query_one(Page).show()

    def _draw_question(self, width: int, height: int) -> list[Row]:
        text = f"Stop the server of {clean(self._run_name)}? Its requests are ended, its GPU memory is given back."
        rows: list[Row] = [()] + [((f"  {line}", "strong"),) for line in wrap(text, width - 4, height - 4)]
        return [
            *rows,
            (),
            (("  y", "key"), (" stop it      ", "plain"), ("n", "key"), (" let it run", "plain")),
        ]
