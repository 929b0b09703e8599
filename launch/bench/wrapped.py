"""Any benchmark command with marks around it, nothing added to its argv; the result file it leaves is read."""

import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import Callable, Sequence

from msgspec import structs

from collectors.errors import SpecwatchError
from collectors.redact import Redactor
from launch.bench.edges import Counters
from launch.bench.judge import notes
from launch.bench.marks import Marks
from launch.bench.ownresult import find
from launch.bench.result import Result

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def run(argv: Sequence[str], url: str, blank: Result, marks: Marks, tell: Callable[[float], None]) -> Result:
    """Its output goes to our stderr; Ctrl-C reaches it through the terminal, and we wait for its end."""
    return asyncio.run(_run(argv, url, blank, marks, tell))


async def _run(
    argv: Sequence[str], url: str, blank: Result, marks: Marks, tell: Callable[[float], None]
) -> Result:
    counters = Counters(url)
    shown = Redactor(argv, os.environ).argv(argv)  # a --api-key among the words stays off every record
    asked: list[signal.Signals] = []
    try:
        before = await counters.edge()
        await marks.begin(wrapped=list(shown))
        try:
            process = await asyncio.create_subprocess_exec(
                *argv, stdout=sys.stderr.fileno(), stderr=sys.stderr.fileno()
            )
        except OSError as error:
            marks.end(error=error.strerror)
            raise SpecwatchError(
                f"the command {argv[0]} cannot be started: {error.strerror}", "is it on PATH and executable?"
            ) from error
        loop = asyncio.get_running_loop()
        for number in SIGNALS:
            loop.add_signal_handler(number, _pass_on, number, process, asked)
        reading = asyncio.create_task(counters.keep_reading())
        telling = asyncio.create_task(_tell(marks, tell))
        code = await process.wait()
        for number in SIGNALS:
            loop.remove_signal_handler(number)
        for task in (reading, telling):
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task
        after = await counters.edge()
    finally:
        await counters.close()
    own = find(argv, blank.started)
    marks.end(exit_code=code, own=own)
    result = structs.replace(
        blank,
        command=shown,
        exit_code=code,
        own=own,
        counters=counters.figures(before, after),
        partial=bool(asked),
    )
    return structs.replace(result, notes=tuple(notes(result)))


def _pass_on(
    number: signal.Signals, process: asyncio.subprocess.Process, asked: list[signal.Signals]
) -> None:
    """What ends us ends the command; a Ctrl-C has reached it through the terminal already."""
    asked.append(number)
    if number != signal.SIGINT or not _foreground():
        with contextlib.suppress(ProcessLookupError):
            process.send_signal(number)


def _foreground() -> bool:
    """Whether a terminal sends its Ctrl-C to our whole group."""
    try:
        terminal = os.open("/dev/tty", os.O_RDONLY | os.O_NOCTTY)
    except OSError:
        return False
    try:
        return os.tcgetpgrp(terminal) == os.getpgrp()
    except OSError:
        return False
    finally:
        os.close(terminal)


async def _tell(marks: Marks, tell: Callable[[float], None]) -> None:
    seconds = 0.0
    while True:
        await asyncio.sleep(1.0)
        seconds += 1.0
        tell(seconds)
        marks.progress(seconds=seconds)
