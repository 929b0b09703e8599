"""Progress of a job made of stages: one line redrawn on a terminal, else a line every few seconds."""

import contextlib
import shutil
import sys
import threading
import time
from collections.abc import Callable, Iterator

from launch.figures import duration
from launch.output import StatusLine, say

LINE_S = 5.0  # between two lines where there is no terminal


class Stages:
    """`with stages.stage("making the models"): …`; what goes on inside is asked of `look`, or told by `detail`."""

    def __init__(self) -> None:
        self._live = sys.stderr.isatty()
        self._detail = ""
        self.took: dict[str, float] = {}  # seconds of each stage that ended well

    @contextlib.contextmanager
    def stage(self, what: str, look: Callable[[], str] | None = None) -> Iterator[None]:
        self._detail = ""
        began = time.monotonic()
        ended = threading.Event()
        painter: Callable[..., None] = self._paint if self._live else self._tell
        drawing = threading.Thread(target=painter, args=(what, began, ended, look), daemon=True)
        if not self._live:
            say(f"{what} …")
        drawing.start()
        try:
            yield
        finally:
            ended.set()
            drawing.join()
        self.took[what] = time.monotonic() - began
        say(f"{what}: {self.took[what]:.1f} s")

    def detail(self, text: str) -> None:
        self._detail = " ".join(text.split())

    def _paint(self, what: str, began: float, ended: threading.Event, look: Callable[[], str] | None) -> None:
        status = StatusLine()
        with contextlib.suppress(OSError):  # the terminal was closed
            while not ended.wait(0.25):
                now = self._detail if look is None else look()
                text = f"{what} … {duration(time.monotonic() - began)}  {now}"
                status.draw(text[: shutil.get_terminal_size().columns - 1])
            status.done()

    def _tell(self, what: str, began: float, ended: threading.Event, look: Callable[[], str] | None) -> None:
        """What is told by `detail` changes too often for lines."""
        said = ""
        with contextlib.suppress(OSError):
            while look is not None and not ended.wait(LINE_S):
                if (now := look()) and now != said:
                    say(f"{what} … {duration(time.monotonic() - began)}  {now}")
                    said = now
