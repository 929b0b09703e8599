"""The recorder as a process, beside a fake server: what it writes, what it survives, when it ends."""

import itertools
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from collectors.reading import events as ev
from collectors.record import inbox
from collectors.record.ending import KEEPER_KILLED
from collectors.record.folder import RunFolder, hold
from collectors.record.reader import replay
from collectors.record.writer import RecordWriter
from collectors.sources.tree import TAG
from launch.demo.serve import free_port
from tests.run_folders import FAKES, make_run, read, start_recorder, until

PORT, OTHER_PORT = free_port(), free_port()  # of this process: tests of one file run in several at once


class Bench:
    """A run with a fake server, the lock of a keeper, and recorders; all ended at the test's end."""

    def __init__(self, folder: RunFolder, *arguments: str) -> None:
        self.folder = folder
        self.keeper = hold(folder.keeper_lock)
        with folder.server_log.open("ab") as log:
            self.server = subprocess.Popen(
                [sys.executable, str(FAKES / "server.py"), str(PORT), *arguments],
                stdout=log,
                stderr=log,
                env={**os.environ, TAG: folder.id},
                start_new_session=True,
            )
        self.recorders = [start_recorder(folder)]

    @property
    def recorder(self) -> subprocess.Popen[bytes]:
        return self.recorders[-1]

    def restart(self) -> None:
        self.recorders.append(start_recorder(self.folder))

    def reap(self) -> int:
        """What the keeper does when the server ends."""
        code = self.server.wait()
        exit_ = {"code": code if code >= 0 else None, "signal": -code if code < 0 else None}
        aside = self.folder.path / "exit.new"
        aside.write_bytes(msgspec.json.encode(exit_))
        aside.rename(self.folder.exit_json)
        return code

    def events(self) -> list[ev.AnyEvent]:
        return [event for _t, event in replay(self.folder)]

    def ready(self) -> bool:
        return read(self.folder).state.life.health == 200

    def close(self) -> None:
        for process in (*self.recorders, self.server):
            if process.poll() is None:
                process.kill()
            process.wait()
        if self.keeper is not None:
            os.close(self.keeper)


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    return make_run(tmp_path / "runs", url=f"http://127.0.0.1:{PORT}")


@pytest.fixture
def bench(folder: RunFolder) -> Iterator[Bench]:
    bench = Bench(folder, "--child")
    yield bench
    bench.close()


def test_a_whole_run(bench: Bench) -> None:
    until(bench.ready, 20, "healthy")
    inbox.post(bench.folder, "bench_begin", pair="b", label="c1")
    inbox.post(bench.folder, "bench_end", pair="b", data={"x": 1})
    until(lambda: not inbox.waiting(bench.folder))
    bench.server.send_signal(signal.SIGKILL)
    reaped = time.monotonic()
    assert bench.reap() == -9
    assert bench.recorder.wait(20) == 0
    assert time.monotonic() - reaped > 1.0, "the child lived on and was waited for"

    events = bench.events()
    assert isinstance(events[0], ev.Started)
    assert isinstance(events[1], ev.Clock)
    last = events[-1]
    assert isinstance(last, ev.Exit)
    assert (last.code, last.signal, last.reason) == (None, 9, "")
    (reaped_event,) = [e for e in events if isinstance(e, ev.Reaped)]
    assert reaped_event.t < last.t - 1.0
    log = b"".join(e.data for e in events if isinstance(e, ev.Log))
    assert log == bench.folder.server_log.read_bytes()
    assert log.endswith(b"the child ends\n"), "what was written after the server's end is indexed too"
    assert all(a.t <= b.t for a, b in itertools.pairwise(events))

    owners = [e for e in events if isinstance(e, ev.Health) and e.status == 200]
    assert [(e.owner, e.owner_pid) for e in owners[:1]] == [("same", bench.server.pid)]
    requests = [i for i, e in enumerate(events) if isinstance(e, ev.Request)]
    for place in requests:
        scrape = events[place - 1]
        assert isinstance(scrape, ev.Metrics)
        assert scrape.exact
        assert scrape.t == events[place].t
    tokens = [e.values[0] for e in events if isinstance(e, ev.Metrics) and e.exact]
    assert tokens[1] - tokens[0] == 100, "nothing else asked in between"
    procs = {pid for e in events if isinstance(e, ev.HostSample) for pid in e.procs}
    assert bench.server.pid in procs
    assert len(procs) >= 2, "its child too (and whatever was between fork and exec just then)"
    assert read(bench.folder).state.hosts.procs == {}


def test_the_state_is_what_a_reader_makes_of_it(bench: Bench) -> None:
    from collectors.record.follow import Follower

    until(bench.ready, 20)
    bench.server.terminate()
    assert bench.reap() == 0
    assert bench.recorder.wait(20) == 0
    recorded = Follower(bench.folder)
    assert not recorded.advance(), "the checkpoint holds all"
    assert recorded.ended
    assert recorded.state == read(bench.folder).state


def test_who_writes_what(bench: Bench) -> None:
    until(bench.ready, 20)
    before = {p: p.read_bytes() for p in (bench.folder.run_json, bench.folder.keeper_lock)}
    (bench.folder.path / "bench-1.json").write_bytes(b"{}")
    (bench.folder.inbox / ".half").write_bytes(b"{")
    bench.server.terminate()
    bench.reap()
    exit_ = bench.folder.exit_json.read_bytes()
    assert bench.recorder.wait(20) == 0
    assert {p: p.read_bytes() for p in before} == before
    assert bench.folder.exit_json.read_bytes() == exit_
    assert (bench.folder.path / "bench-1.json").read_bytes() == b"{}"
    assert (bench.folder.inbox / ".half").read_bytes() == b"{"
    names = {path.name for path in bench.folder.path.iterdir()}
    theirs = {"run.json", "server.log", "exit.json", "inbox", "keeper.lock", "bench-1.json", "recorder.err"}
    assert names - theirs == {"record.jsonl", "checkpoint.json", "recorder.lock"}
    assert bench.folder.record.stat().st_mode & 0o777 == 0o600
    assert (bench.folder.path / "recorder.err").read_bytes() == b""


def test_a_second_recorder_leaves_at_once(bench: Bench) -> None:
    until(bench.folder.recorder_lives)
    bench.restart()
    assert bench.recorder.wait(10) == 0
    assert bench.recorders[0].poll() is None


def test_killed_at_any_moment_it_loses_nothing(folder: RunFolder) -> None:
    bench = Bench(folder, "--lines", "400", "--pace", "0.01")
    try:
        for pause in (0.7, 1.1, 0.9):
            time.sleep(pause)
            inbox.post(folder, "mark", label=str(pause))
            bench.recorder.kill()
            bench.recorder.wait()
            time.sleep(0.2)
            bench.restart()
        until(bench.ready, 20)
        until(lambda: not inbox.waiting(folder))
        bench.server.terminate()
        bench.reap()
        assert bench.recorder.wait(20) == 0
        events = bench.events()
        assert b"".join(e.data for e in events if isinstance(e, ev.Log)) == folder.server_log.read_bytes()
        assert sum(isinstance(e, ev.Started) for e in events) == 1
        marks = [e.label for e in events if isinstance(e, ev.Request) and e.kind == "mark"]
        assert marks == ["0.7", "1.1", "0.9"]
        assert isinstance(events[-1], ev.Exit)
    finally:
        bench.close()


def test_sigterm_leaves_a_checkpoint_and_no_exit(bench: Bench) -> None:
    until(bench.ready, 20)
    bench.recorder.terminate()
    assert bench.recorder.wait(10) == 128 + signal.SIGTERM, "to the keeper 0 means that the run is over"
    assert bench.folder.checkpoint.exists()
    assert not read(bench.folder).ended
    bench.restart()
    bench.server.terminate()
    bench.reap()
    assert bench.recorder.wait(20) == 0
    assert read(bench.folder).ended


def test_a_killed_keeper_costs_the_exit_code_and_nothing_else(bench: Bench) -> None:
    until(bench.ready, 20)
    assert bench.keeper is not None
    os.close(bench.keeper)
    bench.keeper = None
    until(lambda: any(KEEPER_KILLED in note for _t, note in read(bench.folder).state.life.notes))
    assert bench.recorder.poll() is None, "the server lives: it is watched on"
    bench.server.terminate()
    assert bench.server.wait() == 0
    assert bench.recorder.wait(20) == 0
    last = bench.events()[-1]
    assert isinstance(last, ev.Exit)
    assert (last.code, last.signal, last.reason) == (None, None, KEEPER_KILLED)


def test_a_reboot_ends_a_run_in_words(tmp_path: Path) -> None:
    folder = make_run(tmp_path, boot_id="before the reboot", created=time.time() - 500.0)
    writer = RecordWriter(folder)
    writer.write(
        ev.Started(t=0.0, run=folder.info().facts),
        ev.Clock(t=0.0, wall=time.time() - 500.0),
        ev.Tick(t=100.0),
    )
    writer.close()
    assert start_recorder(folder).wait(10) == 0
    state = read(folder).state
    assert state.life.exit is not None
    assert "restarted" in state.life.exit.reason
    assert 495.0 < state.t < 520.0


def test_a_foreign_file_and_pid(tmp_path: Path) -> None:
    log = tmp_path / "vllm.log"
    with log.open("wb") as out:
        server = subprocess.Popen(
            [sys.executable, str(FAKES / "server.py"), str(OTHER_PORT)], stdout=out, stderr=out
        )
    folder = make_run(
        tmp_path / "runs",
        facts=ev.RunFacts(foreign=True),
        url=f"http://127.0.0.1:{OTHER_PORT}",
        foreign_pid=server.pid,
        log_source={"file": str(log)},
    )
    recorder = start_recorder(folder)
    until(lambda: read(folder).state.life.health == 200, 20)
    assert read(folder).state.life.owner == "same"
    server.terminate()
    server.wait()
    assert recorder.wait(20) == 0
    last = read(folder).state.life.exit
    assert last is not None
    assert last.code is None
    assert "process is gone" in last.reason
    assert folder.server_log.read_bytes() == log.read_bytes()


def test_a_log_from_standard_input(tmp_path: Path) -> None:
    folder = make_run(tmp_path, facts=ev.RunFacts(foreign=True), log_source={"stdin": True})
    recorder = start_recorder(folder, stdin=subprocess.PIPE)
    assert recorder.stdin is not None
    recorder.stdin.write(b"one\ntwo\n")
    recorder.stdin.close()
    assert recorder.wait(20) == 0
    follower = read(folder)
    assert follower.log_offset == 8
    assert follower.state.life.exit is not None
    assert follower.state.life.exit.reason == "standard input ended"


def test_a_truncated_server_log_is_told_and_read_on(bench: Bench) -> None:
    until(bench.ready, 20)
    os.truncate(bench.folder.server_log, 0)
    with bench.folder.server_log.open("ab") as file:
        file.write(b"after\n")
    until(lambda: read(bench.folder).log_offset == 6)
    assert any(isinstance(e, ev.Source) and e.error and "cut short" in e.error for e in bench.events())
