"""The offset reader on growth, rotation, truncation; the copy of a foreign log and its resuming."""

import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from collectors.sources.foreign import ForeignLog
from collectors.sources.logtail import Tail
from collectors.sources.wake import Wake
from tests.run_folders import until


def drain(tail: Tail, limit: int = 7) -> bytes:
    got = b""
    while data := tail.read(limit):
        got += data
        tail.took(len(data))
    return got


@settings(max_examples=50, deadline=None)
@given(parts=st.lists(st.binary(max_size=40), max_size=8), limit=st.integers(1, 50))
def test_growth_in_any_parts_is_read_once(
    parts: list[bytes], limit: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("tail") / "log"
    tail, got = Tail(path), b""
    for part in parts:
        with path.open("ab") as file:
            file.write(part)
        got += drain(tail, limit)
    assert got == b"".join(parts)
    tail.close()


def test_what_was_not_taken_is_read_again(tmp_path: Path) -> None:
    (tmp_path / "log").write_bytes(b"abc")
    tail = Tail(tmp_path / "log")
    assert tail.read() == b"abc"
    assert tail.read() == b"abc"
    tail.took(3)
    assert tail.read() == b""


def test_a_missing_file_is_empty_until_it_comes(tmp_path: Path) -> None:
    tail = Tail(tmp_path / "log")
    assert tail.read() == b""
    (tmp_path / "log").write_bytes(b"late")
    assert drain(tail) == b"late"


def test_rotation_reads_the_old_file_to_its_end_first(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(b"one ")
    tail = Tail(path)
    assert drain(tail) == b"one "
    with path.open("ab") as old:
        path.rename(tmp_path / "log.1")
        path.write_bytes(b"three")
        old.write(b"two ")
        old.flush()
        assert drain(tail) == b"two three"
    assert tail.era == 1
    assert not tail.truncated


def test_truncation_begins_anew_and_is_told(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(b"a long first life")
    tail = Tail(path)
    drain(tail)
    path.write_bytes(b"short")
    assert drain(tail) == b"short"
    assert tail.truncated


def copy(source: dict[str, Any], server_log: Path) -> ForeignLog:
    log = ForeignLog(source, server_log)
    log.start()
    return log


def end(log: ForeignLog) -> None:
    log.stop()
    log.join(10)
    assert not log.is_alive()


def test_a_file_resumes_without_loss_or_repetition(tmp_path: Path) -> None:
    source, out = tmp_path / "vllm.log", tmp_path / "run" / "server.log"
    out.parent.mkdir()
    source.write_bytes(b"1\n2\n")
    log = copy({"file": str(source)}, out)
    until(lambda: out.stat().st_size == 4)
    end(log)
    with source.open("ab") as file:
        file.write(b"3\n")
    source.rename(tmp_path / "vllm.log.1")  # rotated while nobody looked
    source.write_bytes(b"4\n")
    log = copy({"file": str(source)}, out)
    until(lambda: out.read_bytes() == b"1\n2\n3\n4\n", what="the rest of the old file, then the new one")
    end(log)
    log = copy({"file": str(source)}, out)
    time.sleep(0.3)
    end(log)
    assert out.read_bytes() == b"1\n2\n3\n4\n"


def test_a_file_whose_writer_is_gone_has_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("collectors.sources.foreign.WRITER_CHECK_S", 0.2)
    source, out = tmp_path / "vllm.log", tmp_path / "server.log"
    code = "import time; print('hello', flush=True); time.sleep(1.5); print('bye')"
    with source.open("wb") as file:
        writer = subprocess.Popen([sys.executable, "-c", code], stdout=file)
    log = copy({"file": str(source)}, out)
    assert writer.wait() == 0
    until(lambda: log.ended is not None)
    assert out.read_bytes() == b"hello\nbye\n"
    log.join(5)


def test_a_command_that_tells_its_history_again_is_not_copied_twice(tmp_path: Path) -> None:
    out = tmp_path / "server.log"
    command = {"command": [sys.executable, "-c", "print('old'); import sys; print('err', file=sys.stderr)"]}
    for _ in range(2):
        log = copy(command, out)
        log.join(10)
        assert log.ended is not None
        assert "exit code 0" in log.ended
    assert sorted(out.read_bytes().split()) == [b"err", b"old"]


def test_a_command_that_does_not_exist_ends_the_source_in_words(tmp_path: Path) -> None:
    log = copy({"command": ["no-such-command-here"]}, tmp_path / "server.log")
    log.join(5)
    assert log.ended == "the log's source failed: No such file or directory"


def test_a_full_disk_holds_the_copy_up_and_loses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, out = tmp_path / "vllm.log", tmp_path / "server.log"
    source.write_bytes(b"x" * 1000)
    real, full = os.write, [True]

    def write(fd: int, data: bytes) -> int:
        if full[0] and fd > 2:
            raise OSError(28, "No space left on device")
        return real(fd, data)

    monkeypatch.setattr("collectors.sources.foreign.os.write", write)
    log = copy({"file": str(source)}, out)
    until(lambda: log.trouble is not None)
    full[0] = False
    until(lambda: out.stat().st_size == 1000)
    end(log)


def test_a_quiet_file_wakes_at_its_first_change_and_once_only(tmp_path: Path) -> None:
    log, beside = tmp_path / "server.log", tmp_path / "record.jsonl"
    log.touch()
    woken: list[float] = []
    wake = Wake(log, lambda: woken.append(time.monotonic()))
    wake.arm()
    try:
        time.sleep(0.2)  # the watch's thread starts
        beside.write_bytes(b"x")
        time.sleep(0.2)
        assert not woken, "the recorder's own writes beside it wake nobody"
        began = time.monotonic()
        with log.open("ab") as file:
            file.write(b"x")
        until(lambda: woken, 5)
        assert woken[0] - began < 1.0
        wake.disarm()
        count = len(woken)
        with log.open("ab") as file:
            file.write(b"x")
        time.sleep(0.2)
        assert len(woken) == count
    finally:
        wake.stop()
