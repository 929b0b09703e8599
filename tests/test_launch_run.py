"""launch, stop and restart by the command line, on a fake server: what lives, what ends, what is left behind."""

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from collectors.record.folder import RunFolder
from launch.selfexec import self_argv

FAKE = Path(__file__).parent / "fakes" / "fake_server.py"


class Bench:
    """A state folder of its own; ends every process that it let be started."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.state = root / "state"
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]

    def specwatch(self, *args: str, **env: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            self_argv("--state-dir", str(self.state), *args),
            env={**os.environ, "XDG_CONFIG_HOME": str(self.root), **env},
            cwd=self.root,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    def fake(self, *options: str) -> list[str]:
        return [sys.executable, str(FAKE), "--port", str(self.port), *options]

    def launch(self, *options: str, **env: str) -> RunFolder:
        done = self.specwatch("launch", "--name", "fake", "--", *self.fake(*options), **env)
        assert done.returncode == 0, done.stderr
        return RunFolder(self.state / "runs" / done.stdout.strip())

    def tagged(self) -> dict[int, bytes]:
        """pid -> command line of the living processes of any run of ours."""
        found = {}
        runs = {f"SPECWATCH_RUN={p.name}".encode() for p in (self.state / "runs").glob("*")}
        for entry in Path("/proc").iterdir():
            with contextlib.suppress(OSError):
                if entry.name.isdigit() and runs & set((entry / "environ").read_bytes().split(b"\0")):
                    found[int(entry.name)] = (entry / "cmdline").read_bytes()
        return {pid: command for pid, command in found.items() if command}


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    made = Bench(tmp_path)
    yield made
    for pid in made.tagged():
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    for folder in (made.state / "runs").glob("*"):
        until(lambda: not RunFolder(folder).keeper_lives(), 20)  # noqa: B023


def until(true: Callable[[], Any], seconds: float = 10) -> Any:
    deadline = time.monotonic() + seconds
    while not (found := true()):
        assert time.monotonic() < deadline, f"not within {seconds} s"
        time.sleep(0.05)
    return found


def server_pid(folder: RunFolder) -> int:
    return int(json.loads(folder.server_json.read_text())["pid"])


def holder(lock: Path) -> int:
    """Who has the lock file open."""
    for entry in Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            if entry.name.isdigit() and any(os.readlink(fd) == str(lock) for fd in (entry / "fd").iterdir()):
                return int(entry.name)
    return 0


def test_the_server_gets_the_users_argv_and_environment_and_nothing_of_ours(bench: Bench) -> None:
    dump = bench.root / "env.json"
    folder = bench.launch("--dump-env", str(dump), MINE="$x y", HF_TOKEN="hf-verysecret-1")
    until(lambda: dump.exists() and dump.read_text())
    seen = json.loads(dump.read_text())
    expected = {
        **os.environ,
        "XDG_CONFIG_HOME": str(bench.root),
        "MINE": "$x y",
        "HF_TOKEN": "hf-verysecret-1",
    }
    assert seen["env"] == {**expected, "SPECWATCH_RUN": folder.id}
    assert seen["cwd"] == str(bench.root)
    pid = server_pid(folder)
    assert os.getsid(pid) == pid
    assert os.readlink(f"/proc/{pid}/fd/0") == "/dev/null"
    assert {
        p.name for p in folder.path.iterdir() if b"verysecret" in (p.read_bytes() if p.is_file() else b"")
    } == set()
    assert folder.info().env["HF_TOKEN"] == "$HF_TOKEN"


def test_stop_leaves_nothing_and_the_exit_is_known(bench: Bench) -> None:
    folder = bench.launch("--children", "2")
    until(lambda: len(bench.tagged()) == 3)
    done = bench.specwatch("stop")
    assert done.returncode == 0, done.stderr
    assert f"no process of it is left, port {bench.port} is free" in done.stdout
    assert bench.tagged() == {}
    until(lambda: not folder.keeper_lives())
    assert json.loads(folder.exit_json.read_text())["code"] == 0
    assert oct(folder.server_log.stat().st_mode)[-3:] == "600"


def test_a_server_that_is_dying_is_left_to_it(bench: Bench) -> None:
    """SIGTERM between the error and the end made vLLM 0.16 and 0.32 hang for the whole minute."""
    folder = bench.launch("--dies-in", "3")
    until(lambda: b"failed to start" in folder.server_log.read_bytes())
    time.sleep(0.5)  # the recorder has read it
    began = time.monotonic()
    done = bench.specwatch("stop")
    assert done.returncode == 0, done.stderr
    assert time.monotonic() - began < 10
    assert json.loads(folder.exit_json.read_text())["code"] == 1
    assert json.loads(bench.specwatch("status", "--json").stdout)["phase"] == "failed"


def test_a_server_that_ignores_sigterm_is_killed_only_when_told(bench: Bench) -> None:
    folder = bench.launch("--ignore-term", "--children", "1")
    until(lambda: len(bench.tagged()) == 2)
    time.sleep(0.2)  # let it come to ignoring
    done = bench.specwatch("stop", "--timeout", "0.5")
    assert done.returncode == 3
    assert "--kill" in done.stderr
    assert bench.specwatch("stop", folder.id, "--timeout", "0.5", "--kill").returncode == 0
    assert bench.tagged() == {}
    assert json.loads(folder.exit_json.read_text())["signal"] == signal.SIGKILL


def test_the_server_outlives_keeper_and_recorder_and_the_recorder_comes_back(bench: Bench) -> None:
    folder = bench.launch()
    recorder = until(lambda: folder.recorder_lives() and holder(folder.recorder_lock))
    keeper = holder(folder.keeper_lock)
    rss = Path(f"/proc/{keeper}/status").read_text().partition("VmRSS:")[2].split()[0]
    assert int(rss) < 12 * 1024
    os.kill(recorder, signal.SIGKILL)
    until(lambda: (now := holder(folder.recorder_lock)) and now != recorder)
    os.kill(keeper, signal.SIGKILL)
    until(lambda: not folder.keeper_lives())
    assert server_pid(folder) in bench.tagged()
    assert bench.specwatch("stop", folder.id).returncode == 0
    assert bench.tagged() == {}


def test_orphans_of_a_killed_server_stay_the_keepers(bench: Bench) -> None:
    folder = bench.launch("--children", "2")
    until(lambda: len(bench.tagged()) == 3)
    os.kill(server_pid(folder), signal.SIGKILL)
    until(folder.exit_json.exists)
    assert json.loads(folder.exit_json.read_text())["signal"] == signal.SIGKILL
    keeper = holder(folder.keeper_lock)
    parents = {
        int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1]) for pid in bench.tagged()
    }
    assert parents == {keeper}
    assert bench.specwatch("stop", folder.id).returncode == 0
    assert bench.tagged() == {}


def test_sigterm_to_the_keeper_reaches_the_server(bench: Bench) -> None:
    folder = bench.launch()
    until(lambda: b"startup complete" in folder.server_log.read_bytes())
    os.kill(holder(folder.keeper_lock), signal.SIGTERM)
    until(folder.exit_json.exists)
    assert json.loads(folder.exit_json.read_text())["code"] == 0


def test_a_port_in_use_names_the_run_that_holds_it(bench: Bench) -> None:
    folder = bench.launch()
    until(lambda: b"startup complete" in folder.server_log.read_bytes())
    done = bench.specwatch("launch", "--", *bench.fake())
    assert done.returncode == 2
    assert f"port {bench.port} is in use" in done.stderr
    assert f"specwatch stop {folder.id}" in done.stderr
    assert len(list((bench.state / "runs").iterdir())) == 1


@pytest.mark.parametrize(
    ("name", "mode", "text", "says"),
    [
        ("plain", 0o644, "#!/bin/sh\n", "is not executable"),
        ("noshebang", 0o755, "no program\n", "nor a script with a #! line"),
        ("interpreter", 0o755, "#!/no/such/python\n", "its interpreter"),
    ],
)
def test_what_cannot_be_executed_leaves_nothing_behind(
    bench: Bench, name: str, mode: int, text: str, says: str
) -> None:
    program = bench.root / name
    program.write_text(text)
    program.chmod(mode)
    done = bench.specwatch("launch", "--", str(program), "--port", str(bench.port))
    assert done.returncode == 2
    assert done.stderr.count("error:") == 1
    assert says in done.stderr
    assert not bench.state.exists()


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (["nope"], "there is no profile `nope`"),
        (["--", "vllm", "serve", "m"], "no `vllm` on PATH"),
        (["--", "/no/such/command"], "there is no command /no/such/command"),
        ([], "there is no command to launch"),
        (["--", sys.executable, "--model", "/no/such/model"], "the model cannot be read"),
        (["--patch", "egle3", "--", sys.executable], "there is no patch `egle3`"),
    ],
)
def test_bad_input_is_one_error_and_no_run(bench: Bench, args: list[str], says: str) -> None:
    done = bench.specwatch("launch", *args, PATH="/usr/bin:/bin")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.count("error:") == 1
    assert says in done.stderr
    assert not bench.state.exists()


def test_a_state_folder_of_another_user_is_refused(bench: Bench) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can give a folder away")
    bench.state.mkdir()
    os.chown(bench.state, 12345, 12345)
    done = bench.specwatch("launch", "--", *bench.fake())
    assert done.returncode == 2
    assert "belongs to user 12345" in done.stderr
    assert list(bench.state.iterdir()) == []


def test_restart_needs_its_secrets_again(bench: Bench) -> None:
    folder = bench.launch("--api-key", "sk-verysecret-1")
    missing = bench.specwatch("restart", folder.id)
    assert missing.returncode == 2
    assert "VLLM_API_KEY must be set" in missing.stderr
    assert server_pid(folder) in bench.tagged()
    done = bench.specwatch("restart", folder.id, VLLM_API_KEY="sk-verysecret-1")
    assert done.returncode == 0, done.stderr
    [(pid, command)] = bench.tagged().items()
    assert pid != server_pid(folder)
    assert command.split(b"\0")[-3:-1] == [b"--api-key", b"sk-verysecret-1"]
