"""The screens as the H200 recordings give them, byte for byte; `make screenshots` draws them anew.

The README shows two of these. Compared on any Python and machine: fixed theme, size, clock and time zone.
"""

import os
import re
from pathlib import Path
from typing import NamedTuple

import pytest

from collectors.record.folder import RunFolder
from collectors.record.importer import import_recording
from tests.run_folders import RECORDINGS
from tui import versus
from tui.app import Monitor
from tui.pump import Replay

HERE = Path(__file__).parents[1] / "screenshots"
LARGE, SMALL = (120, 40), (80, 24)


class Shot(NamedTuple):
    name: str
    recording: str
    t: float  # of the run's clock
    size: tuple[int, int]
    theme: str = "specwatch-dark"

    @property
    def file(self) -> Path:
        return HERE / f"{self.name}-{self.size[0]}x{self.size[1]}.svg"


SHOTS = (
    Shot("startup", "h200-good", 107.0, SMALL),  # 40 % of the weights
    Shot("startup", "h200-good", 107.0, LARGE),
    Shot("speculation", "h200-good", 336.0, SMALL),  # during the benchmark at concurrency 8
    Shot("speculation", "h200-good", 336.0, LARGE),
    Shot("sick", "h200-bad", 196.0, SMALL),
    Shot("sick", "h200-bad", 196.0, LARGE),
    Shot("failed", "h200-gpu-held-by-orphan", 1e9, SMALL),
    Shot("failed", "h200-gpu-held-by-orphan", 1e9, LARGE),
    Shot("no-gpu", "cpu/22-big-throttled-100MBps", 20.0, SMALL),
    Shot("light", "h200-good", 336.0, LARGE, theme="specwatch-light"),
    Shot("no-colour", "h200-good", 336.0, SMALL, theme="specwatch-plain"),
)


class Instant(Replay):
    """A record up to `t`, then time stands still, as if one looked at the run right then."""

    def __init__(self, folder: RunFolder, t: float) -> None:
        super().__init__(folder, pace=1e9)
        self.hold(t)
        self._at = t
        while self.read(60.0):
            pass
        self.pace = None
        self._at = min(t, self.state.t) if self.state.life.exit else t

    def now(self) -> float:
        return min(self._stop, self._at)  # no clock of this machine

    def age(self) -> float | None:
        return None if self.state.life.exit is not None else 0.4


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("state") / "runs"


def folder_of(shot: Shot, runs: Path) -> RunFolder:
    name = shot.recording.rpartition("/")[2]
    folder = RunFolder(runs / name)
    return folder if folder.run_json.exists() else import_recording(RECORDINGS / shot.recording, runs, name)


@pytest.mark.parametrize("shot", SHOTS, ids=lambda s: s.file.stem)
async def test_screenshot(shot: Shot, runs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = shot.theme == "specwatch-plain"
    monkeypatch.setenv("NO_COLOR", "1") if plain else monkeypatch.delenv("NO_COLOR", raising=False)
    folder = folder_of(shot, runs)
    if shot.recording in ("h200-good", "h200-bad"):
        folder_of(shot._replace(recording="h200-base"), runs)  # what it is measured against
    app = Monitor(folder, Instant(folder, shot.t), name=shot.recording.rpartition("/")[2])
    async with app.run_test(size=shot.size) as pilot:
        if not plain:
            app.theme = shot.theme
        await pilot.pause()
        app.views.versus = versus.read(folder)  # in place of the app's own thread, whose time nobody knows
        app.draw()
        await pilot.pause()
        drawn = app.export_screenshot(title=f"specwatch · {shot.name}")
    # The template would fetch its fonts from a network; a monospace one of the reader's own will do.
    drawn = re.sub(r"\s*@font-face \{[^}]*\}", "", drawn)
    if os.environ.get("SPECWATCH_SCREENSHOTS") == "write":
        HERE.mkdir(exist_ok=True)
        shot.file.write_text(drawn, encoding="utf-8")
    assert shot.file.exists(), "`make screenshots` draws it"
    assert drawn == shot.file.read_text(encoding="utf-8"), "the screen changed: look, then `make screenshots`"
