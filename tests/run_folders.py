"""Run folders, recorders and followers for tests."""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from msgspec import structs

from collectors.reading.events import AnyEvent, RunFacts, Started
from collectors.record import wire
from collectors.record.clock import boot_id
from collectors.record.folder import RunFolder, RunInfo
from collectors.record.follow import Follower

RECORDINGS = Path(__file__).parent / "recordings"
FAKES = Path(__file__).parent / "fakes"


def recordings() -> list[Path]:
    """Every recording, as the importer takes it: folders and the prefixes of single files."""
    folders = sorted(path.parent for path in RECORDINGS.glob("*/server.log"))
    logs = sorted(p for p in RECORDINGS.glob("*/*.log") if p.stem not in ("server", "bench"))
    return folders + [p.with_suffix("") for p in logs if not p.stem.endswith(".bench")]


def make_run(runs: Path, run_id: str = "r1", **info: Any) -> RunFolder:
    """A run folder whose clock begins now; `facts` and the other fields of RunInfo may be given."""
    facts = structs.replace(info.pop("facts", RunFacts(engine="vllm")), id=run_id)
    given = {
        "created": time.time(),
        "boottime0": time.clock_gettime(time.CLOCK_BOOTTIME),
        "boot_id": boot_id(),
        "pid_namespace": "",
        "host": "testhost",
        **info,
    }
    return RunFolder.create(runs, RunInfo(facts=facts, **given))


def write_record(folder: RunFolder, events: Iterable[AnyEvent]) -> None:
    """A record made by hand; Started is put first."""
    started = Started(t=0.0, run=folder.info().facts)
    folder.record.write_bytes(b"".join(wire.encode(wire.entry_of(e)) for e in (started, *events)))


def start_recorder(folder: RunFolder, **options: Any) -> subprocess.Popen[bytes]:
    """The recorder as the keeper starts it; its stderr goes to recorder.err."""
    with (folder.path / "recorder.err").open("ab") as errors:
        return subprocess.Popen(
            [sys.executable, "-m", "launch", "record", str(folder.path)],
            stdin=options.pop("stdin", subprocess.DEVNULL),
            stdout=subprocess.DEVNULL,
            stderr=errors,
            cwd=Path(__file__).parent.parent,
            env={**os.environ, **options.pop("env", {})},
            **options,
        )


def until(true: Callable[[], object], seconds: float = 15.0, what: str = "") -> None:
    """Wait for a condition; the test fails with `what` when it does not come about."""
    deadline = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < deadline, f"not within {seconds} s: {what or true}"
        time.sleep(0.05)


def read(folder: RunFolder) -> Follower:
    """The record read from its start to its present end."""
    follower = Follower(folder, from_start=True)
    follower.advance()
    return follower
