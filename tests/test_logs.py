"""The log for pipes: filtered, backwards, followed, and lines by offset in any block size."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from collectors.reading.events import Exit, Log, Tick
from collectors.record import wire
from launch import loglines
from tests.conftest import ROOT, Cli, Importer
from tests.run_folders import make_run, write_record


@settings(max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(data=st.lists(st.sampled_from([b"a", b"bc", b"\n", b"\r", b"def\n"]), max_size=40).map(b"".join))
@pytest.mark.parametrize("block", [1, 3, 4096])
def test_lines_are_the_same_both_ways_and_in_any_blocks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, block: int, data: bytes
) -> None:
    monkeypatch.setattr(loglines, "BLOCK", block)
    path = tmp_path / "log"
    path.write_bytes(data)
    expected = data.split(b"\n")
    if expected[-1] == b"":
        expected.pop()
    fd = os.open(path, os.O_RDONLY)
    try:
        ahead = list(loglines.forwards(fd, 0, partial=True))
        whole = list(loglines.forwards(fd, 0, partial=False))
        back = list(loglines.backwards(fd, len(data)))
    finally:
        os.close(fd)
    assert [line for _, line in ahead] == expected
    assert back == expected[::-1]
    assert (ahead[-1][0] if ahead else 0) == len(data)
    assert len(whole) == data.count(b"\n")
    assert (whole[-1][0] if whole else 0) == data.rfind(b"\n") + 1


def test_one_endless_line_takes_no_memory_but_keeps_the_offsets(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loglines, "BLOCK", 1024)
    monkeypatch.setattr(loglines, "LONGEST", 100)
    path = tmp_path / "log"
    path.write_bytes(b"x" * 50_000 + b"\nend\n")
    fd = os.open(path, os.O_RDONLY)
    try:
        assert list(loglines.forwards(fd, 0, partial=True)) == [(50_001, b"x" * 100), (50_005, b"end")]
        assert [line[:4] for line in loglines.backwards(fd, 50_005)] == [b"end", b"xxxx"]
    finally:
        os.close(fd)


def test_the_noise_is_hidden_and_counted(imported: Importer, cli: Cli) -> None:
    folder = imported("cpu/12-eagle3-eager", "eagle3")
    everything = cli("logs", "eagle3", "--all")
    assert everything.stderr == ""
    filtered = cli("logs", "eagle3")
    assert filtered.returncode == 0
    shown = filtered.stdout.splitlines()
    assert "Application startup complete." in filtered.stdout
    assert "GET /metrics" not in filtered.stdout
    assert "GET /health" not in filtered.stdout
    physical = folder.server_log.read_bytes().count(b"\n")
    hidden = int(filtered.stderr.split()[0].replace(",", ""))
    assert 0 < hidden < physical
    assert len(shown) < len(everything.stdout.splitlines())


def test_the_newest_lines_are_the_tail_of_all(imported: Importer, cli: Cli) -> None:
    imported("cpu/12-eagle3-eager", "eagle3")
    whole = cli("logs", "eagle3").stdout.splitlines()
    assert cli("logs", "eagle3", "-n", "7").stdout.splitlines() == whole[-7:]
    assert cli("logs", "eagle3", "-n", "0").stdout == ""


def test_errors_are_the_problems(imported: Importer, cli: Cli) -> None:
    imported("cpu/31-fail-no-such-model", "failed")
    answer = cli("logs", "failed", "--errors")
    assert answer.returncode == 0
    assert answer.stdout.startswith("line ")
    assert len(answer.stdout.splitlines()) < 10


def test_escapes_do_not_pass(state: Path, cli: Cli) -> None:
    folder = make_run(state / "runs", "r")
    folder.server_log.write_bytes(
        b"\x1b[31mred\x1b[0m \x1b]0;title\x07 \xff\xfe\x00end\x9b\n10%\r20%\r30%\r\n"
    )
    for args in (("--all",), ()):
        out = cli("logs", "r", *args).stdout
        assert not set(out) & set("\x1b\x07\x00\x9b\r")
        assert "red" in out
        assert "10%" not in out
        assert "30%" in out


def test_a_run_without_a_log(state: Path, cli: Cli) -> None:
    make_run(state / "runs", "r")
    answer = cli("logs", "r")
    assert answer.returncode == 2
    assert answer.stderr.startswith("error: ")


def test_following_goes_on_until_the_server_is_gone(state: Path) -> None:
    folder = make_run(state / "runs", "r")
    folder.server_log.write_bytes(b"one\ntw")
    write_record(folder, [Log(t=0.5, offset=0, data=b"one\ntw"), Tick(t=1.0)])
    command = [sys.executable, "-m", "launch", "--state-dir", str(state), "logs", "r", "-f", "-n", "5"]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == "one\n"
        with folder.server_log.open("ab") as log:
            log.write(b"o\nthree\nlast")
        assert child.stdout.readline() == "two\n"
        assert child.stdout.readline() == "three\n"
        time.sleep(0.2)
        assert child.poll() is None
        with folder.record.open("ab") as record:
            record.write(wire.encode(wire.entry_of(Exit(t=2.0, code=0))))
        assert child.stdout.read() == "last\n"
        assert child.wait(timeout=20) == 0
