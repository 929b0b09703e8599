"""A disk that refuses: nothing of the log is lost, no line is torn, the gap is told."""

import os
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from collectors.reading import events as ev
from collectors.record.folder import hold
from collectors.record.reader import replay
from collectors.record.writer import RecordWriter
from collectors.sources.tree import TAG
from tests.run_folders import make_run, read, start_recorder, until


def test_a_write_is_all_or_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = make_run(tmp_path)
    writer = RecordWriter(folder)
    assert writer.write(ev.Started(t=0.0, run=ev.RunFacts()), ev.Tick(t=1.0))
    whole, state = folder.record.read_bytes(), writer.state
    real = os.write
    monkeypatch.setattr(os, "write", lambda fd, data: real(fd, data[: len(data) // 2]))
    assert not writer.write(ev.Tick(t=2.0))
    assert writer.trouble is not None
    assert folder.record.read_bytes() == whole, "the half that was written is cut off again"
    assert writer.state == state
    monkeypatch.undo()
    assert writer.write(ev.Tick(t=3.0))
    assert writer.trouble is None
    assert read(folder).state == writer.state
    writer.close()


def test_a_recorder_waits_for_space_and_then_tells_all(tmp_path: Path) -> None:
    """RLIMIT_FSIZE stands for the full disk; it is lifted from outside, as an administrator frees space."""
    folder = make_run(tmp_path)
    keeper = hold(folder.keeper_lock)
    code = "import time\nfor n in range(90): print(n, 'x' * 50, flush=True); time.sleep(0.05)"
    with folder.server_log.open("ab") as log:
        server = subprocess.Popen(
            [sys.executable, "-c", code], stdout=log, env={**os.environ, TAG: folder.id}
        )
    recorder = start_recorder(
        folder, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1000, resource.RLIM_INFINITY))
    )
    try:
        until(lambda: folder.record.exists() and folder.record.stat().st_size > 900)
        assert server.wait() == 0
        folder.exit_json.write_bytes(b'{"code": 0}')
        time.sleep(1.5)
        assert recorder.poll() is None, "it does not give up"
        assert folder.record.stat().st_size <= 1000
        assert folder.record.read_bytes().endswith(b"\n")
        resource.prlimit(
            recorder.pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY)
        )
        assert recorder.wait(20) == 0
    finally:
        recorder.kill()
        recorder.wait()
        server.send_signal(signal.SIGKILL)
        server.wait()
        if keeper is not None:
            os.close(keeper)
    events = [event for _t, event in replay(folder)]
    assert b"".join(e.data for e in events if isinstance(e, ev.Log)) == folder.server_log.read_bytes()
    last = events[-1]
    assert isinstance(last, ev.Exit)
    assert last.code == 0
