"""Drives `specwatch` as a user does, by its command line, and looks at the processes and pages behind it."""

import contextlib
import os
import re
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec

from collectors.reading.state import State
from collectors.record import checkpoint
from collectors.record.folder import RunFolder
from collectors.record.follow import Follower
from launch.demo import serve
from launch.demo.engines import Engine
from launch.demo.models import Pair

REPOSITORY = Path(__file__).parents[2]
START_S = 300.0  # 25 s alone on two cores, 90 s beside other work
DIRECT = urllib.request.build_opener(urllib.request.ProxyHandler({}))


class Server:
    """One run on a real server, launched by `specwatch launch --detach`."""

    def __init__(self, state: Path, engine: Engine, pair: Pair) -> None:
        self.state = state
        self.engine = engine
        self.pair = pair
        self.port = serve.free_port()
        self.id = ""

    # --- commands

    def words(self, *args: str) -> list[str]:
        return [sys.executable, "-m", "launch", "--state-dir", str(self.state), *args]

    def specwatch(self, *args: str, env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            self.words(*args), cwd=REPOSITORY, env=env, stdin=subprocess.DEVNULL,
            capture_output=True, text=True, timeout=2 * START_S, check=False,
        )  # fmt: skip

    def argv(self, *, speculate: bool = False, target: Path | None = None) -> list[str]:
        pair = Pair(target or self.pair.target, self.pair.drafter)
        return serve.argv(self.engine, pair, self.port, speculate=speculate)

    def environment(self, *, slow: bool = False) -> dict[str, str]:
        return serve.environment(self.pair, dict(os.environ), slow=slow)

    def launch_words(self, name: str, argv: Sequence[str], *flags: str) -> list[str]:
        return self.words("launch", "--name", name, "--detach", *flags, "--", *argv)

    def launch(
        self, name: str, argv: Sequence[str], *flags: str, slow: bool = False
    ) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            self.launch_words(name, argv, *flags), cwd=REPOSITORY, env=self.environment(slow=slow),
            stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, check=False,
        )  # fmt: skip
        if done.returncode == 0:
            self.id = done.stdout.split()[0]
        return done

    def status(self) -> dict[str, Any]:
        done = self.specwatch("status", self.id, "--json")
        assert done.returncode == 0, done.stderr
        return msgspec.json.decode(done.stdout, type=dict[str, Any])

    def wait(self, timeout: float = START_S) -> subprocess.CompletedProcess[str]:
        return self.specwatch("wait", self.id, "--timeout", str(timeout))

    def until(
        self, what: str, true: Callable[[dict[str, Any]], Any], seconds: float = START_S
    ) -> dict[str, Any]:
        """The first status for which `true` holds."""
        deadline = time.monotonic() + seconds
        while True:
            now = self.status()
            if true(now):
                return now
            assert time.monotonic() < deadline, f"not within {seconds:.0f} s: {what}; {now}"
            time.sleep(0.3)

    # --- what is behind it

    @property
    def folder(self) -> RunFolder:
        return RunFolder(self.state / "runs" / self.id)

    def processes(self) -> dict[int, str]:
        """The server's tree: pid -> command line, by the mark that the keeper put into its environment."""
        mark = f"SPECWATCH_RUN={self.id}".encode()
        leader = b""
        with contextlib.suppress(OSError, msgspec.MsgspecError):
            leader = str(msgspec.json.decode((self.folder.path / "server.json").read_bytes())["pid"]).encode()
        found = {}
        for entry in Path("/proc").iterdir():
            with contextlib.suppress(OSError):
                if not entry.name.isdigit():
                    continue
                # setproctitle may write over the environment: the session tells what the mark does not.
                session = (entry / "stat").read_bytes().rpartition(b")")[2].split()[3]
                if session == leader or mark in (entry / "environ").read_bytes().split(b"\0"):
                    command = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
                    if command:  # a zombie has none
                        found[int(entry.name)] = command
        return found

    def pid(self, role: str) -> int:
        """role: "api", "engine", "worker" of the server; "keeper", "recorder" of ours."""
        if role in ("keeper", "recorder"):
            return holder(self.folder.keeper_lock if role == "keeper" else self.folder.recorder_lock)
        sign = {"api": " serve ", "engine": "VLLM::EngineCore", "worker": "VLLM::Worker"}[role]
        [pid] = [pid for pid, command in self.processes().items() if sign in command]
        return pid

    def kill(self, role: str) -> int:
        pid = self.pid(role)
        os.kill(pid, signal.SIGKILL)
        return pid

    def counters(self) -> dict[str, float]:
        """The page's counters by name, summed over their labels but `position`: `…_per_pos_total[0]`."""
        page = DIRECT.open(f"http://127.0.0.1:{self.port}/metrics", timeout=30).read().decode()
        sums: dict[str, float] = {}
        for line in page.splitlines():
            if line.startswith("vllm:") and (head := line.rpartition(" "))[2]:
                name, _, labels = head[0].partition("{")
                if position := re.search(r'position="(\d+)"', labels):
                    name += f"[{position[1]}]"
                sums[name] = sums.get(name, 0.0) + float(head[2])
        return sums

    def reading(self) -> State:
        """The run's State, as every front end reads it."""
        follower = Follower(self.folder)
        follower.advance()
        return follower.state

    def clear(self) -> None:
        """Nothing of the run is left after this, whatever the test did."""
        if self.id:
            # A server that is dying may wait for good after a SIGTERM (0.16, 0.32): the default would cost a minute.
            self.specwatch("stop", self.id, "--kill", "--timeout", "15")
            for pid in self.processes():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)

    def tell(self) -> str:
        """For a failed test: where the run stands and the end of its log and troubles."""
        if not self.id:
            return "nothing was launched"
        parts = [self.specwatch("status", self.id).stdout, self.specwatch("status", self.id, "--json").stdout]
        for name in ("keeper.err", "recorder.err", "server.log"):
            with contextlib.suppress(OSError):
                lines = (self.folder.path / name).read_text(errors="replace").splitlines()[-40:]
                parts.append(f"--- {name}\n" + "\n".join(lines))
        return "\n".join(parts)


def holder(lock: Path) -> int:
    """The process that holds the flock, as the kernel's list of locks names it."""
    inode = str(lock.stat().st_ino)
    for line in Path("/proc/locks").read_text().splitlines():
        fields = line.split()
        if fields[1] == "FLOCK" and fields[5].endswith(":" + inode):
            return int(fields[4])
    raise AssertionError(f"nobody holds {lock}")


def ended(server: Server, seconds: float = 120.0) -> State:
    """The recorder's own last State, once it is gone; it equals a replay from the start and any resumed one.

    The test that keeps "one record, one reader" true, here on a run that was live a second ago.
    """
    deadline = time.monotonic() + seconds
    while server.folder.recorder_lives():
        assert time.monotonic() < deadline, f"the recorder goes on:\n{server.tell()}"
        time.sleep(0.2)
    kept = checkpoint.load(server.folder)
    assert kept is not None
    again = Follower(server.folder, from_start=True)
    again.advance()
    assert again.ended
    assert again.record_offset == kept.record_offset == server.folder.record.stat().st_size
    assert again.state == kept.state
    sliced = Follower(server.folder, from_start=True)
    while sliced.advance(max_s=0.0):  # one line of the record a time
        pass
    assert sliced.state == again.state
    assert again.log_offset == server.folder.server_log.stat().st_size
    return again.state
