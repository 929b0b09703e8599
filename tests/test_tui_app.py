"""The app under Textual's Pilot: every key, every state, sizes, trouble."""

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs
from textual.pilot import Pilot

from collectors.errors import SpecwatchError
from collectors.reading.events import Exit
from collectors.reading.log.state import LogState
from collectors.reading.state import State
from collectors.record.folder import RunFolder
from tests import tui_states
from tui import acts, keys
from tui import app as tui_app
from tui.app import Monitor
from tui.page import Page
from tui.screens.help import HelpScreen
from tui.screens.log import LogScreen
from tui.screens.stop import StopScreen


class Still:
    """A pump that a test holds in its hand."""

    pace: float | None = None
    behind = False

    def __init__(self, state: State, log_offset: int = 0) -> None:
        self.state = state
        self.log_offset = log_offset
        self.silent = 0.5
        self.lives = True
        self.error: SpecwatchError | None = None

    def read(self, max_s: float) -> bool:
        if self.error is not None:
            raise self.error
        return False

    def now(self) -> float:
        return self.state.t

    def age(self) -> float | None:
        return None if self.state.life.exit else self.silent

    def recorder_lives(self) -> bool:
        return self.lives


def ready(state: State) -> State:
    log = structs.replace(
        state.log, phase="ready", ready=True, ready_t=900.0, ready_line="Application startup complete."
    )
    return structs.replace(state, t=901.0, log=log)


@asynccontextmanager
async def running(
    state: State, folder: Path, size: tuple[int, int] = (80, 24)
) -> AsyncIterator[tuple[Monitor, Still, Pilot[None]]]:
    pump = Still(state)
    app = Monitor(RunFolder(folder), pump, name=state.run.name or "run")
    async with app.run_test(size=size) as pilot:
        await pilot.pause()
        yield app, pump, pilot


async def step(app: Monitor, pilot: Pilot[Any]) -> None:
    """What the next second brings."""
    app._drawn = 0.0
    app._read(0.1)
    await pilot.pause()


async def acted(app: Monitor, pilot: Pilot[Any]) -> None:
    """The acts that keys began are done; an empty list would mean all workers, and the pump never ends."""
    if acts_running := [worker for worker in app.workers if worker.name != "pump"]:
        await app.workers.wait_for_complete(acts_running)
    await pilot.pause()


def screen_of(app: Monitor) -> list[str]:
    """The rows as the terminal has them."""
    height = app.size.height
    return ["".join(segment.text for segment in strip) for strip in app.screen._compositor.render_strips()][
        :height
    ]


async def test_start_up_opens_first_and_speculation_by_itself_when_ready(tmp_path: Path) -> None:
    async with running(tui_states.loading(), tmp_path) as (app, pump, pilot):
        assert app.current_mode == "startup"
        assert "31/64" in screen_of(app)[1]
        assert "◂ behind" in "\n".join(screen_of(app))
        pump.state = ready(pump.state)
        await step(app, pilot)
        assert app.current_mode == "speculation"


async def test_a_screen_that_the_user_chose_stays(tmp_path: Path) -> None:
    async with running(tui_states.loading(), tmp_path) as (app, pump, pilot):
        await pilot.press("3")
        pump.state = ready(pump.state)
        await step(app, pilot)
        assert app.current_mode == "log"


async def test_a_failure_opens_the_page_of_its_cause_and_1_shows_how_far_it_came(tmp_path: Path) -> None:
    async with running(tui_states.loading(), tmp_path) as (app, pump, pilot):
        pump.state = tui_states.failed()
        await step(app, pilot)
        assert app.current_mode == "failed"
        text = "\n".join(screen_of(app))
        assert "KV cache is too small" in text
        assert "try  set --max-model-len 121840" in text
        assert "exit code 1 after 13:03" in text
        await pilot.press("1")
        assert app.current_mode == "startup"
        await pilot.press("1")
        assert app.current_mode == "failed"


async def test_every_key_of_every_screen_does_something_and_breaks_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    for act in ("mark", "bench", "stop"):

        def told(folder: RunFolder, *_: object, act: str = act) -> str:
            asked.append(act)
            return f"{act} done"

        told.__name__ = act
        monkeypatch.setattr(acts, act, told)
    for state in (tui_states.loading(), ready(tui_states.loading()), tui_states.failed()):
        async with running(state, tmp_path) as (app, _, pilot):
            for mode in keys.SCREEN_NAMES:
                for key in keys.of_screen(mode):
                    if key.action in ("leave", "suspend_process"):
                        continue
                    app.action_show_mode(mode)
                    for name in key.keys.split(","):
                        await pilot.press(name)
                        await pilot.press("escape")
                    await pilot.pause()
                    assert app.is_running, key
    assert {"mark", "bench"} <= set(asked)


async def test_q_leaves_and_says_how_to_come_back(tmp_path: Path) -> None:
    async with running(tui_states.loading(), tmp_path) as (app, _, pilot):
        await pilot.press("q")
        await pilot.pause()
        assert not app.is_running
    assert (
        tui_app.farewell(app.view, "ID7")
        == "kimi-eagle3 goes on; `specwatch attach ID7` brings the screen back"
    )


async def test_stop_asks_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[RunFolder] = []

    def stop(folder: RunFolder) -> str:
        asked.append(folder)
        return "stopped: nothing is left"

    monkeypatch.setattr(acts, "stop", stop)
    async with running(tui_states.loading(), tmp_path) as (app, _, pilot):
        for no in ("n", "escape", "enter", "q"):
            await pilot.press("s")
            assert isinstance(app.screen, StopScreen)
            await pilot.press(no)
            await pilot.pause()
            assert not isinstance(app.screen, StopScreen)
        assert app.is_running
        assert not asked
        await pilot.press("s", "y")
        await acted(app, pilot)
        assert [folder.path for folder in asked] == [tmp_path]
        assert "stopped: nothing is left" in "\n".join(screen_of(app))


async def test_a_dead_server_is_not_stopped_again(tmp_path: Path) -> None:
    async with running(tui_states.failed(), tmp_path) as (app, _, pilot):
        await pilot.press("s")
        await pilot.pause()
        assert not isinstance(app.screen, StopScreen)
        assert "nothing to stop" in "\n".join(screen_of(app))


async def test_freezing_holds_the_picture_while_the_pump_goes_on(tmp_path: Path) -> None:
    async with running(tui_states.loading(), tmp_path) as (app, pump, pilot):
        await pilot.press("space")
        assert "PAUSED" in screen_of(app)[0]
        before = screen_of(app)
        pump.state = structs.replace(tui_states.loading(), t=900.0)
        await step(app, pilot)
        assert screen_of(app) == before
        await pilot.press("space")
        await pilot.pause()
        assert "15:00" in screen_of(app)[0]
        assert "PAUSED" not in screen_of(app)[0]


async def test_an_old_record_and_a_gone_recorder_are_said(tmp_path: Path) -> None:
    async with running(tui_states.loading(), tmp_path) as (app, pump, pilot):
        pump.silent = 12.0
        await step(app, pilot)
        assert "STALE 12 s" in screen_of(app)[0]
        pump.lives = False
        await step(app, pilot)
        assert "RECORDER GONE 12 s" in screen_of(app)[0]
        pump.silent = 0.5
        await step(app, pilot)
        assert "STALE" not in screen_of(app)[0]


async def test_a_folder_that_vanishes_ends_the_screen_with_one_error(tmp_path: Path) -> None:
    async with running(tui_states.loading(), tmp_path) as (app, pump, pilot):
        pump.error = SpecwatchError("the run's folder is gone")
        await step(app, pilot)
        assert not app.is_running
    assert app.trouble is pump.error


@pytest.mark.parametrize("size", [(20, 5), (40, 10), (80, 24), (120, 40), (200, 50), (1, 1), (10, 3)])
@pytest.mark.parametrize("made", [tui_states.loading, tui_states.failed, State])
async def test_every_size_shows_the_phase_and_fits(tmp_path: Path, size: tuple[int, int], made: Any) -> None:
    async with running(made(), tmp_path, size) as (app, _, pilot):
        for mode in keys.SCREEN_NAMES:
            app.action_show_mode(mode)
            await pilot.pause()
            shown = screen_of(app)
            assert len(shown) == size[1]
            if size[0] >= 20:
                assert app.view.phase.upper() in shown[0]


async def test_small_and_back_is_the_same_picture(tmp_path: Path) -> None:
    async with running(tui_states.loading(), tmp_path) as (app, _, pilot):
        before = screen_of(app)
        await pilot.resize_terminal(20, 5)
        await pilot.pause()
        small = screen_of(app)
        assert "LOADING" in small[0]
        assert any("31/64" in row for row in small)
        await pilot.resize_terminal(80, 24)
        await pilot.pause()
        assert screen_of(app) == before


async def test_hostile_text_stays_text(tmp_path: Path) -> None:
    evil = "\x1b]0;owned\x07[bold red]x[/]\x1b[2J\u202e模型"
    state = tui_states.failed()
    cause = structs.replace(state.log.cause, line=evil, summary=evil, hint=evil, process=evil)  # type: ignore[type-var]
    problem = structs.replace(state.log.problems[0], line=evil, advice=evil, lineno=1)
    log = structs.replace(state.log, cause=cause, engine=evil, engine_version=evil, problems=(problem,))
    state = structs.replace(state, log=log, run=structs.replace(state.run, name=evil))
    async with running(state, tmp_path) as (app, _, pilot):
        for mode in keys.SCREEN_NAMES:
            app.action_show_mode(mode)
            await pilot.pause()
            text = "\n".join(screen_of(app))
            assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e]", text)
        app.action_show_mode("failed")
        await pilot.pause()
        assert "[bold red]x[/]" in "\n".join(screen_of(app))


async def test_the_log_scrolls_searches_and_follows(tmp_path: Path) -> None:
    lines = [f"INFO 12-01 07:{i // 60:02d}:{i % 60:02d} [a.py:1] line number {i}" for i in range(500)]
    lines[250] = "ERROR 12-01 07:04:10 [a.py:1] needle in the hay"
    data = ("\n".join(lines) + "\n").encode()
    (tmp_path / "server.log").write_bytes(data)
    state = State(log=LogState(size=len(data), lines=500, phase="loading"))
    async with running(state, tmp_path) as (app, pump, pilot):
        pump.log_offset = len(data)
        await step(app, pilot)
        await pilot.press("3")
        await pilot.pause()
        assert "line number 499" in screen_of(app)[-2]
        assert "following" in screen_of(app)[1]
        await pilot.press("up", "up")
        assert "line number 497" in screen_of(app)[-2]
        await pilot.press("pageup")
        assert "line number 477" in screen_of(app)[-2]
        await pilot.press("down")
        assert "line number 478" in screen_of(app)[-2]
        await pilot.press("home")
        assert "line number 0" in screen_of(app)[2]
        await pilot.press("pageup")
        assert "line number 0" in screen_of(app)[2]
        await pilot.press("end")
        assert "line number 499" in screen_of(app)[-2]
        await pilot.press("slash")
        await pilot.pause()
        await pilot.press(*"NEEDLE", "enter")
        await pilot.pause()
        assert any("needle in the hay" in row for row in screen_of(app))
        await pilot.press("n")
        await pilot.pause()
        assert "Nothing below" in "\n".join(screen_of(app))
        assert isinstance(app.screen, LogScreen)


async def test_help_lists_every_key_and_the_meaning_of_the_numbers(tmp_path: Path) -> None:
    async with running(tui_states.loading(), tmp_path, (120, 60)) as (app, _, pilot):
        await pilot.press("question_mark")
        assert isinstance(app.screen, HelpScreen)
        text = "\n".join(screen_of(app))
        assert all(key.shown in text for key in keys.of_screen("startup"))
        assert "1 + accepted / drafts" in text
        await pilot.press("escape")
        assert not isinstance(app.screen, HelpScreen)


async def test_the_palette_offers_the_commands(tmp_path: Path) -> None:
    async with running(tui_states.loading(), tmp_path) as (app, _, pilot):
        titles = [command.title for command in app.get_system_commands(app.screen)]
        assert "Speculation: what the drafter buys, live." in titles
        await pilot.press("ctrl+p")
        await pilot.pause()
        await pilot.press(*"newest", "escape")
        await pilot.pause()
        assert app.is_running


async def test_a_quiet_second_repaints_only_the_clock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with running(tui_states.loading(), tmp_path) as (app, pump, pilot):
        painted: list[int] = []
        refresh = Page.refresh

        def counted(self: Page, *regions: Any, **more: Any) -> Any:
            painted.extend(region.area for region in regions)
            return refresh(self, *regions, **more)

        monkeypatch.setattr(Page, "refresh", counted)
        pump.state = structs.replace(pump.state, t=pump.state.t + 1)
        await step(app, pilot)
        # The clock, the running phase, and eight growths that left their window: not the 1,920 cells of the screen.
        assert 0 < sum(painted) < 200


async def test_an_ended_run_says_so_on_leaving(tmp_path: Path) -> None:
    state = tui_states.failed()
    state = structs.replace(state, life=structs.replace(state.life, exit=Exit(t=783.0, signal=9)))
    async with running(state, tmp_path) as (app, _, _pilot):
        assert "killed by signal 9" in "\n".join(screen_of(app))
    assert "specwatch replay ID7" in tui_app.farewell(app.view, "ID7")


def test_without_a_terminal_there_is_one_clear_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from collectors.reading.events import RunFacts
    from collectors.record.folder import RunInfo

    info = RunInfo(
        facts=RunFacts(id="r1", name="r"), created=0, boottime0=0, boot_id="", pid_namespace="", host=""
    )
    folder = RunFolder.create(tmp_path, info)
    with pytest.raises(SpecwatchError, match="needs a terminal"):
        tui_app.run_app(folder)
