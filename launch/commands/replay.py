"""`specwatch replay`: the screen on a run's record, by the record's own clock."""

import os
import sys
from pathlib import Path
from typing import Any

import click

from collectors.errors import SpecwatchError
from collectors.record.folder import RunFolder
from launch import output
from launch.options import run_argument, run_of


@click.command("replay")
@run_argument
@click.option("--speed", type=click.FloatRange(min=0.01, max=10_000), default=1.0, metavar="X", show_default=True,
              help="X times as fast as it was.")  # fmt: skip
@click.option("--at", default="0", metavar="T", help="Begin T into the run: seconds, or 7:42, or 1:02:03.")
@click.pass_obj
def command(options: dict[str, Any], run: str | None, speed: float, at: str) -> None:
    """The screen on a record.

    RUN is an id, the beginning of one, a name, or nothing: the newest run on this host. The path of a run's
    folder, copied from wherever, does as well.
    """
    start = _seconds(at)
    if run is not None and os.sep in run and Path(run).is_dir():
        folder = RunFolder(Path(run).resolve())
    else:
        folder = run_of(options, run)
    folder.info()
    if not folder.record.exists():
        raise SpecwatchError(f"{folder.id} has no record to replay", "`specwatch attach` watches a live run")
    if why := output.no_screen(sys.stdin, sys.stdout):
        raise SpecwatchError(why, f"`specwatch status {folder.id}` and `specwatch logs` need none")
    from tui.app import run_app

    run_app(folder, pace=speed, at=start)


def _seconds(text: str) -> float:
    """`90`, `7:42` or `1:02:03` as seconds."""
    parts = text.split(":")
    try:
        values = [float(part) for part in parts]
    except ValueError:
        values = []
    if not 1 <= len(values) <= 3 or any(not 0 <= value < 1e9 for value in values):
        raise SpecwatchError(f"`{text}` is no time of a run", "--at takes seconds, or 7:42, or 1:02:03")
    return sum((value * 60**power for power, value in enumerate(reversed(values))), 0.0)
