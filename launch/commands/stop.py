"""`specwatch stop`: end a server, and see that nothing of it is left."""

from typing import Any

import click

from launch import output, stopping
from launch.options import run_argument, state_of

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

    Without RUN only when exactly one run lives on this host.
    """
    folder = stopping.find(state_of(options), run)
    output.data(stopping.stop(folder, timeout=timeout, kill=kill))
