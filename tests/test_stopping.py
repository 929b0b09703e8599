"""stop on a server that takes its time: what is said meanwhile, and that it goes on when nobody listens."""

import json
import os
import subprocess
import sys

import pytest

from collectors.record.folder import RunFolder
from launch import stopping
from launch.selfexec import self_argv
from tests.test_launch_run import Bench, bench, until

__all__ = ["bench"]

# vLLM 0.32 asked to stop amid a request: its Engine ends, then it waits for the client, who waits for an answer.
WAITS_FOR_ITS_CLIENT = """
import os, signal, time
if (engine := os.fork()) == 0:
    open("/proc/self/comm", "w").write("VLLM::EngineCore")
    time.sleep(600)
asked = []
def stop(*_):
    if asked:
        os._exit(0)
    asked.append(1)
    os.kill(engine, signal.SIGKILL)
    os.waitpid(engine, 0)
signal.signal(signal.SIGTERM, stop)
print("startup complete", flush=True)
while True:
    time.sleep(60)
"""


def test_a_long_stop_says_what_it_waits_for(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = bench.launch("--ignore-term")
    until(lambda: b"startup complete" in folder.server_log.read_bytes())
    monkeypatch.setattr(stopping, "SAY_S", 0.4)
    done = stopping.stop(folder, timeout=1.0, kill=True)
    assert "no process of it is left" in done
    first, *between, last = capsys.readouterr().err.splitlines()
    assert first.endswith("to stop; SIGKILL after 1 s")
    assert between
    assert all("s left; there are still python" in line for line in between)
    assert last.startswith("after 1 s there are still python")
    assert last.endswith(": killed")


def test_a_stop_that_nobody_reads_goes_on_to_its_end(bench: Bench) -> None:
    """A pager that was left, a terminal that was closed: the kill must follow all the same."""
    folder = bench.launch("--ignore-term", "--children", "1")
    until(lambda: len(bench.tagged()) == 2)
    read, write = os.pipe()
    os.close(read)
    words = self_argv("--state-dir", str(bench.state), "stop", folder.id, "--kill", "--timeout", "1")
    try:
        subprocess.run(words, stdout=write, stderr=write, timeout=30, check=False)
    finally:
        os.close(write)
    assert bench.tagged() == {}


def test_a_server_whose_engine_has_gone_is_asked_again(bench: Bench) -> None:
    done = bench.specwatch("launch", "--name", "w", "--", sys.executable, "-c", WAITS_FOR_ITS_CLIENT)
    folder = RunFolder(bench.state / "runs" / done.stdout.strip())
    until(lambda: b"startup complete" in folder.server_log.read_bytes())
    done = bench.specwatch("stop", "--timeout", "20")
    assert done.returncode == 0, done.stderr
    assert bench.tagged() == {}
    until(folder.exit_json.exists)
    assert json.loads(folder.exit_json.read_text())["code"] == 0
