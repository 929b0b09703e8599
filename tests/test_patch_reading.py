"""Patch lines of several processes -> counts and troubles."""

import json
from pathlib import Path

import pytest

from collectors.reading.events import AnyEvent, HostSample, Log, Proc, RunFacts, Started, Tick
from collectors.reading.report import report
from collectors.reading.state import State, step
from tests.conftest import Cli
from tests.run_folders import make_run, write_record

LOADING = b"(Worker_TP0 pid=3) INFO 12-01 03:25:08 [gpu_model_runner.py:3562] Starting to load model m/K...\n"


def said(patch: str, status: str, pid: int) -> bytes:
    return f"[specwatch-patch] {json.dumps({'patch': patch, 'status': status, 'pid': pid})}\n".encode()


def state_of(
    *lines: bytes, patches: tuple[str, ...] = ("eagle3",), procs: dict[int, Proc] | None = None
) -> State:
    log = b"".join(lines)
    events: list[AnyEvent] = [Started(t=0.0, run=RunFacts(patches=patches)), Log(t=1.0, offset=0, data=log)]
    events.append(HostSample(t=1.0, procs=procs or {}))
    state = State()
    for event in events:
        state = step(state, event)
    return state


def errors(state: State) -> list[str]:
    return [p["line"] for p in report(state).problems if p["severity"] == "error"]


def test_the_last_word_of_each_process_counts() -> None:
    found = report(
        state_of(
            said("eagle3.whitelist", "applied", 1),
            said("eagle3.whitelist", "applied", 2),
            said("eagle3.interface_deepseek", "armed", 1),
            said("eagle3.interface_deepseek", "armed", 2),
            said("eagle3.interface_deepseek", "applied", 2),
        )
    )
    assert found.patches == {
        "eagle3.whitelist": {"applied": 2},
        "eagle3.interface_deepseek": {"armed": 1, "applied": 1},
    }
    assert found.problems == []


def test_a_failed_patch_is_an_error() -> None:
    assert errors(state_of(said("mine.patch", "failed", 1), patches=("mine.patch",))) == [
        "patch mine.patch failed"
    ]


def test_no_line_before_loading_begins_means_that_it_never_ran() -> None:
    assert errors(state_of()) == []
    assert errors(state_of(LOADING)) == ["patch eagle3 never ran: no process of the server said so"]
    assert errors(state_of(LOADING, patches=())) == []


def test_a_process_without_it_is_named() -> None:
    procs = {1: Proc("vllm"), 2: Proc("VLLM::EngineCore"), 3: Proc("VLLM::Worker_TP0"), 4: Proc("python3")}
    lines = [said("eagle3.whitelist", "applied", pid) for pid in (1, 2)]
    assert errors(state_of(*lines, LOADING, procs=procs)) == ["the patches did not run in VLLM::Worker_TP0"]
    assert errors(state_of(*lines, said("eagle3.whitelist", "applied", 3), LOADING, procs=procs)) == []


def test_status_says_what_no_line_of_the_log_does(state: Path, cli: Cli) -> None:
    facts = RunFacts(patches=("eagle3",), advice=("doctor, t2d: t2d marks 3 ids of 96",))
    folder = make_run(state / "runs", "r", facts=facts)
    folder.server_log.write_bytes(said("eagle3.whitelist", "failed", 1))
    size = folder.server_log.stat().st_size
    write_record(folder, [Log(t=1.0, offset=0, data=b"x" * size), Tick(t=2.0)])
    text = cli("status", "r").stdout
    assert "\n✗ patch eagle3.whitelist failed: the log says why\n" in text
    assert "\n! doctor, t2d: t2d marks 3 ids of 96\n" in text


@pytest.mark.parametrize(
    "hostile", [b"[specwatch-patch] {", b'[specwatch-patch] {"patch": "' + b"x" * 5000 + b'"}']
)
def test_a_torn_line_is_no_line(hostile: bytes) -> None:
    assert report(state_of(hostile + b"\n")).patches == {}
