"""`specwatch demo` as it is typed, without a terminal; and Ctrl-C in the middle of it."""

import os
import signal
import subprocess
import time

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


def test_ctrl_c_leaves_nothing_running(server: Server) -> None:
    job = demo(server)
    deadline = time.monotonic() + START_S
    while not (found := runs.every(server.state)) or not found[0].server_log.exists():
        assert time.monotonic() < deadline
        time.sleep(0.2)
    server.id = found[0].id
    server.until("its processes", lambda _: server.processes(), 60)
    os.killpg(job.pid, signal.SIGINT)  # what a terminal does
    _, err = job.communicate(timeout=120)
    assert job.returncode == 130, err
    assert not server.processes()
    assert server.status()["phase"] == "stopped"
