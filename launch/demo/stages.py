"""Progress of a job made of stages: one line rewritten on a terminal, else a line a stage with its time."""

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from launch.output import rewrite, say


class Stages:
    """`with stages.stage("making the models"): …`; `detail` says what goes on inside the running one."""

    def __init__(self) -> None:
        self._live = sys.stderr.isatty()
        self._what = ""
        self._detail = ""
        self._began = 0.0
        self.took: dict[str, float] = {}

    @contextmanager
    def stage(self, what: str) -> Iterator[None]:
        self._what, self._detail, self._began = what, "", time.monotonic()
        ended = threading.Event()
        painter = threading.Thread(target=self._paint, args=(ended,), daemon=True)
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
        self.took[what] = time.monotonic() - self._began
        say(f"{what}: {self.took[what]:.1f} s")

    def detail(self, text: str) -> None:
        self._detail = text

    def _paint(self, ended: threading.Event) -> None:
        while not ended.wait(0.25):
            seconds = int(time.monotonic() - self._began)
            rewrite(f"{self._what} … {seconds // 60}:{seconds % 60:02d}  {self._detail}")
        rewrite("")
