"""The inbox: how a front end asks the recorder for a mark, a benchmark's edge, a stop, a note.

A request is one file, written aside and renamed, so the recorder never sees half of one; its name orders it
and stands in the record beside the request: a recorder killed between writing and removing repeats nothing.
"""

import itertools
import os
import time
from pathlib import Path
from typing import Any

import msgspec

from collectors.errors import SpecwatchError
from collectors.record.folder import RunFolder

KINDS = ("mark", "bench_begin", "bench_progress", "bench_end", "stop", "note")
MAX_BYTES = 256 * 1024  # a benchmark's summary is about 4 kB; what is larger is somebody's mistake

_serial = itertools.count()


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """The content of one inbox file."""

    kind: str
    id: str = ""
    label: str = ""
    data: dict[str, Any] = {}


def post(
    folder: RunFolder,
    kind: str,
    *,
    pair: str = "",
    label: str = "",
    data: dict[str, Any] | None = None,
) -> None:
    """Ask the recorder of `folder`; one `pair` joins a benchmark's begin, progress and end.

    Returns when the request is safely in the inbox, not when it is recorded.

    Raises SpecwatchError where the inbox cannot be written.
    """
    if kind not in KINDS:
        raise ValueError(f"a request is one of {', '.join(KINDS)}, not {kind!r}")
    # Wall-clock nanoseconds order the requests of several front ends; pid and serial keep equals apart.
    name = f"{time.time_ns():020d}-{os.getpid()}-{next(_serial):06d}"
    aside = folder.inbox / f".{name}"
    try:
        with os.fdopen(os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(msgspec.json.encode(Asked(kind=kind, id=pair, label=label, data=data or {})))
        aside.rename(folder.inbox / f"{name}.json")
    except OSError as error:
        raise SpecwatchError(
            f"the request could not be left in {folder.inbox}: {error.strerror}",
            "is the disk full, or does the run belong to another user?",
        ) from error


def waiting(folder: RunFolder) -> list[Path]:
    """The requests not yet taken, oldest first; an inbox that is missing or closed to us is empty.

    Only files: opening a FIFO would stop the whole recorder, a folder could never be taken out of the way.
    """
    try:
        return sorted(
            path
            for path in folder.inbox.iterdir()
            if path.suffix == ".json" and path.name[0] != "." and path.is_file()
        )
    except OSError:
        return []


def read(path: Path) -> Asked | str:
    """The request in `path`, or why there is none (too large, damaged, an unknown kind)."""
    try:
        with path.open("rb") as file:
            raw = file.read(MAX_BYTES + 1)
        if len(raw) > MAX_BYTES:
            return f"larger than {MAX_BYTES} bytes"
        asked = msgspec.json.decode(raw, type=Asked)
    except (OSError, msgspec.MsgspecError, RecursionError) as error:
        return str(error)
    return asked if asked.kind in KINDS else f"unknown kind {asked.kind!r}"
