"""What many tests stand on: a state directory, the command as a user runs it, recordings as run folders."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from collectors.record.folder import RunFolder
from tests.run_folders import RECORDINGS

ROOT = Path(__file__).parent.parent

Cli = Callable[..., subprocess.CompletedProcess[str]]
Importer = Callable[..., RunFolder]


@pytest.fixture
def state(tmp_path: Path) -> Path:
    """An empty state directory, not made yet."""
    return tmp_path / "state"


@pytest.fixture
def cli(state: Path) -> Cli:
    """`specwatch --state-dir STATE ARGS…` in a process of its own, without a terminal."""

    def run(*args: str, timeout: float = 60, **env: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "launch", "--state-dir", str(state), *args],
            cwd=ROOT,
            env={**os.environ, **env},
            capture_output=True,
            text=True,
            timeout=timeout,
            stdin=subprocess.DEVNULL,
            check=False,
        )

    return run


@pytest.fixture
def imported(state: Path) -> Importer:
    """A recording of tests/recordings as a run folder of the state directory: `imported("h200-base")`."""
    from collectors.record.importer import import_recording

    def make(name: str, run_id: str | None = None) -> RunFolder:
        return import_recording(RECORDINGS / name, state / "runs", run_id or Path(name).name)

    return make
