"""`specwatch runs`: the list of runs; `--prune` removes old ones and damaged folders, never a live run."""

import os
import shutil
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import click
from msgspec import Struct

from collectors.errors import SpecwatchError
from collectors.record import runs
from collectors.record.folder import RunFolder, RunInfo, hold
from collectors.record.follow import Follower
from launch import figures, output, summary
from launch.options import json_option, state_of

NEWBORN_S = 60.0  # a folder whose run.json is just being written is not damaged
READ_S = 0.3  # per run: a record of days without a checkpoint is not read through for a list
_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 7 * 86_400}


class Listed(Struct, frozen=True, kw_only=True):
    """One run of the list (`runs --json` prints an array of these)."""

    id: str
    """names its folder; any unique beginning of it names the run"""
    name: str
    """as `--name` or the profile gave it; empty without one"""
    host: str
    """the host that it was started on"""
    phase: str | None
    """as in the explain object; null where the record is too long to be read for a list"""
    live: bool | None
    """true: watched; false: the server is gone; null: nothing watches it any more"""
    url: str | None
    """where the server answers, or will"""
    gpus: tuple[int, ...] | None
    """the GPUs that the server may see; null: all"""
    age_s: float
    """seconds since it was launched"""
    bytes: int
    """what its folder holds on disk"""


class Doomed(NamedTuple):
    path: Path
    what: str
    bytes: int


@click.command("runs")
@json_option
@click.option("--prune", is_flag=True, help="Remove runs that are over, and damaged folders.")
@click.option("--older-than", metavar="AGE", help="Prune only what is older: 12h, 7d, 2w.")
@click.option("--yes", is_flag=True, help="Prune without asking.")
@click.pass_obj
def command(options: dict[str, Any], as_json: bool, prune: bool, older_than: str | None, yes: bool) -> None:
    """List the runs on this machine, live ones first, or prune them.

    A live run is never removed, nor one of another host that is not known to be over.
    """
    older_s = 0.0 if older_than is None else _age(older_than)
    if not prune and (yes or older_than is not None):
        raise SpecwatchError(f"{'--yes' if yes else '--older-than'} says how to prune", "add --prune")
    found = runs.scan(state_of(options))
    listed = sorted((_listed(*run) for run in found.runs), key=lambda run: not run.live)
    if prune:
        _prune(_doomed(found, listed, older_s), yes)
    elif as_json:
        output.json(listed)
    else:
        for line in _table(listed) if listed else ():
            output.data(line)
        if not listed:
            output.say("no runs")
        if found.damaged:
            count = len(found.damaged)
            output.say(
                f"{count} folder{'s' * (count > 1)} cannot be read; `specwatch runs --prune` offers to remove"
            )


def _listed(folder: RunFolder, info: RunInfo) -> Listed:
    run = Follower(folder)
    run.advance(max_s=READ_S)
    return Listed(
        id=folder.id,
        name=info.facts.name,
        host=info.host,
        phase=None if run.behind else summary.phase(run.state),
        live=summary.lives(run),
        url=info.url,
        gpus=info.facts.gpus_of_run,
        age_s=round(time.time() - info.created, 1),
        bytes=_bytes(folder.path),
    )


def _table(listed: list[Listed]) -> Iterator[str]:
    rows = [("ID", "NAME", "HOST", "PHASE", "PORT", "GPUS", "AGE", "SIZE")]
    for run in listed:
        phase = run.phase or figures.DASH
        port = run.url.rpartition(":")[2].strip("/") if run.url else figures.DASH
        gpus = "all" if run.gpus is None else ",".join(map(str, run.gpus)) or "none"
        rows.append(
            (
                run.id,
                run.name or figures.DASH,
                run.host,
                f"{phase} (not watched)" if run.live is None else phase,
                port,
                gpus,
                figures.ago(run.age_s),
                figures.size(run.bytes),
            )
        )
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    for row in rows:
        yield "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()


def _doomed(found: runs.Scan, listed: list[Listed], older_s: float) -> list[Doomed]:
    here = os.uname().nodename
    folders = {folder.id: folder.path for folder, _ in found.runs}
    doomed = [
        Doomed(folders[run.id], " ".join(filter(None, (run.name, run.phase))), run.bytes)
        for run in listed
        # A flock of another host may not be seen from here (NFS without lockd): only an Exit counts.
        if (run.live is False or (run.live is None and run.host == here)) and run.age_s >= older_s
    ]
    for path in found.damaged:
        if time.time() - path.lstat().st_mtime >= max(older_s, NEWBORN_S):
            doomed.append(Doomed(path, "damaged", _bytes(path)))
    return doomed


def _prune(doomed: list[Doomed], yes: bool) -> None:
    if not doomed:
        output.say("nothing to prune")
        return
    for one in doomed:
        output.say(f"{one.path.name}  {one.what}  {figures.size(one.bytes)}")
    total = figures.size(sum(one.bytes for one in doomed))
    if not yes:
        folders = f"{len(doomed)} folder{'s' * (len(doomed) > 1)}"
        if not sys.stdin.isatty():
            raise SpecwatchError(f"{folders} ({total}) would be removed", "add --yes")
        if not click.confirm(f"Remove {folders} ({total})?", err=True):
            return
    for one in doomed:
        if _remove(one.path):
            output.data(one.path.name)


def _remove(path: Path) -> bool:
    """Under the locks of its keeper and recorder, so that a run that came to life meanwhile stays."""
    folder = RunFolder(path)
    held: list[int] = []
    try:
        for lock in (folder.keeper_lock, folder.recorder_lock):
            fd = hold(lock)
            if fd is None:
                output.say(f"{path.name} lives: it stays")
                return False
            held.append(fd)
        shutil.rmtree(path)  # refuses a symbolic link at the top and unlinks those within
    except OSError as error:
        output.say(f"{path.name} cannot be removed: {error.strerror or error}")
        return False
    finally:
        for fd in held:
            os.close(fd)
    return True


def _bytes(path: Path) -> int:
    """What the folder takes on disk; files that vanish meanwhile, or are closed to us, count nothing."""
    total = 0
    for where, _, names in os.walk(path):
        for name in names:
            try:
                total += os.lstat(os.path.join(where, name)).st_blocks * 512
            except OSError:
                continue
    return total


def _age(text: str) -> float:
    number, unit = text[:-1], text[-1:]
    if unit in _UNITS and number.replace(".", "", 1).isdecimal():
        return float(number) * _UNITS[unit]
    raise SpecwatchError(f"`{text}` is no age", "a number and s, m, h, d or w: --older-than 7d")
