"""Runs: those on this machine; Enter watches another one."""

import time

from collectors.record.folder import RunFolder, RunInfo
from tui import format as fmt
from tui.rows import Row, clean, left, right
from tui.screens.run_screen import RunScreen, bindings

Found = tuple[RunFolder, RunInfo]


class RunsScreen(RunScreen):
    NAME = "runs"
    BINDINGS = bindings("runs")

    def __init__(self) -> None:
        super().__init__()
        self._found: list[Found] = []
        self._at = 0

    def on_screen_resume(self) -> None:
        from collectors.record import runs

        self._found = runs.scan(self.monitor.folder.root).runs
        here = [n for n, (folder, _) in enumerate(self._found) if folder.id == self.monitor.folder.id]
        self._at = here[0] if here else 0
        super().on_screen_resume()

    def body(self, width: int, height: int) -> list[Row]:
        rows: list[Row] = [
            ((" run" + " " * 23 + "name" + " " * 14 + "host" + " " * 10 + "state     age", "muted"),)
        ]
        top = max(0, min(self._at - height // 2, len(self._found) - (height - 1)))
        for n, one in list(enumerate(self._found))[top : top + height - 1]:
            rows.append(self._row(*one, chosen=n == self._at))
        if not self._found:
            rows.append(((" no runs", "muted"),))
        return rows

    def _row(self, folder: RunFolder, info: RunInfo, *, chosen: bool) -> Row:
        lives = folder.recorder_lives() or folder.keeper_lives()
        here = folder.id == self.monitor.folder.id
        return (
            (" ▸ " if chosen else "   ", "key"),
            (left(clean(folder.id), 25) + " ", "strong" if here else "plain"),
            (left(clean(info.facts.name), 17) + " ", "plain"),
            (left(clean(info.host), 13) + " ", "muted"),
            (left("live" if lives else "over", 6), "good" if lives else "muted"),
            (right(fmt.ago(time.time() - info.created), 7), "muted"),
        )

    def action_line_up(self) -> None:
        self._at = max(0, self._at - 1)
        self.show()

    def action_line_down(self) -> None:
        self._at = min(max(0, len(self._found) - 1), self._at + 1)
        self.show()

    def action_open_run(self) -> None:
        if self._found:
            self.monitor.watch_run(self._found[self._at][0])
