"""timings.jsonl: what must agree for two starts to be compared, and that nothing harms the file."""

import threading
from pathlib import Path

import pytest
from msgspec import structs

from collectors.reading.events import RunFacts
from collectors.reading.hosts import HostState
from collectors.reading.log.state import LogState, Step
from collectors.reading.series import Ring
from collectors.reading.state import State
from collectors.record import timings
from tests.run_folders import make_run

FACTS = RunFacts(
    argv=("vllm", "serve", "/m", "--tensor-parallel-size", "8", "--load-format=auto"),
    engine="vllm",
    model_path="/m",
    shard_bytes=(1000, 1000),
)


def ready_state(read: float) -> State:
    steps = (
        Step("start", "starting", 0.0, 10.0),
        Step("weights", "loading", 10.0, 40.0),
        Step("weights", "loading", 42.0, 45.0),
        Step("graphs", "capturing", 45.0, 60.0),
        Step("ready", "ready", 60.0),
    )
    points = ((5.0, 500.0), (11.0, 500.0), (40.0, 500.0 + read), (50.0, 500.0 + read))
    return State(
        t=61.0,
        run=FACTS,
        wall0=1_796_097_600.0,
        log=LogState(steps=steps, ready=True, ready_t=60.0),
        hosts=HostState(read=Ring(240, points=points)),
    )


def test_a_ready_run_becomes_history(tmp_path: Path) -> None:
    folder = make_run(tmp_path / "runs", facts=FACTS, versions={"vllm": "0.32.0"})
    timings.append(folder, folder.info(), ready_state(1900.0))
    (past,) = timings.history(tmp_path, timings.key_of(folder.info()))
    assert past.steps == {"start": 10.0, "weights": 33.0, "graphs": 15.0}
    assert past.total == 60.0
    assert past.cold is True
    assert past.when == "2026-12-01"
    assert timings.history(tmp_path, "another key") == ()
    assert (tmp_path / timings.FILE).stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(("read", "cold"), [(0.0, False), (900.0, False), (1000.0, True)])
def test_cold_is_what_came_from_storage(read: float, cold: bool) -> None:
    assert timings.past_run(ready_state(read)).cold is cold


def test_cold_is_unknown_without_sizes_or_readings() -> None:
    state = ready_state(0.0)
    assert timings.past_run(structs.replace(state, run=RunFacts())).cold is None
    assert timings.past_run(structs.replace(state, hosts=HostState())).cold is None


@pytest.mark.parametrize(
    "change",
    [
        {"model_path": "/other"},
        {"shard_bytes": (1000, 1001)},
        {"argv": ("vllm", "serve", "/m", "--tensor-parallel-size", "4", "--load-format=auto")},
        {"argv": (*FACTS.argv, "--enforce-eager")},
        {"argv": (*FACTS.argv, "--quantization", "fp8")},
        {"argv": (*FACTS.argv, "--speculative-config", '{"method":"eagle3"}')},
        {"drafter_path": "/d"},
    ],
)
def test_what_decides_the_time_is_in_the_key(change: dict[str, object]) -> None:
    assert timings.key(structs.replace(FACTS, **change), "h", "0.32.0") != timings.key(FACTS, "h", "0.32.0")


def test_what_does_not_is_not() -> None:
    port = structs.replace(FACTS, argv=(*FACTS.argv, "--port", "8001"), id="x", name="y")
    other_way = ("vllm", "serve", "/m", "--tensor_parallel_size=8", "--load-format", "auto")
    assert timings.key(port, "h", "0.32.9") == timings.key(FACTS, "h", "0.32.0")
    assert timings.key(structs.replace(FACTS, argv=other_way), "h", "0.32.0") == timings.key(
        FACTS, "h", "0.32.0"
    )
    assert timings.key(FACTS, "h", "0.33.0") != timings.key(FACTS, "h", "0.32.0")
    assert timings.key(FACTS, "other", "0.32.0") != timings.key(FACTS, "h", "0.32.0")


def test_damaged_lines_are_passed_over_and_appenders_share_the_file(tmp_path: Path) -> None:
    folder = make_run(tmp_path / "runs", facts=FACTS)
    (tmp_path / timings.FILE).write_bytes(b'garbage\n{"key": 5}\n\xff\n')
    appenders = [
        threading.Thread(target=timings.append, args=(folder, folder.info(), ready_state(0.0)))
        for _ in range(8)
    ]
    for appender in appenders:
        appender.start()
    for appender in appenders:
        appender.join()
    assert len(timings.history(tmp_path, timings.key_of(folder.info()))) == 8


def test_a_state_folder_that_cannot_be_written_harms_nothing(tmp_path: Path) -> None:
    folder = make_run(tmp_path / "runs", facts=FACTS)
    (tmp_path / timings.FILE).mkdir()
    timings.append(folder, folder.info(), ready_state(0.0))
    assert timings.history(tmp_path, "any") == ()
