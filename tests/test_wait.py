"""Each answer of wait: its exit code, how soon it comes, what it prints where."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from collectors.errors import ExitCode
from collectors.reading.events import AnyEvent, Exit, Health, HostSample, Log, Proc, RunFacts, Tick
from collectors.record import wire
from collectors.record.folder import RunFolder, hold
from collectors.record.follow import Follower
from launch.commands import wait
from tests.conftest import ROOT, Cli, Importer
from tests.run_folders import make_run, write_record

READY = b"INFO:     Application startup complete.\n"


def grow(folder: RunFolder, t: float, data: bytes) -> None:
    """The log grows and the recorder says so."""
    offset = folder.server_log.stat().st_size if folder.server_log.exists() else 0
    with folder.server_log.open("ab") as log:
        log.write(data)
    with folder.record.open("ab") as record:
        record.write(wire.encode(wire.entry_of(Log(t=t, offset=offset, data=data))))


def waiting(state: Path, *args: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "launch", "--state-dir", str(state), "wait", *args]
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def test_ready_is_told_within_a_second(state: Path) -> None:
    folder = make_run(state / "runs", "r", facts=RunFacts(name="base"))
    write_record(folder, [Tick(t=1.0)])
    lock = hold(folder.recorder_lock)
    with waiting(state, "r") as child:
        assert child.stderr is not None
        assert child.stdout is not None
        assert "starting" in child.stderr.readline()
        grow(folder, 62.0, READY)
        began = time.monotonic()
        assert child.stdout.readline() == "ready after 1:02: base\n"
        assert time.monotonic() - began < 1.0
        assert child.wait(timeout=10) == ExitCode.OK
    assert lock is not None
    os.close(lock)


def test_health_without_a_proof_of_ownership_is_said(state: Path, cli: Cli) -> None:
    folder = make_run(state / "runs", "r")
    write_record(folder, [Health(t=5.0, status=200, owner="unknown")])
    lock = hold(folder.recorder_lock)
    answer = cli("wait", "r", "--timeout", "5")
    assert answer.returncode == ExitCode.OK
    assert "not proven" in answer.stdout
    assert lock is not None
    os.close(lock)


def test_failed_prints_the_cause_on_stderr(imported: Importer, cli: Cli) -> None:
    imported("cpu/31-fail-no-such-model", "failed")
    answer = cli("wait", "failed")
    assert answer.returncode == ExitCode.SERVER_FAILED
    assert answer.stdout == ""
    assert "cause: " in answer.stderr
    found = json.loads(cli("wait", "failed", "--json").stdout)
    assert found["phase"] == "failed"
    assert found["root_cause"]["lineno"] > 0


def test_a_server_that_left_before_it_was_ready_failed(state: Path, cli: Cli) -> None:
    folder = make_run(state / "runs", "r")
    write_record(folder, [Tick(t=1.0), Exit(t=2.0, code=0)])
    assert cli("wait", "r").returncode == ExitCode.SERVER_FAILED


def test_a_time_out_of_nothing_looks_once(state: Path, cli: Cli) -> None:
    folder = make_run(state / "runs", "r")
    write_record(folder, [Tick(t=1.0)])
    lock = hold(folder.recorder_lock)
    for seconds in ("0", "0.4"):
        answer = cli("wait", "r", "--timeout", seconds)
        assert answer.returncode == ExitCode.TIMED_OUT
        assert answer.stdout == ""
        assert "error: " in answer.stderr
    assert json.loads(cli("wait", "r", "--timeout", "0", "--json").stdout)["live"] is True
    assert lock is not None
    os.close(lock)


def test_no_such_run_and_one_that_appears(state: Path, cli: Cli) -> None:
    assert cli("wait", "r").returncode == ExitCode.NO_SUCH_RUN
    assert cli("wait", "r", "--run-appears", "0.3").returncode == ExitCode.NO_SUCH_RUN
    with waiting(state, "r", "--run-appears", "30", "--timeout", "0") as child:
        time.sleep(0.5)
        assert child.poll() is None
        folder = make_run(state / "runs", "r")
        write_record(folder, [Tick(t=1.0)])
        assert child.wait(timeout=20) == ExitCode.TIMED_OUT


def test_nobody_records(state: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also when the record's last word was "ready": nobody knows whether that still holds."""
    monkeypatch.setattr(wait, "GONE_S", 0.5)
    for run_id, events in (("loading", [Tick(t=1.0)]), ("ready", [Health(t=1.0, status=200, owner="same")])):
        folder = make_run(state / "runs", run_id)
        write_record(folder, events)
        run = Follower(folder)
        assert wait._until(run, None, False, lambda *_: None) == ExitCode.RECORDER_GONE


def test_a_recorder_that_comes_back_in_time_is_waited_for(state: Path) -> None:
    folder = make_run(state / "runs", "r")
    write_record(folder, [Tick(t=1.0)])
    with waiting(state, "r") as child:
        time.sleep(1.5)
        lock = hold(folder.recorder_lock)
        grow(folder, 3.0, READY)
        assert child.wait(timeout=10) == ExitCode.OK
    assert lock is not None
    os.close(lock)


def test_ctrl_c_leaves_quietly(state: Path) -> None:
    folder = make_run(state / "runs", "r")
    write_record(folder, [Tick(t=1.0)])
    with waiting(state, "r") as child:
        assert child.stderr is not None
        child.stderr.readline()
        child.send_signal(2)
        assert child.wait(timeout=10) == ExitCode.INTERRUPTED
        assert child.stderr.read() == ""


def test_a_recorder_that_is_stopped_proves_nothing(state: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It keeps its lock: what its last line says is as old as that line."""
    folder = make_run(state / "runs", "r")
    write_record(folder, [Tick(t=1.0)])
    grow(folder, 1.5, READY)
    lock = hold(folder.recorder_lock)
    assert lock is not None
    run = Follower(folder)
    run.advance()
    assert wait._answer(run) == ExitCode.OK
    monkeypatch.setattr(Follower, "age", lambda _: 60.0)
    assert wait._answer(run) is None
    monkeypatch.setattr(wait, "GONE_S", 0.2)
    assert wait._until(run, None, False, lambda *_: None) == ExitCode.RECORDER_GONE
    os.close(lock)


def test_a_stall_ends_the_wait_only_when_told(state: Path) -> None:
    """A worker that used no CPU and read nothing for 70 s, its bar at 4 of 64."""
    folder = make_run(state / "runs", "r", boottime0=time.clock_gettime(time.CLOCK_BOOTTIME) - 120.0)
    banner = b"(APIServer pid=1) INFO 12-01 03:25:00 [startup.py:40] vLLM server version 0.32.0, serving model m/K\n"
    begun = (
        b"(Worker_TP0 pid=10) INFO 12-01 03:25:30 [gpu_model_runner.py:4125] Starting to load model m/K...\n"
    )
    events: list[AnyEvent] = []
    with folder.server_log.open("wb") as log:
        for t, said in [(1.0, banner), (30.0, begun), *((30.0 + 5 * n, shard(n)) for n in range(5))]:
            events.append(Log(t=t, offset=log.tell(), data=said))
            log.write(said)
            used = Proc(title="VLLM::Worker_TP0", state="S", rss_mib=3000, cpu_s=t, rchar=int(t) << 30)
            events.append(HostSample(t=t, procs={10: used}))
    write_record(folder, [*events, *(Tick(t=float(second)) for second in range(51, 121))])
    lock = hold(folder.recorder_lock)
    assert lock is not None
    run = Follower(folder)
    assert wait._until(run, None, True, lambda *_: None) == ExitCode.STALLED
    assert wait._until(Follower(folder), time.monotonic() + 0.5, False, lambda *_: None) == ExitCode.TIMED_OUT
    os.close(lock)


def shard(done: int) -> bytes:
    return (
        f"Loading safetensors checkpoint shards: {done * 100 // 64:3d}% Completed | {done}/64 "
        f"[00:{5 * done:02d}<?, ?it/s]\n"
    ).encode()
