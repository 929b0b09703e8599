"""Speculation: what the drafter buys, live."""

from tui.panels.acceptance import acceptance
from tui.panels.logtail import logtail
from tui.panels.patches import doctored
from tui.panels.plots import plots
from tui.panels.server import progress, server
from tui.panels.verdict import verdict
from tui.rows import Row
from tui.screens.run_screen import RunScreen, bindings
from tui.stack import Block, pile
from tui.view import View


def speculation(view: View, width: int, height: int) -> list[Row]:
    """The whole body: figures first, plots over the height that is left, the newest log lines at the end."""
    head = [
        Block(0, acceptance(view, width, 10 if height >= 30 else 6)),
        Block(1, progress(view, width)),
        Block(2, server(view, width)),
    ]
    above = pile(head, height, airy=height >= 30)
    room = height - len(above)
    log = 3 if room >= 14 else 0
    if room >= 30:
        log = room // 4
    said = verdict(view, width, 2 if room >= 14 else 1)
    if room >= 14:
        said = [*said, *doctored(view, width)]
    drawn = plots(view, width, room - log - len(said))
    if not drawn:
        log = max(0, room - len(said))
    return [*above, *drawn, *said, *(logtail(view, width, log) if log else [])]


class SpeculationScreen(RunScreen):
    NAME = "speculation"
    BINDINGS = bindings("speculation")

    def body(self, width: int, height: int) -> list[Row]:
        return speculation(self.view, width, height)
