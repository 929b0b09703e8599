"""`specwatch attach`: the screen on a run, or on a server that specwatch did not start."""

import os
import subprocess
import sys
from typing import Any

import click

from collectors.errors import SpecwatchError
from collectors.record.folder import RunFolder
from launch import foreign, output, summary
from launch.options import run_argument, run_of, state_of


@click.command("attach")
@run_argument
@click.option("--log", metavar="FILE", help="The log of another's server; `-` reads standard input.")
@click.option("--log-command", is_flag=True, help="What follows -- prints the log: docker logs -f NAME.")
@click.option("--url", help="Where another's server answers: its counters and its health.")
@click.option("--pid", type=int, help="The process of another's server: its memory, its CPU, its end.")
@click.option("--name", help="What to call a server that is watched from now on.")
@click.option("--wait", is_flag=True, help="With --url alone: watch it although nothing answers there yet.")
@click.option("--no-screen", is_flag=True, help="Only watch it, in the background, and print the run's id.")
@click.argument("argv", nargs=-1, type=click.UNPROCESSED, metavar="[-- COMMAND…]")
@click.pass_obj
def command(
    options: dict[str, Any],
    run: str | None,
    log: str | None,
    log_command: bool,
    url: str | None,
    pid: int | None,
    name: str | None,
    wait: bool,
    no_screen: bool,
    argv: tuple[str, ...],
) -> int:
    """Watch a run, or a server that specwatch did not start.

    RUN is an id, the beginning of one, a name, or nothing: the newest run on this host. A server of somebody
    else's is watched from its log, its address or its process, in any combination:

    \b
    specwatch attach --log vllm.log --url http://127.0.0.1:8000
    specwatch attach --log-command -- docker logs -f vllm
    specwatch attach --log-command -- journalctl -fu vllm
    kubectl logs -f POD | specwatch attach --log -
    specwatch attach --pid 4711

    Attaching twice to the same server finds the run that watches it already. `specwatch stop RUN` ends the
    watching and leaves the server alone.
    """
    if log_command:  # click gave the command's first word to RUN
        argv = (*((run,) if run is not None else ()), *argv)
        run = None
        if not argv:
            raise SpecwatchError("--log-command needs a command", "… --log-command -- docker logs -f NAME")
    elif argv:
        raise SpecwatchError(f"`{argv[0]}` is one word too many", "a command follows --log-command --")
    if not no_screen and (why := output.no_screen(sys.stdout)):
        raise SpecwatchError(why, "--no-screen watches in the background without one")
    if log or log_command or url or pid is not None:
        if run is not None:
            raise SpecwatchError(
                f"`{run}` is a run, and the options name another server", "give one of them; --name names it"
            )
        folder = _foreign(options, foreign.target(log, argv, url, pid, name), wait)
    else:
        folder = run_of(options, run)
        _go_on(folder)
    if no_screen:
        output.data(folder.id)
        return 0
    _take_terminal()
    from tui.app import run_app

    return run_app(folder)


def _foreign(options: dict[str, Any], wanted: foreign.Target, wait: bool) -> RunFolder:
    state = state_of(options)
    if (found := foreign.watched(state, wanted)) is not None:
        output.say(f"already watched as {found.id}")
        return found
    if wanted.log_source is None and wanted.pid is None and wanted.url and not foreign.answers(wanted.url):
        if not wait:
            raise SpecwatchError(
                f"nothing answers at {wanted.url}",
                "a server that still loads is watched by its --log or --pid; --wait watches until it answers",
            )
        output.say(f"nothing answers at {wanted.url} yet: it is asked until something does")
    if wanted.doubt:
        output.say(f"warning: {wanted.doubt}")
    folder = foreign.create(state, wanted, options.get("config"))
    piped = wanted.log_source == {"stdin": True}
    foreign.start_recorder(folder, stdin=sys.stdin.fileno() if piped else subprocess.DEVNULL)
    return folder


def _go_on(folder: RunFolder) -> None:
    """A run that is not over and that nothing records any more gets a recorder again."""
    run = summary.read(folder)
    info = folder.info()
    if run.ended or folder.recorder_lives() or folder.keeper_lives() or info.host != os.uname().nodename:
        return
    if info.log_source == {"stdin": True}:
        output.say("the pipe that this run was read from is gone: it is shown as far as it was recorded")
        return
    foreign.start_recorder(folder)
    output.say("nothing recorded this run any more: a recorder was started")


def _take_terminal() -> None:
    """After `… | specwatch attach --log -` the keys come from the terminal, not from the pipe."""
    if sys.stdin.isatty():
        return
    try:
        terminal = os.open("/dev/tty", os.O_RDONLY)
    except OSError as error:
        raise SpecwatchError("there is no terminal to take keys from", "--no-screen needs none") from error
    os.dup2(terminal, 0)
