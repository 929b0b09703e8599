"""Servers that specwatch did not start: by file, pipe, command, address and process; watched once."""

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from collectors.errors import ExitCode, SpecwatchError
from collectors.record import inbox, runs
from collectors.record.folder import RunFolder
from collectors.record.follow import Follower
from launch import foreign
from tests.conftest import ROOT, Cli

LINE = b"INFO 12-01 05:17:09 [api_server.py:1] vLLM API server version 0.32.0\n"


@pytest.fixture(autouse=True)
def no_recorder_stays(state: Path) -> Iterator[None]:
    yield
    for folder in runs.every(state):
        if folder.recorder_lives():
            inbox.post(folder, "stop")
    deadline = time.monotonic() + 20
    while any(folder.recorder_lives() for folder in runs.every(state)):
        assert time.monotonic() < deadline, "a recorder outlives its test"
        time.sleep(0.1)


def log_of(folder: RunFolder, size: int) -> bytes:
    """server.log once the record has indexed `size` bytes of it."""
    run = Follower(folder)
    deadline = time.monotonic() + 20
    while run.log_offset < size:
        assert time.monotonic() < deadline, (folder.path / "recorder.err").read_text()
        run.advance()
        time.sleep(0.05)
    return folder.server_log.read_bytes()


def attached(cli: Cli, state: Path, *args: str) -> RunFolder:
    answer = cli("attach", "--no-screen", *args)
    assert answer.returncode == 0, answer.stderr
    return runs.find(state, answer.stdout.strip())


def test_a_log_file_is_followed_and_watched_once(cli: Cli, state: Path, tmp_path: Path) -> None:
    log = tmp_path / "vllm.log"
    with log.open("ab") as file:
        file.write(LINE)
        file.flush()
        folder = attached(cli, state, "--log", str(log))
        assert folder.info().facts.foreign
        assert folder.info().facts.name == "vllm"
        assert log_of(folder, len(LINE)) == LINE
        file.write(LINE)
        file.flush()
        assert log_of(folder, 2 * len(LINE)) == 2 * LINE
        again = cli("attach", "--no-screen", "--log", str(log))
        assert again.stdout.strip() == folder.id
        assert "already watched" in again.stderr
        assert json.loads(cli("status", folder.id, "--json").stdout)["live"] is True


def test_a_pipe_is_read_by_the_recorder_itself(state: Path) -> None:
    """`… | specwatch attach --log -` returns; the pipe stays with the recorder until the writer leaves."""
    command = [sys.executable, "-m", "launch", "--state-dir", str(state)]
    command += ["attach", "--no-screen", "--name", "piped", "--log", "-"]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdin is not None
        assert child.stdout is not None
        child.stdin.write(LINE)
        child.stdin.flush()
        folder = runs.find(state, child.stdout.readline().decode().strip())
        assert child.wait(timeout=20) == 0
        child.stdin.write(LINE)
        child.stdin.flush()
        assert log_of(folder, 2 * len(LINE)) == 2 * LINE
    run = Follower(folder)
    deadline = time.monotonic() + 20
    while not run.ended:
        assert time.monotonic() < deadline
        run.advance()
        time.sleep(0.05)
    assert run.state.life.exit is not None
    assert run.state.life.exit.code is None
    assert "standard input" in run.state.life.exit.reason


def test_a_command_prints_the_log(cli: Cli, state: Path) -> None:
    script = f"import sys, time; sys.stdout.buffer.write({LINE!r}); sys.stdout.flush(); time.sleep(60)"
    folder = attached(cli, state, "--log-command", "--", sys.executable, "-c", script)
    assert log_of(folder, len(LINE)) == LINE
    assert folder.info().log_source == {"command": [sys.executable, "-c", script]}


def test_a_process_gives_its_log_its_address_and_its_end(cli: Cli, state: Path, tmp_path: Path) -> None:
    log = tmp_path / "server.out"
    script = f"import os, sys, time; os.write(1, {LINE!r}); sys.stdin.read()"
    words = ["vllm", "serve", "m", "--port", "8341", "--host", "0.0.0.0", "--api-key", "sk-top-secret-1"]
    with (
        log.open("wb") as out,
        subprocess.Popen([sys.executable, "-c", script, *words], stdin=subprocess.PIPE, stdout=out) as server,
    ):
        folder = attached(cli, state, "--pid", str(server.pid), "--name", "theirs")
        info = folder.info()
        assert info.url == "http://127.0.0.1:8341"
        assert info.log_source == {"file": str(log)}
        assert "sk-top-secret-1" not in folder.run_json.read_text()
        assert log_of(folder, len(LINE)) == LINE
        assert server.stdin is not None
        server.stdin.close()
        server.wait(timeout=10)
    run = Follower(folder)
    deadline = time.monotonic() + 20
    while not run.ended:
        assert time.monotonic() < deadline
        run.advance()
        time.sleep(0.05)
    assert run.state.life.exit is not None
    assert run.state.life.exit.code is None


def test_a_run_that_lost_its_recorder_gets_one_again(cli: Cli, state: Path, tmp_path: Path) -> None:
    log = tmp_path / "vllm.log"
    log.write_bytes(LINE)
    folder = foreign.create(state, foreign.target(str(log), (), None, None, None), None)
    assert not folder.recorder_lives()
    answer = cli("attach", "--no-screen", folder.id)
    assert answer.stdout.strip() == folder.id
    assert "a recorder was started" in answer.stderr
    assert log_of(folder, len(LINE)) == LINE


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (["--log", "/nonexistent/x.log"], "does not exist"),
        (["--log", "/"], "is a directory"),
        (["--log", "-", "--log-command", "--", "cat"], "two logs"),
        (["--log-command"], "needs a command"),
        (["--url", "ftp://x"], "no address"),
        (["--url", "http://user:secret@x"], "no address"),
        (["--pid", "999999999"], "no process"),
        (["run", "--url", "http://127.0.0.1:8342"], "is a run"),
        (["run", "surplus"], "one word too many"),
    ],
)
def test_bad_input_leaves_no_run_behind(cli: Cli, state: Path, args: list[str], says: str) -> None:
    answer = cli("attach", "--no-screen", *args)
    assert answer.returncode == ExitCode.USAGE
    assert answer.stdout == ""
    assert says in answer.stderr.splitlines()[0]
    assert len(answer.stderr.splitlines()) == 2
    assert not runs.every(state)


def test_the_screen_needs_a_terminal(cli: Cli, state: Path, tmp_path: Path) -> None:
    log = tmp_path / "vllm.log"
    log.write_bytes(LINE)
    answer = cli("attach", "--log", str(log))
    assert answer.returncode == ExitCode.USAGE
    assert "--no-screen" in answer.stderr
    assert not runs.every(state)


@pytest.mark.parametrize(
    ("given", "url"),
    [
        ("127.0.0.1:8000", "http://127.0.0.1:8000"),
        ("http://h:1/v1/", "http://h:1"),
        ("https://h/metrics", "https://h"),
        ("http://[::1]:8000/", "http://[::1]:8000"),
    ],
)
def test_addresses_as_people_write_them(given: str, url: str) -> None:
    assert foreign.target(None, (), given, None, None).url == url


def test_a_log_file_that_is_closed_to_us(tmp_path: Path) -> None:
    log = tmp_path / "x.log"
    with pytest.raises(SpecwatchError):
        foreign.target(str(log), (), None, None, None)
