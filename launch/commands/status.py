"""`specwatch status`: one reading of a run."""

from typing import Any

import click

from launch import output, summary
from launch.options import json_option, run_argument, run_of


@click.command("status")
@run_argument
@json_option
@click.pass_obj
def command(options: dict[str, Any], run: str | None, as_json: bool) -> None:
    """One reading of a run: where it stands, how far it is, what speculation buys, what went wrong.

    RUN is an id, the beginning of one, a name, or nothing: the newest run on this host. Exit code 0 whatever
    the reading says; `specwatch wait` turns it into exit codes.
    """
    found = summary.read(run_of(options, run))
    now = summary.status(found)
    if as_json:
        output.json(now)
    else:
        for line in summary.lines(found, now):
            output.data(line)
