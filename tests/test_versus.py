"""A run's benchmarks beside those of its baseline, as the screen shows them."""

from pathlib import Path

import pytest

from collectors.reading.state import State
from collectors.record.folder import RunFolder
from collectors.record.follow import Follower
from collectors.record.importer import import_recording
from launch.compare.baseline import against_baseline
from tests.run_folders import RECORDINGS
from tui import versus
from tui.panels.acceptance import windows
from tui.panels.verdict import verdict
from tui.rows import text_of
from tui.view import View


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, RunFolder]:
    home = tmp_path_factory.mktemp("state") / "runs"
    return {
        name: import_recording(RECORDINGS / name, home, name)
        for name in ("h200-base", "h200-good", "h200-bad")
    }


def read(folder: RunFolder) -> State:
    follower = Follower(folder)
    while follower.advance():
        pass
    return follower.state


def shown(folder: RunFolder) -> tuple[list[str], str]:
    view = View(state=read(folder), phase="serving", versus=versus.read(folder))
    table = [text_of(row) for row in windows(view, 6)]
    return table, " ".join(" ".join(text_of(row) for row in verdict(view, 100, 4)).split())


def test_the_good_drafter_pays(runs: dict[str, RunFolder]) -> None:
    table, said = shown(runs["h200-good"])
    assert [row.split()[-1] for row in table] == ["×base", "2.24×", "2.09×"]
    assert "Baseline: h200-base, the same but for one thing." in said


def test_the_bad_drafter_is_slower_and_sick(runs: dict[str, RunFolder]) -> None:
    table, said = shown(runs["h200-bad"])
    assert [row.split()[-1] for row in table] == ["×base", "0.87×", "0.86×"]
    assert said.startswith("✗ Slower than no speculation: 0.86× at concurrency 8. Position 0 is accepted")


def test_a_run_without_speculation_has_no_baseline(runs: dict[str, RunFolder]) -> None:
    assert against_baseline(runs["h200-base"]) is None


def test_alone_there_is_nothing_to_compare_with(tmp_path: Path) -> None:
    alone = import_recording(RECORDINGS / "h200-good", tmp_path / "runs", "h200-good")
    assert against_baseline(alone) is None
    table, said = shown(alone)
    assert table[0].split()[-1] == "len"
    assert "Only a baseline shows what it buys" in said
