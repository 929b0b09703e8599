"""Servers that specwatch did not start: by file, pipe, command, address and process; watched once."""

import contextlib
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import psutil
import pytest

from collectors.errors import ExitCode, SpecwatchError
from collectors.reading.events import RunFacts
from collectors.record import inbox, runs
from collectors.record.folder import RunFolder
from collectors.record.follow import Follower
from collectors.sources.tree import stat
from launch import foreign, process
from tests.conftest import ROOT, Cli
from tests.run_folders import make_run, until

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


def ended(pid: int) -> bool:
    now = stat(pid)
    return now is not None and now.state == "Z"


@contextlib.contextmanager
def process_of(*args: str) -> Iterator[subprocess.Popen[bytes]]:
    """A Python that runs until the test is done with it."""
    with subprocess.Popen([sys.executable, *args], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL) as child:
        until(lambda: Path(f"/proc/{child.pid}/cmdline").read_bytes() or ended(child.pid))
        yield child
        child.kill()


@contextlib.contextmanager
def serving() -> Iterator[int]:
    """The port of a server that answers 503 to everything."""

    class Sick(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_error(503)

        def log_message(self, *_: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Sick) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        try:
            yield server.server_port
        finally:
            server.shutdown()
            thread.join()


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
        (["--url", "http://127.0.0.1:9"], "nothing answers at http://127.0.0.1:9"),
        (["--name", "x", "--url", "127.0.0.1:9"], "nothing answers"),
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


def test_what_does_not_answer_is_watched_when_told_and_the_watching_ends(cli: Cli, state: Path) -> None:
    answer = cli("attach", "--no-screen", "--url", "http://127.0.0.1:9", "--wait", "--name", "theirs")
    assert answer.returncode == 0
    assert answer.stderr == "nothing answers at http://127.0.0.1:9 yet: it is asked until something does\n"
    stopped = cli("stop", "theirs")
    assert (stopped.returncode, stopped.stderr) == (0, "")
    assert stopped.stdout == "theirs is no longer watched; the server was not touched\n"
    assert json.loads(cli("status", "theirs", "--json").stdout)["live"] is False
    assert "ended before" in cli("stop", "theirs").stdout
    assert cli("runs", "--prune", "--yes").stdout == answer.stdout


def test_a_server_that_answers_needs_no_wait(cli: Cli, state: Path) -> None:
    """Whatever it answers: one that still loads, or is sick, says 503."""
    with serving() as port:
        folder = attached(cli, state, "--url", f"http://127.0.0.1:{port}")
        assert folder.info().url == f"http://127.0.0.1:{port}"


def test_what_is_watched_elsewhere_is_ended_there(cli: Cli, state: Path) -> None:
    make_run(state / "runs", "theirs", host="elsewhere", facts=RunFacts(foreign=True))
    answer = cli("stop", "theirs")
    assert answer.returncode == ExitCode.USAGE
    assert "`ssh elsewhere specwatch stop theirs`" in answer.stderr


def test_a_watching_whose_recorder_was_lost_is_over(cli: Cli, state: Path) -> None:
    make_run(state / "runs", "theirs", host=os.uname().nodename, facts=RunFacts(foreign=True))
    assert cli("stop", "theirs").stdout.startswith("theirs was not watched any more")


def test_stop_without_run_does_not_mean_a_server_of_others(cli: Cli, state: Path, tmp_path: Path) -> None:
    (tmp_path / "vllm.log").write_bytes(LINE)
    folder = attached(cli, state, "--log", str(tmp_path / "vllm.log"))
    answer = cli("stop")
    assert answer.returncode == ExitCode.NO_SUCH_RUN
    assert f"`specwatch stop {folder.id}` ends the watching" in answer.stderr


def test_a_process_that_is_no_server_is_doubted_and_left_alone(cli: Cli, state: Path) -> None:
    with process_of("-c", "input()") as other:
        answer = cli("attach", "--no-screen", "--pid", str(other.pid), "--name", "theirs")
        assert answer.returncode == 0
        assert f"warning: process {other.pid} (" in answer.stderr
        assert "names neither vLLM nor SGLang and listens nowhere" in answer.stderr
        (listed,) = json.loads(cli("runs", "--json").stdout)
        assert listed["url"] is None
        stopped = cli("stop", "theirs")
        assert "theirs is no longer watched; the server was not touched" in stopped.stdout
        assert f"`kill {other.pid}`" in stopped.stderr
        assert other.poll() is None


def test_a_process_that_has_ended_is_no_process() -> None:
    with process_of("-c", "") as other:
        until(lambda: ended(other.pid))
        with pytest.raises(SpecwatchError, match="has ended"):
            process.look(other.pid)


@pytest.mark.parametrize(
    ("words", "url"),
    [
        ("vllm serve m", "http://127.0.0.1:8000"),
        ("/opt/venv/bin/vllm serve m --port=8001 --host 10.0.0.7", "http://10.0.0.7:8001"),
        ("vllm serve --config server.yaml", None),
        ("vllm serve --config server.yaml --port 8002", "http://127.0.0.1:8002"),
        ("sglang.launch_server --model-path m", "http://127.0.0.1:30000"),
        ("own_server.py", None),
        ("vllm.log", None),
    ],
)
@pytest.mark.parametrize("wrapped", [False, True], ids=["itself", "a child"])
def test_the_address_is_what_the_command_says_or_unknown(words: str, url: str | None, wrapped: bool) -> None:
    server = ["-c", "input()", *words.split()]
    script = ["-c", f"import subprocess, sys; subprocess.run([sys.executable, *{server}])"]
    with process_of(*(script if wrapped else server)) as first:
        if wrapped:
            until(lambda: [c.cmdline()[1:] for c in psutil.Process(first.pid).children()] == [server])
        assert process.look(first.pid).url == url


def test_the_address_of_an_unknown_server_is_what_its_own_command_says() -> None:
    with process_of("-c", "input()", "own_server.py", "--port", "8003") as server:
        assert process.look(server.pid).url == "http://127.0.0.1:8003"


def test_the_address_is_where_it_listens() -> None:
    with serving() as port:
        seen = process.look(os.getpid())
        assert (seen.url, seen.doubt) == (f"http://127.0.0.1:{port}", "")


def test_a_part_of_a_server_is_doubted() -> None:
    title = ["VLLM::EngineCore"]
    with subprocess.Popen(title, executable="/bin/cat", stdin=subprocess.PIPE) as part:
        until(lambda: process.argv_of(part.pid))
        seen = process.look(part.pid)
        assert seen.url is None
        assert "is a part of a server" in seen.doubt
        assert part.stdin is not None
        part.stdin.close()


@pytest.mark.parametrize(
    ("words", "engine"),
    [
        ("vllm serve m", "vllm"),
        ("python3 /usr/bin/vllm serve m", "vllm"),
        ("numactl -N 0 -m 0 vllm serve m", "vllm"),
        ("python -m vllm.entrypoints.openai.api_server --model m", "vllm"),
        ("python -m sglang.launch_server --model-path m", "sglang"),
        ("vllm bench serve --model m", None),
        ("tail -f vllm.log", None),
        ("bash vllm.sh", None),
        ("", None),
    ],
)
def test_which_command_line_is_a_servers(words: str, engine: str | None) -> None:
    assert process.served_by(words.split()) == engine


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
