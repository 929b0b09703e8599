"""The app: one pump, one View; the screens draw it.

It reads a run's folder and writes nothing but requests into its inbox, so it may come, go and be killed at any time.
"""

import asyncio
import locale
import os
import sys
import time
from collections.abc import Awaitable, Callable, Iterable
from typing import Any, ClassVar

from textual.app import App, SystemCommand
from textual.binding import BindingType
from textual.dom import DOMNode
from textual.screen import Screen

from collectors.errors import SpecwatchError
from collectors.reading.report import phase
from collectors.record.folder import RunFolder
from launch import output
from tui import acts, keys, theme, versus
from tui.logfile import LogFile
from tui.loglook import look
from tui.page import Page
from tui.pump import Live, Pump, Replay
from tui.screens.failed import FailedScreen
from tui.screens.help import HelpScreen
from tui.screens.log import LogScreen
from tui.screens.run_screen import RunScreen, bindings
from tui.screens.runs import RunsScreen
from tui.screens.speculation import SpeculationScreen
from tui.screens.startup import StartupScreen
from tui.screens.stop import StopScreen
from tui.view import View
from tui.views import Views

POLL_S = 0.2  # one stat of the record: what is new is on the screen within this and the beat below
BEAT_S = 1.0  # the screen's own pace; a phase that changes is shown at once
SLICE_S = 0.05  # of reading at a stretch: keys are answered in between


class Monitor(App[None]):
    TITLE = "specwatch"
    CSS_PATH = "page.tcss"
    MODES: ClassVar[dict[str, str | Callable[[], Screen[Any]]]] = {
        "startup": StartupScreen,
        "speculation": SpeculationScreen,
        "failed": FailedScreen,
        "log": LogScreen,
        "runs": RunsScreen,
    }
    DEFAULT_MODE = "startup"
    BINDINGS: ClassVar[list[BindingType]] = bindings("")
    ENABLE_COMMAND_PALETTE = True

    def __init__(self, folder: RunFolder, pump: Pump, *, name: str = "", utc_offset: float = 0.0) -> None:
        no_color = "NO_COLOR" in os.environ  # Textual takes it out of the environment
        super().__init__(ansi_color=True if no_color else None)
        for one in theme.THEMES:
            self.register_theme(one)
        self.theme = theme.chosen(no_color).name
        self.animation_level = "none"
        self.ascii_only = not speaks_utf8()
        self.utc_offset = utc_offset
        self._watch(folder, pump, name or folder.id)
        self.trouble: SpecwatchError | None = None

    def _watch(self, folder: RunFolder, pump: Pump, name: str) -> None:
        self.folder, self.pump = folder, pump
        self.log_file = LogFile(folder.server_log, lambda raw, offset: look(raw, offset, pump.state.log))
        self.views = Views(
            pump, self.log_file, name=name, utc_offset=self.utc_offset, ascii_only=self.ascii_only
        )
        self.view = View(name=name)
        self.user_chose = False
        self.frozen = False
        self._drawn = 0.0
        self._compared = 0

    def watch_run(self, folder: RunFolder) -> None:
        """Another run, from the Runs screen."""
        try:
            name = folder.info().facts.name or folder.id
        except SpecwatchError as error:
            self.say(error.message)
            return
        self.log_file.close()
        self._watch(folder, Live(folder), name)
        self.switch_mode("startup")
        self._read(0.15)

    # --- the pump

    def on_mount(self) -> None:
        self.app_resume_signal.subscribe(self, self._resumed)
        self._read(0.15)
        self.run_worker(self._pump(), name="pump")

    def _resumed(self, _app: App[None]) -> None:
        """Back from Ctrl-Z: the terminal holds nothing of us, and pages send only what changed."""
        self.screen.refresh(layout=True)
        for page in self.screen.query(Page):
            page.refresh()

    async def _pump(self) -> None:
        while True:
            await asyncio.sleep(0 if self.pump.behind else POLL_S)
            self._read(SLICE_S)

    def _read(self, max_s: float) -> None:
        """Reads what is new; draws when it is time, or at once when the phase changed."""
        try:
            self.pump.read(max_s)
        except SpecwatchError as error:
            self.trouble = error
            self.exit()
            return
        turned = phase(self.pump.state) != self.view.phase
        now = time.monotonic()
        if turned or now - self._drawn >= BEAT_S - 0.01:
            self._drawn = now
            self.draw()
            self._compare()

    def _compare(self) -> None:
        """After each benchmark: what it gained over a run without speculation, in a thread."""
        ended = sum(bench.end_t is not None for bench in self.view.state.serving.benchmarks)
        if ended == self._compared or self.pump.behind:
            return
        self._compared = ended

        async def work() -> None:
            views = self.views  # of this run, should the user turn to another one meanwhile
            views.versus = await asyncio.to_thread(versus.read, self.folder)

        self.run_worker(work(), name="compare", group="compare")

    def draw(self) -> None:
        """The newest View to the screen in front, unless it is frozen."""
        if not self.frozen:
            self.view = self.views.take(self.size.height)
            self._turn_page()
        if isinstance(self.screen, RunScreen):
            self.screen.show()

    def _turn_page(self) -> None:
        """Speculation by itself when ready, the Failed page when so; never away from what the user chose."""
        if self.pump.behind or self.user_chose:
            return
        wanted = page_of(self.view)
        if self.current_mode in ("startup", "speculation", "failed") and wanted != self.current_mode:
            self.switch_mode(wanted)

    # --- what the keys do

    def action_leave(self) -> None:
        self.exit()

    def action_show_start(self) -> None:
        """Start-up; after a failure its page first, and the load that led there with the key once more."""
        failed = self.view.phase == "failed" and self.current_mode != "failed"
        self.action_show_mode("failed" if failed else "startup")

    def action_show_mode(self, mode: str) -> None:
        self.user_chose = True
        if mode != self.current_mode:
            self.switch_mode(mode)

    def action_freeze(self) -> None:
        self.frozen = not self.frozen
        self.view = self.views.take(self.size.height, frozen=self.frozen)
        self.draw()

    def action_theme(self) -> None:
        if self.theme != theme.PLAIN.name:
            self.theme = theme.LIGHT.name if self.theme == theme.DARK.name else theme.DARK.name

    def action_help(self) -> None:
        self.push_screen(HelpScreen(self.current_mode))

    def action_search(self) -> None:
        self.action_show_mode("log")
        self.call_after_refresh(self._ask)

    def _ask(self) -> None:
        if isinstance(self.screen, LogScreen):
            self.screen.ask()

    def action_mark(self) -> None:
        self._act(acts.mark, len(self.view.state.serving.marks) + 1)

    def action_bench(self) -> None:
        if self.view.phase not in ("ready", "serving") and self.pump.pace is None:
            self.say("There is nothing to measure: the server is not ready.")
            return
        self._act(acts.bench)

    def action_stop(self) -> None:
        if self.pump.pace is not None or self.view.ended:
            self.say(
                "There is nothing to stop: "
                + ("this is a replay." if self.pump.pace else "the server is gone.")
            )
            return
        self.push_screen(StopScreen(self.view.name), lambda sure: self._act(acts.stop) if sure else None)

    def _act(self, act: acts.Act, *args: object) -> None:
        """Runs an act in a thread; what it returns, or why it could not, is said on the screen."""
        if self.pump.pace is not None:
            self.say("This is a replay: nothing can be asked of it.")
            return

        async def work() -> None:
            try:
                self.say(await asyncio.to_thread(act, self.folder, *args))
            except SpecwatchError as error:
                self.say(f"{error.message}{': ' if error.hint else ''}{error.hint}")

        self.run_worker(work(), name=act.__name__)

    def say(self, text: str) -> None:
        """One line under the header for a few seconds."""
        self.views.say(text)
        self.draw()

    def get_system_commands(self, screen: Screen[object]) -> Iterable[SystemCommand]:
        for key in keys.KEYS:
            if key.palette and self.current_mode in key.screens:
                target = self if key.screens == keys.EVERYWHERE else screen
                yield SystemCommand(key.help, f"key {key.shown}", _caller(self, key.action, target))


def _caller(app: App[None], action: str, target: DOMNode) -> Callable[[], Awaitable[None]]:
    async def call() -> None:
        await app.run_action(action, target)

    return call


def page_of(view: View) -> str:
    """The page that a run's phase asks for."""
    if view.phase == "failed":
        return "failed"
    served = view.state.log.ready_t is not None or view.state.serving.page_t is not None
    return "speculation" if view.phase in ("ready", "serving") or (served and view.ended) else "startup"


def speaks_utf8() -> bool:
    """Whether the terminal shows braille and box drawing: a UTF-8 locale, and not the Linux console's font."""
    encoding = locale.getpreferredencoding(False).replace("-", "").lower()
    return encoding == "utf8" and os.environ.get("TERM") != "linux"


def run_app(
    folder: RunFolder,
    *,
    pace: float | None = None,
    at: float = 0.0,
    leave: str = "",
    standing: Callable[[], str] = str,
) -> int:
    """Show the run until the user leaves; then say how to come back (not where `leave` names what q does instead).

    `pace`: replay its record instead. `standing`: what is said on the screen while nothing else is.

    Raises SpecwatchError: no terminal, a folder that cannot be read, or one that vanished meanwhile.
    """
    info = folder.info()
    if why := output.no_screen(sys.stdin, sys.stdout):
        raise SpecwatchError(why, f"`specwatch status {folder.id}` and `specwatch logs` need none")
    pump: Pump = Live(folder) if pace is None else Replay(folder, pace, at)
    app = Monitor(folder, pump, name=info.facts.name or folder.id, utc_offset=time.localtime().tm_gmtoff)
    app.views.leave, app.views.standing = leave, standing
    app.run(mouse=False)
    if app.trouble is not None:
        raise app.trouble
    if pace is None and not leave:
        output.say(farewell(app.view, folder.id))
    return 0


def farewell(view: View, run_id: str) -> str:
    if view.ended:
        return f"{view.name} is over; `specwatch replay {run_id}` shows it again"
    return f"{view.name} goes on; `specwatch attach {run_id}` brings the screen back"
