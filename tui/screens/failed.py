"""Failed: the page that names the cause."""

from tui.panels.failure import failure
from tui.panels.logtail import logtail
from tui.rows import Row
from tui.screens.run_screen import RunScreen, bindings
from tui.stack import Block, pile


class FailedScreen(RunScreen):
    NAME = "failed"
    BINDINGS = bindings("failed")

    def body(self, width: int, height: int) -> list[Row]:
        page = Block(0, failure(self.view, width, height))
        return pile([page], height, lambda room: logtail(self.view, width, room), rest_min=0)
