"""Tells the recorder of a run where a benchmark begins, how far it is, where it ends; without a run:
nobody."""

import asyncio
import os
import time
from typing import Any

import msgspec

from collectors.errors import SpecwatchError
from collectors.record import inbox
from collectors.record.folder import RunFolder
from launch.bench.result import Load, Result

TAKEN_S = 6.0  # longer than a scrape may take; the benchmark goes on without the recorder then


class Marks:
    """One benchmark's requests through the inbox; `folder` None: the server is no run of ours."""

    def __init__(self, folder: RunFolder | None, id_: str, label: str) -> None:
        self._folder, self._id, self._label = folder, id_, label

    async def begin(self, **data: Any) -> None:
        """Returns when the recorder has read the counters and taken the mark: only then may load begin.

        Without this wait a level of 256 tokens lost 5 of them to the time before the recorder's scrape.
        """
        self._post("bench_begin", data)
        if self._folder is None or not self._folder.recorder_lives():
            return
        deadline = time.monotonic() + TAKEN_S
        while inbox.waiting(self._folder) and time.monotonic() < deadline:
            await asyncio.sleep(0.02)

    def progress(self, **data: Any) -> None:
        self._post("bench_progress", data)

    def end(self, **data: Any) -> None:
        self._post("bench_end", data)

    def level(self, load: Load) -> "Marks":
        """The marks of one level: a benchmark of its own for the recorder, so that levels are not mixed."""
        return Marks(
            self._folder, f"{self._id}-{load.name.replace(' ', '')}", f"{self._label} {load.name}".strip()
        )

    def _post(self, kind: str, data: dict[str, Any]) -> None:
        if self._folder is not None:
            inbox.post(self._folder, kind, pair=self._id, label=self._label, data=data)


def save(folder: RunFolder, result: Result) -> None:
    """bench-ID.json, written aside and renamed, 0600."""
    path = folder.path / f"bench-{result.id}.json"
    aside = path.with_name(f".{path.name}.part")
    try:
        with os.fdopen(os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
            file.write(msgspec.json.format(msgspec.json.encode(result), indent=1) + b"\n")
        aside.rename(path)
    except OSError as error:
        raise SpecwatchError(
            f"the result {path} cannot be written: {error.strerror}", "--json prints it as well"
        ) from error
