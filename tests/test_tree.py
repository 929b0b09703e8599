"""Who is taken for a run's process: never one of a stranger's session, whatever number that has."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace

from collectors.record.leader import leader
from collectors.sources.tree import Leader, Tree, stat
from tests.run_folders import make_run

DAEMON = "import os, time\nif os.fork(): os._exit(0)\nprint(os.getpid(), flush=True)\ntime.sleep(60)"


@pytest.fixture
def orphan() -> Iterator[tuple[int, int]]:
    """(session, pid): a daemon whose session's leader has gone, as a killed API server leaves its EngineCore."""
    process = subprocess.Popen(
        [sys.executable, "-c", DAEMON], stdout=subprocess.PIPE, text=True, start_new_session=True
    )
    assert process.stdout is not None
    pid = int(process.stdout.readline())
    process.wait()
    process.stdout.close()
    yield process.pid, pid
    os.kill(pid, signal.SIGKILL)


def claimed(pid: int, first: Leader) -> bool:
    tree = Tree("no-such-run", leader=first)
    tree.scan()
    return pid in tree.pids


def test_what_a_killed_server_leaves_is_its_own(orphan: tuple[int, int]) -> None:
    session, pid = orphan
    began = stat(pid)
    assert began is not None
    assert claimed(pid, Leader(session, began.start, began.start + 100))


def test_a_session_that_got_the_number_later_is_a_strangers(orphan: tuple[int, int]) -> None:
    session, pid = orphan
    began = stat(pid)
    assert began is not None
    assert not claimed(pid, Leader(session, began.start - 1000, began.start - 1))
    assert not claimed(pid, Leader(session, began.start - 1000)), (
        "nobody saw the server end: nothing proves it"
    )
    assert not claimed(pid, Leader(session, began.start + 1, began.start + 100))


def test_a_living_stranger_of_the_number_proves_it_too() -> None:
    process = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"], start_new_session=True)
    try:
        time.sleep(0.1)
        began = stat(process.pid)
        assert began is not None
        assert claimed(process.pid, Leader(process.pid, began.start))
        assert not claimed(process.pid, Leader(process.pid, began.start - 1, began.start + 100))
    finally:
        process.kill()
        process.wait()


def test_after_a_reboot_nobody_leads(tmp_path: Path) -> None:
    folder = make_run(tmp_path)
    folder.server_json.write_text('{"pid": 1, "start": 2}')
    info = folder.info()
    assert leader(folder, info) == Leader(1, 2, None)
    folder.exit_json.write_bytes(
        msgspec.json.encode({"code": 0, "signal": None, "boottime": 7.5, "wall": 1.0})
    )
    assert leader(folder, info) == Leader(1, 2, int(7.5 * os.sysconf("SC_CLK_TCK")))
    assert leader(folder, replace(info, boot_id="another")) is None
    folder.server_json.write_text("{")
    assert leader(folder, info) is None
