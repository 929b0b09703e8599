"""`specwatch demo` as it is typed, without a terminal; and Ctrl-C or a hang-up in the middle of it."""

import contextlib
import os
import signal
import subprocess
import time

import pytest

from collectors.record import runs
from tests.engine.driver import REPOSITORY, START_S, Server, ended


def demo(server: Server, *flags: str) -> subprocess.Popen[str]:
    env = {**os.environ, "PATH": f"{server.engine.vllm.parent}{os.pathsep}{os.environ['PATH']}"}
    return subprocess.Popen(
        server.words("demo", "--cache-dir", str(server.pair.target.parents[1]), *flags),
        cwd=REPOSITORY, env=env, stdin=subprocess.DEVNULL, start_new_session=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def test_it_loads_benches_sums_up_and_stops(server: Server) -> None:
    job = demo(server, "--no-baseline")
    out, err = job.communicate(timeout=3 * START_S)
    [folder] = runs.every(server.state)
    server.id = folder.id
    assert job.returncode == 0, err
    for text in (
        "ready after",
        "weights",
        "drafter",
        "acceptance rate",
        "mean length",
        "position 2",
        str(folder.path),
    ):
        assert text in out
    assert "—" not in out
    assert "speed-up" not in out
    assert not server.processes()
    state = ended(server)
    weights = next(step for step in state.log.steps if step.name == "weights")
    assert weights.t1 is not None
    assert weights.t1 - weights.t0 > 15  # slow enough to be watched


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGHUP], ids=["ctrl-c", "hang-up"])
def test_cut_short_it_leaves_nothing_running(server: Server, number: signal.Signals) -> None:
    """Twice, as an impatient user types it, and as a terminal that closes says it; a loading vLLM hears no SIGTERM."""
    job = demo(server)
    deadline = time.monotonic() + START_S
    while not (found := runs.every(server.state)) or not found[0].server_log.exists():
        assert time.monotonic() < deadline
        time.sleep(0.2)
    server.id = found[0].id
    server.until("its processes", lambda _: server.processes(), 60)
    began = time.monotonic()
    os.killpg(job.pid, number)  # what a terminal does
    time.sleep(1)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(job.pid, number)
    _, err = job.communicate(timeout=120)
    assert job.returncode == 128 + number, err
    assert time.monotonic() - began < 30
    assert not server.processes()
    assert server.status()["phase"] == "stopped"
