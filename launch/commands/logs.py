"""`specwatch logs`: the server's log without the noise, for pipes."""

import os
import time
from collections import deque
from collections.abc import Iterator
from typing import Any

import click

from collectors.errors import SpecwatchError
from collectors.reading.events import UserNoise
from collectors.reading.log.lines import clean, lines
from collectors.reading.log.noise import muted_by
from collectors.reading.report import report
from collectors.record.folder import RunFolder
from collectors.record.follow import Follower
from collectors.redact import mask
from launch import config, output, summary
from launch.loglines import backwards, forwards
from launch.options import run_argument, run_of

POLL_S = 0.1
ERRORS_S = 0.5


@click.command("logs")
@run_argument
@click.option("-f", "--follow", is_flag=True, help="Go on until the server is gone.")
@click.option("--all", "show_all", is_flag=True, help="Hide nothing.")
@click.option("--errors", is_flag=True, help="Only what went wrong, echoes and repetitions folded into one.")
@click.option(
    "-n", "--lines", "count", type=click.IntRange(min=0), metavar="N", help="Only the newest N lines."
)
@click.pass_obj
def command(
    options: dict[str, Any], run: str | None, follow: bool, show_all: bool, errors: bool, count: int | None
) -> None:
    """The server's log without the noise; how many lines that hid is said on stderr.

    RUN is an id, the beginning of one, a name, or nothing: the newest run on this host. Terminal escapes are
    taken out, and of a progress bar's frames only the last is kept.
    """
    folder = run_of(options, run)
    if errors:
        _errors(folder, follow, count)
        return
    model = summary.read(folder).state.log.model
    users = () if show_all else config.load(options.get("config")).noise
    shown = _Shown(show_all, model, users)
    try:
        _lines(folder, shown, follow, count)
    finally:
        if shown.hidden:
            output.say(
                f"{shown.hidden:,} line{'s' * (shown.hidden > 1)} hidden as noise; "
                f"--all shows {'them' if shown.hidden > 1 else 'it'}"
            )


class _Shown:
    """Decides what of a physical line is shown, and counts what is not."""

    def __init__(self, show_all: bool, model: str | None, users: tuple[UserNoise, ...]) -> None:
        self._all = show_all
        self._model = model  # some noise is none for some models
        self._users = users
        self.hidden = 0

    def __call__(self, raw: bytes) -> str | None:
        frame = next((part for part in reversed(raw.split(b"\r")) if part.strip()), b"")
        found = list(lines(frame, 0, 0, 0.0))
        if self._all or not found:
            return mask(clean(frame.decode("utf-8", "replace")).rstrip())
        kept = [line.text for line in found if muted_by(line, self._model, self._users) is None]
        self.hidden += not kept
        return mask("\n".join(kept)) if kept else None


def _lines(folder: RunFolder, shown: _Shown, follow: bool, count: int | None) -> None:
    try:
        fd = os.open(folder.server_log, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError as error:
        raise SpecwatchError(
            f"run {folder.id} has no log (yet)", f"`specwatch status {folder.id}`"
        ) from error
    except OSError as error:
        raise SpecwatchError(
            f"{folder.server_log} cannot be read: {error.strerror}", "whose run is it?"
        ) from error
    at = 0
    if count is not None:
        at = _whole(fd) if follow else os.fstat(fd).st_size
        for text in _newest(fd, at, shown, count):
            output.data(text)
    run = Follower(folder)
    while True:
        run.advance()
        ended = run.ended or not follow
        for after, raw in forwards(fd, at, partial=ended):
            at = after
            if (line := shown(raw)) is not None:
                output.data(line)
        if ended:
            return
        time.sleep(POLL_S)


def _newest(fd: int, end: int, shown: _Shown, count: int) -> Iterator[str]:
    """The newest `count` shown lines before `end`, oldest first."""
    found: deque[str] = deque()
    before = backwards(fd, end)
    while len(found) < count and (raw := next(before, None)) is not None:
        if (text := shown(raw)) is not None:
            found.appendleft(text)
    return iter(found)


def _whole(fd: int) -> int:
    """The end of the last whole line: what is being written now comes when it is complete."""
    end = os.fstat(fd).st_size
    newest = next(backwards(fd, end), b"")
    ends_whole = end == 0 or os.pread(fd, 1, end - 1) == b"\n"
    return end if ends_whole else end - len(newest)


def _errors(folder: RunFolder, follow: bool, count: int | None) -> None:
    """The problems of severity error that the reading found, as it finds them."""
    run = Follower(folder)
    told: set[int] = set()
    while True:
        run.advance()
        problems = report(run.state).problems
        found = [one for one in problems if one["severity"] == "error" and one["lineno"] not in told]
        for problem in found if count is None else found[max(0, len(found) - count) :]:
            times = f"  ×{problem['count']}" if problem["count"] > 1 else ""
            where = "" if problem["lineno"] is None else f"line {problem['lineno']:,}: "
            output.data(f"{where}{problem['line']}{times}")
        told.update(one["lineno"] for one in found)
        count = None
        if run.ended or not follow:
            return
        time.sleep(ERRORS_S)
