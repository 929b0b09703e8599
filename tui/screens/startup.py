"""Start-up: the load as it happens."""

from tui.panels.activity import activity, advice
from tui.panels.bars import bars
from tui.panels.gpus import gpus
from tui.panels.logtail import logtail
from tui.panels.patches import doctored, patches
from tui.panels.phases import phases
from tui.rows import Row
from tui.screens.run_screen import RunScreen, bindings
from tui.stack import Block, pile
from tui.view import View


def startup(view: View, width: int, height: int) -> list[Row]:
    """The whole body; what matters less gives way on a small screen."""
    roomy = height >= 30
    blocks = [
        Block(0, bars(view, width, 6 if roomy else 3)),
        Block(1, patches(view, width, 5 if roomy else 3)),
        Block(2, phases(view, width, 6 if roomy else 3)),
        Block(3, gpus(view, width, 17 if roomy else 9)),
        Block(5, activity(view, width)),
        Block(4, doctored(view, width, 3 if roomy else 1)),
        Block(6, advice(view, width, 3 if roomy else 1)),
    ]
    return pile(blocks, height, lambda room: logtail(view, width, room))


class StartupScreen(RunScreen):
    NAME = "startup"
    BINDINGS = bindings("startup")

    def body(self, width: int, height: int) -> list[Row]:
        return startup(self.view, width, height)
