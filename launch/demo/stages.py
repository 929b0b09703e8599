"""Progress of a job made of stages: one line redrawn on a terminal, else a line a stage with its time."""

import shutil
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from launch.output import StatusLine, say


class Stages:
    """`with stages.stage("making the models"): …`; `detail` says what goes on inside the running one."""

    def __init__(self) -> None:
        self._live = sys.stderr.isatty()
        self._detail = ""
        self.took: dict[str, float] = {}  # seconds of each stage that ended well

    @contextmanager
    def stage(self, what: str) -> Iterator[None]:
        self._detail = ""
        began = time.monotonic()
        ended = threading.Event()
        painter = threading.Thread(target=self._paint, args=(what, began, ended), daemon=True)
        if self._live:
            painter.start()
        else:
            say(f"{what} …")
        try:
            yield
        finally:
            ended.set()
            if self._live:
                painter.join()
        self.took[what] = time.monotonic() - began
        say(f"{what}: {self.took[what]:.1f} s")

    def detail(self, text: str) -> None:
        self._detail = " ".join(text.split())

    def _paint(self, what: str, began: float, ended: threading.Event) -> None:
        status = StatusLine()
        while not ended.wait(0.25):
            seconds = int(time.monotonic() - began)
            text = f"{what} … {seconds // 60}:{seconds % 60:02d}  {self._detail}"
            status.draw(text[: shutil.get_terminal_size().columns - 1])
        status.done()
