"""`specwatch stop`: end a server, and see that nothing of it is left; of another's server, end the watching."""

import os
import time
from pathlib import Path
from typing import Any

import click

from collectors.errors import ExitCode, SpecwatchError
from collectors.record import inbox, runs
from collectors.record.folder import RunFolder, RunInfo
from launch import holders, output, stopping, summary
from launch.options import run_argument, state_of

POLL_S = 0.1

kill_option = click.option("--kill", is_flag=True, help="SIGKILL what has not ended when the time is over.")
timeout_option = click.option(
    "--timeout",
    type=click.FloatRange(min=0),
    default=60.0,
    show_default=True,
    metavar="S",
    help="Seconds to wait.",
)


@click.command("stop")
@run_argument
@kill_option
@timeout_option
@click.pass_obj
def command(options: dict[str, Any], run: str | None, kill: bool, timeout: float) -> None:
    """Ask a server to stop (SIGTERM), wait, and see that no process, port and GPU memory of it is left.

    Without RUN only when exactly one server of ours lives on this host. A server that specwatch did not start
    is left alone: only the watching ends.
    """
    state = state_of(options)
    folder = runs.find(state, run) if run else _only(state)
    info = folder.info()
    if info.facts.foreign:
        output.data(_unwatch(folder, info, timeout))
    else:
        output.data(stopping.stop(folder, timeout=timeout, kill=kill))


def _only(state: Path) -> RunFolder:
    """What RUN need not name. A server that was reaped counts only while no other lives: it may have left processes."""
    kept = holders.living(state)
    found = [run for run in kept if not run[0].exit_json.exists()] or [
        run for run in kept if stopping.lives(run[0])
    ]
    if len(found) == 1:
        return found[0][0]
    if found:
        listed = ", ".join(f"{folder.id} ({info.facts.name})" for folder, info in found[:5])
        raise SpecwatchError(f"{len(found)} runs live on this host: {listed}", "name the one to be stopped")
    watched = [f.id for f, info in runs.scan(state).runs if info.facts.foreign and f.recorder_lives()]
    raise SpecwatchError(
        "no server of ours lives on this host",
        f"`specwatch stop {watched[0]}` ends the watching of another's"
        if watched
        else "`specwatch runs` lists them",
        ExitCode.NO_SUCH_RUN,
    )


def _unwatch(folder: RunFolder, info: RunInfo, timeout: float) -> str:
    """Ends the recorder, which writes down that it was asked to."""
    name = info.facts.name or folder.id
    if summary.read(folder).ended:
        return f"{name}: the watching ended before; the server was not touched"
    if info.host != os.uname().nodename:  # its lock may not be seen from here
        raise SpecwatchError(
            f"{name} is watched on {info.host}", f"`ssh {info.host} specwatch stop {folder.id}`"
        )
    if not folder.recorder_lives():
        return f"{name} was not watched any more; the server was not touched"
    inbox.post(folder, "stop", label="stop")
    deadline = time.monotonic() + timeout
    while folder.recorder_lives():
        if time.monotonic() >= deadline:
            raise SpecwatchError(
                f"{name} is still watched after {timeout:.0f} s",
                f"the recorder's own words are in {folder.path / 'recorder.err'}",
                ExitCode.TIMED_OUT,
            )
        time.sleep(POLL_S)
    if info.foreign_pid is not None:
        output.say(f"`kill {info.foreign_pid}` would ask the server itself to stop")
    return f"{name} is no longer watched; the server was not touched"
