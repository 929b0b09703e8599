"""`specwatch record FOLDER`: the recorder's process, as the keeper (or `attach`, for a foreign server) starts
it.
"""

import signal
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import click
import msgspec

from collectors.reading.report import Report
from collectors.record.announce import OnChange
from collectors.record.folder import RunFolder
from collectors.record.recorder import record
from launch.hooks import run_hooks


@click.command("record", hidden=True)
@click.argument("folder", type=click.Path(path_type=Path))
def command(folder: Path) -> None:
    """Record a run until it is over; a second recorder of the same run leaves at once."""
    run = RunFolder(folder)
    if not record(run, _hooks(run)):
        raise click.exceptions.Exit(128 + signal.SIGTERM)  # not 0: to the keeper that means "it is over"


def _hooks(run: RunFolder) -> OnChange | None:
    """What to call on a change: the user's hooks, when run.json names a configuration file.

    In a thread of their own, since a hook may take a minute; the process ends only after them.
    """
    info = run.info()
    if info.config is None:
        return None
    config = Path(info.config)
    thread = ThreadPoolExecutor(1, "hooks")

    def on_change(event: str, report: Report) -> None:
        facts = {"id": run.id, "name": info.facts.name, "host": info.host, "folder": str(run.path)}
        thread.submit(run_hooks, config, event, {**facts, **msgspec.to_builtins(report)})

    return on_change
