"""`specwatch wait`: what replaces `sleep 1800 && grep "Application startup" log`."""

import shutil
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from collectors.errors import ExitCode, SpecwatchError
from collectors.reading.state import State
from collectors.record import runs
from collectors.record.folder import RunFolder
from collectors.record.follow import STALE_S, Follower
from launch import figures, output, summary
from launch.options import json_option, run_argument, state_of
from launch.summary import Status

POLL_S = 0.1  # the record is at most 100 ms behind the log; together well within the second that is promised
LOOK_S = 1.0  # how often the bar is drawn and liveness asked for
LINE_S = 60.0  # one line a minute where there is no terminal
GONE_S = 10.0  # the keeper brings a killed recorder back within a few seconds


@click.command("wait")
@run_argument
@click.option(
    "--timeout", type=click.FloatRange(min=0), metavar="S", help="Give up after S seconds (exit code 3)."
)
@click.option("--stall-exit", is_flag=True, help="Give up when nothing moves any more (exit code 5).")
@click.option(
    "--run-appears", type=click.FloatRange(min=0), metavar="S", help="Let RUN appear within S seconds."
)
@json_option
@click.pass_obj
def command(
    options: dict[str, Any],
    run: str | None,
    timeout: float | None,
    stall_exit: bool,
    run_appears: float | None,
    as_json: bool,
) -> int:
    """Block until the server is ready (exit code 0), or say why it died (exit code 1).

    RUN is an id, the beginning of one, a name, or nothing: the newest run on this host. There is no time-out
    unless --timeout gives one. Progress goes to stderr: a bar on a terminal, else a line a minute and at each
    change of phase.
    """
    began = time.monotonic()
    deadline = None if timeout is None else began + timeout
    folder = _appeared(state_of(options), run, began + (run_appears or 0.0))
    watched = Follower(folder)
    try:
        code = _until(watched, deadline, stall_exit, _Progress())
    finally:
        _line.done()
    now = summary.status(watched)
    _tell(code, watched, now, timeout)
    if as_json:
        output.json(now)
    elif code == ExitCode.OK:
        output.data(_ready(watched, now))
    return int(code)


_line = output.StatusLine()


def _appeared(state: Path, spec: str | None, deadline: float) -> RunFolder:
    while True:
        try:
            return runs.find(state, spec)
        except SpecwatchError as missing:
            if missing.code != ExitCode.NO_SUCH_RUN or time.monotonic() >= deadline:
                raise
        time.sleep(POLL_S)


def _until(
    run: Follower, deadline: float | None, stall_exit: bool, show: Callable[[State, Status], None]
) -> ExitCode:
    """Follows the record until there is an answer."""
    look, watched = 0.0, time.monotonic()
    while True:
        moved = run.advance(max_s=LOOK_S)
        now = time.monotonic()
        if moved or now >= look:
            if not run.behind and (answer := _answer(run)) is not None:
                return answer
            if now >= look:
                look = now + LOOK_S
                reading = summary.status(run)
                show(run.state, reading)
                if stall_exit and reading.stalled is not None:
                    return ExitCode.STALLED
                if run.ended or _recorded(run):
                    watched = now
                elif now - watched > GONE_S:
                    return ExitCode.RECORDER_GONE
        if deadline is not None and now >= deadline:
            return ExitCode.TIMED_OUT
        if not run.behind:
            time.sleep(POLL_S)


def _answer(run: Follower) -> ExitCode | None:
    where = summary.phase(run.state)
    if where in ("ready", "serving") and not run.ended:
        # An old record that says "ready" proves nothing once nobody watches the server.
        return ExitCode.OK if _recorded(run) else None
    return ExitCode.SERVER_FAILED if where in ("failed", "stopped") or run.ended else None


def _recorded(run: Follower) -> bool:
    """A recorder holds the run and writes: a stopped one (SIGSTOP, a frozen container) keeps its lock."""
    age = run.age()
    return run.folder.recorder_lives() and (age is None or age < STALE_S)


class _Progress:
    """A line drawn over and over on a terminal; else one a minute and one at each change of phase."""

    def __init__(self) -> None:
        self._terminal = sys.stderr.isatty()
        self._phase = ""
        self._next = 0.0

    def __call__(self, state: State, now: Status) -> None:
        text = "  ".join(filter(None, (now.phase, summary.progress(now), summary.coming(state))))
        if self._terminal:
            _line.draw(_bar(now, text))
        elif now.phase != self._phase or time.monotonic() >= self._next:
            output.say(f"{time.strftime('%H:%M:%S')}  {text}")
            self._next = time.monotonic() + LINE_S
        self._phase = now.phase


def _bar(now: Status, text: str) -> str:
    """Never wider than the terminal: a wrapped line could not be drawn over."""
    width = shutil.get_terminal_size().columns - 1
    bar = now.progress
    room = width - len(text) - 2
    if bar is not None and bar.get("total") and room >= 10:
        room = min(room, 30)
        filled = round(min(1.0, bar["done"] / bar["total"]) * room)
        text = f"{'━' * filled}{'─' * (room - filled)}  {text}"
    return text[:width]


def _ready(run: Follower, now: Status) -> str:
    log, life = run.state.log, run.state.life
    after = log.ready_t if log.ready_t is not None else life.first_healthy_t
    proof = (
        ""
        if log.ready or life.owner == "same"
        else " (it answers /health, but is not proven to be this run's)"
    )
    return f"ready after {figures.duration(after)}: {now.run['name'] or now.run['id']}{proof}"


def _tell(code: ExitCode, run: Follower, now: Status, timeout: float | None) -> None:
    """Why it is not ready, on stderr."""
    name = now.run["name"] or now.run["id"]
    if code == ExitCode.SERVER_FAILED:
        output.say(f"{name}: {summary.standing(run.state, now)}")
        for line in summary.cause(now):
            output.say(line)
    elif code == ExitCode.TIMED_OUT:
        hint = summary.progress(now) or "`specwatch wait` goes on waiting"
        output.error(f"{name} is still {now.phase} after waiting {figures.duration(timeout)}", hint)
    elif code == ExitCode.STALLED:
        evidence = "; ".join((now.stalled or {}).get("evidence", ()))
        output.error(f"{name} is stuck in {now.phase}: {evidence}", "`specwatch logs` shows its last lines")
    elif code == ExitCode.RECORDER_GONE:
        output.error(
            f"nothing records {name} any more, so nobody can say whether its server is ready",
            f"`specwatch attach --no-screen {now.run['id']}` starts a recorder again",
        )
