"""stop on a server that takes its time: what is said meanwhile, and that it goes on when nobody listens."""

import os
import subprocess

import pytest

from launch import stopping
from launch.selfexec import self_argv
from tests.test_launch_run import Bench, bench, until

__all__ = ["bench"]


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
