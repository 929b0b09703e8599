"""Which runs there are, and which one a user means by RUN: an id, a unique prefix, a name, or nothing."""

import os
import secrets
import shlex
import time
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from collectors.errors import ExitCode, SpecwatchError
from collectors.record.folder import RunFolder, RunInfo

LONGEST_NAME = 80


class Scan(NamedTuple):
    """What lies under `STATE/runs/`: the runs newest first, and the folders that cannot be read."""

    runs: list[tuple[RunFolder, RunInfo]]
    damaged: list[Path]


def runs_dir(state: Path) -> Path:
    return state / "runs"


def scan(state: Path) -> Scan:
    """Reads each run.json. No state directory yet: no runs; one that is closed to us: an error.

    Symbolic links are not runs: nothing here leads `runs --prune` out of the state directory.
    """
    runs, damaged = [], []
    try:
        with os.scandir(runs_dir(state)) as entries:
            folders = [
                RunFolder(Path(entry.path)) for entry in entries if entry.is_dir(follow_symlinks=False)
            ]
    except FileNotFoundError:
        folders = []
    except OSError as error:
        raise SpecwatchError(
            f"the runs in {runs_dir(state)} cannot be listed: {error.strerror}",
            "choose another place with --state-dir or XDG_STATE_HOME",
        ) from error
    for folder in folders:
        try:
            runs.append((folder, folder.info()))
        except SpecwatchError:
            damaged.append(folder.path)
    runs.sort(key=lambda run: (run[1].created, run[0].id), reverse=True)
    return Scan(runs, sorted(damaged))


def every(state: Path) -> list[RunFolder]:
    """The runs that can be read, newest first."""
    return [folder for folder, _ in scan(state).runs]


def find(state: Path, spec: str | None) -> RunFolder:
    """The run that `spec` means: its id, else the newest of that name, else the one whose id begins so.

    None or "": the newest run on this host (a state directory may be shared by several).
    Raises SpecwatchError with ExitCode.NO_SUCH_RUN, or with ExitCode.USAGE when several runs begin so.
    """
    if spec and (runs_dir(state) / spec).name == spec:
        exact = RunFolder(runs_dir(state) / spec)
        if os.path.isdir(exact.path):  # Path.is_dir raises for a name that is too long
            exact.info()  # a damaged one is said to be damaged, not missing
            return exact
    found = scan(state)
    if not spec:
        return _newest_here(state, found)
    named = [folder for folder, info in found.runs if info.facts.name == spec]
    if named:
        return named[0]
    begun = [folder for folder, _ in found.runs if folder.id.startswith(spec)]
    if len(begun) == 1:
        return begun[0]
    if begun:
        raise SpecwatchError(
            f"{len(begun)} runs begin with `{spec}`: {_listed(folder.id for folder in begun)}",
            "give more of the id, or the run's name",
        )
    raise SpecwatchError(
        f"there is no run `{spec}`{_unreadable(found)}", _near(spec, found), ExitCode.NO_SUCH_RUN
    )


def _newest_here(state: Path, found: Scan) -> RunFolder:
    host = os.uname().nodename
    for folder, info in found.runs:
        if info.host == host:
            return folder
    if found.runs:
        raise SpecwatchError(
            f"no run was started on this host ({host}){_unreadable(found)}",
            f"name one of another host: {_listed(folder.id for folder, _ in found.runs)}",
            ExitCode.NO_SUCH_RUN,
        )
    raise SpecwatchError(
        f"there is no run in {runs_dir(state)}{_unreadable(found)}",
        "`specwatch launch -- vllm serve MODEL` starts one",
        ExitCode.NO_SUCH_RUN,
    )


def _near(spec: str, found: Scan) -> str:
    from difflib import get_close_matches

    if os.path.isfile(spec):
        file = shlex.quote(spec)
        return f"a saved log? `specwatch explain {file}` reads it, `specwatch attach --log {file}` follows it"
    known = list(
        dict.fromkeys(word for folder, info in found.runs for word in (info.facts.name, folder.id) if word)
    )
    near = get_close_matches(spec, known, 3, cutoff=0.5)
    return f"did you mean {_listed(near)}?" if near else "`specwatch runs` lists them"


def _listed(words: Iterable[str]) -> str:
    shown = list(words)
    return ", ".join(shown[:5]) + (f", and {len(shown) - 5} more" if len(shown) > 5 else "")


def _unreadable(found: Scan) -> str:
    count = len(found.damaged)
    return f" ({count} unreadable folder{'s' * (count > 1)} passed over)" if count else ""


def check_name(name: str | None) -> None:
    """A run's name stands in lists and on one line of the screen: SpecwatchError where it could not."""
    if name and (len(name) > LONGEST_NAME or not name.isprintable()):
        raise SpecwatchError(
            f"a run cannot be named {name[:40]!r}",
            f"up to {LONGEST_NAME} characters without control characters",
        )


def new_id() -> str:
    """`20261201-054012-3f9a`: sorts by time, says when, and is one word for a shell."""
    return f"{time.strftime('%Y%m%d-%H%M%S')}-{secrets.token_hex(2)}"
