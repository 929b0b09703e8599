"""Where a run stands, from events made by hand: its log, its health, its exit and who asked for a stop."""

import itertools
from pathlib import Path

import pytest

from collectors.reading.events import (
    AnyEvent,
    Box,
    Clock,
    Exit,
    Health,
    HostSample,
    Log,
    Reaped,
    Request,
    RunFacts,
    Started,
    Tick,
)
from collectors.reading.report import Report, conclusion, phase, report
from collectors.reading.state import State, step
from launch import summary
from launch.commands import wait
from tests.run_folders import make_run, read, write_record

BANNER = (
    "(APIServer pid=1) INFO 12-01 03:25:00 [startup.py:40] vLLM server version 0.32.0, serving model m/K\n"
)
CONFIG = "(APIServer pid=1) INFO 12-01 03:25:09 [model.py:547] Resolved architecture: LlamaForCausalLM\n"
LOADING = (
    "(Worker pid=3) INFO 12-01 03:25:30 [gpu_model_runner.py:4125] Starting to load model m/K...\n"
    "Loading safetensors checkpoint shards:   0% Completed | 0/4 [00:00<?, ?it/s]\n"
    "Loading safetensors checkpoint shards:  50% Completed | 2/4 [00:20<00:20, 10.00s/it]\n"
)
READY = "(APIServer pid=1) INFO:     Application startup complete.\n"
STOPS = "(APIServer pid=1) INFO 12-01 03:30:00 [launcher.py:120] [shutdown] API server: shutdown triggered\n"
CORE_DIED = (
    "(APIServer pid=1) ERROR 12-01 03:30:00 [core_client.py:700] Engine core proc EngineCore died unexpectedly, "
    "shutting down client.\n"
)
WORKER_DIED = (
    "(EngineCore pid=2) ERROR 12-01 03:53:46 [multiproc_executor.py:315] Worker proc VllmWorker-0 died unexpectedly "
    "(exit code: -9), shutting down executor.\n"
)


def after(*events: AnyEvent, facts: RunFacts | None = None) -> State:
    state = step(State(), Started(t=0.0, run=facts or RunFacts(engine="vllm")))
    for event in events:
        state = step(state, event)
    return state


def logged(*parts: str, t: float = 10.0) -> list[AnyEvent]:
    """Each part a second after the one before, the first at `t`."""
    offsets = itertools.accumulate((len(part.encode()) for part in parts), initial=0)
    return [
        Log(t=t + n, offset=offset, data=part.encode())
        for n, (part, offset) in enumerate(zip(parts, offsets, strict=False))
    ]


def rules(found: Report) -> list[str]:
    return [problem["rule"] for problem in found.problems]


# -- ready


@pytest.mark.parametrize("said", [True, False], ids=["ready-line", "no-line"])
@pytest.mark.parametrize("owner", ["same", "other", "unknown"])
def test_health_and_whose_socket_it_is(owner: str, said: bool) -> None:
    parts = [BANNER, CONFIG, LOADING, *([READY] if said else [])]
    found = report(after(*logged(*parts), Health(t=15.0, status=200, owner=owner, owner_pid=77)))
    assert found.ready == (owner != "other")
    assert found.phase == ("ready" if owner != "other" else "loading")
    assert ("foreign-socket" in rules(found)) == (owner == "other")
    assert ("unproven-socket" in rules(found)) == (owner == "unknown" and not said)
    assert (found.ready_line is not None) == (said and owner != "other")


def test_another_servers_answer_names_its_pid_and_what_to_do() -> None:
    found = report(after(*logged(BANNER), Health(t=0.1, status=200, owner="other", owner_pid=77)))
    assert (found.phase, found.ready) == ("starting", False)
    assert "pid 77" in found.problems[0]["line"]
    assert "--port" in found.problems[0]["advice"]


def test_an_answer_before_the_first_line_of_the_log_is_not_proven_ours() -> None:
    found = report(after(Health(t=0.1, status=200)))
    assert (found.ready, rules(found)) == (True, ["unproven-socket"])


@pytest.mark.parametrize("status", [None, 404, 503])
def test_no_other_answer_than_200_is_ready(status: int | None) -> None:
    assert not report(after(*logged(BANNER, LOADING), Health(t=20.0, status=status, owner="same"))).ready


def test_the_ready_line_alone_is_ready() -> None:
    found = report(after(*logged(BANNER, LOADING, READY)))
    assert (found.phase, found.ready, found.ready_line) == ("ready", True, READY.strip())
    assert found.problems == []


def test_a_server_that_was_proven_ours_stays_so_as_it_stops() -> None:
    live = logged(BANNER, READY)
    stops = Log(t=20.5, offset=_size(live), data=STOPS.encode())
    found = report(after(*live, Health(t=14.0, status=200), Request(t=20.0, kind="stop"), stops))
    assert found.phase == "stopped"
    assert "unproven-socket" not in rules(found)
    gone = after(*logged(BANNER), Health(t=14.0, status=200), Exit(t=30.0, code=0))
    assert "unproven-socket" not in rules(report(gone)), "it answers no more"


# -- the end


@pytest.mark.parametrize("asked", [True, False], ids=["asked", "not-asked"])
@pytest.mark.parametrize(
    ("code", "signal", "alone"),
    [
        (0, None, "failed"),
        (1, None, "failed"),
        (137, None, "failed"),
        (None, 9, "failed"),
        (None, 11, "failed"),
        (None, None, "failed"),
        (None, 15, "stopped"),
        (None, 2, "stopped"),
        (130, None, "stopped"),
        (143, None, "stopped"),
    ],
)
def test_exits(code: int | None, signal: int | None, alone: str, asked: bool) -> None:
    stop = [Request(t=20.0, kind="stop", label="me")] if asked else []
    state = after(*logged(BANNER, LOADING), *stop, Exit(t=21.0, code=code, signal=signal))
    found = report(state)
    assert found.phase == ("stopped" if asked else alone) == phase(state)
    assert not found.ready
    assert found.root_cause is None
    assert found.cause_in_view == (found.phase != "failed")
    assert [p["severity"] for p in found.problems] == ["error"] * (found.phase == "failed")


@pytest.mark.parametrize(
    ("exit", "words"),
    [
        (Exit(t=21.0, code=0), "ended by itself with exit code 0"),
        (Exit(t=21.0, signal=9), "killed by signal 9"),
        (
            Exit(t=21.0, reason="the keeper was killed: nobody could take the exit code"),
            "the keeper was killed",
        ),
        (Exit(t=21.0), "is gone"),
    ],
)
def test_an_end_that_the_log_does_not_tell_is_told(exit: Exit, words: str) -> None:  # noqa: A002
    found = report(after(*logged(BANNER, READY), exit))
    assert found.phase == "failed"
    assert words in found.problems[0]["line"]
    assert found.problems[0]["lineno"] is None


def test_the_log_says_that_it_stops() -> None:
    state = after(*logged(BANNER, READY, STOPS))
    assert (phase(state), report(state).ready) == ("stopped", False)
    assert phase(step(state, Exit(t=15.0, code=0))) == "stopped"


def test_a_server_that_is_reaped_while_its_tree_lives_is_dead() -> None:
    """A SIGKILLed API server leaves engine and worker alive, and writing: Exit comes only when they are gone."""
    events: list[AnyEvent] = [*logged(BANNER, LOADING, READY), Health(t=14.0, status=200, owner="same")]
    killed = after(*events, Reaped(t=20.0, signal=9))
    assert (phase(killed), report(killed).ready) == ("failed", False)
    at = killed.log.size
    later = step(killed, Log(t=25.0, offset=at, data=READY.encode()))
    assert phase(later) == "failed"
    done = step(later, Exit(t=40.0, signal=9))
    assert conclusion(done).failed_t == 20.0
    assert "signal 9" in report(done).problems[0]["line"]


def test_what_reaped_knew_is_not_lost_with_an_exit_that_knows_nothing() -> None:
    found = report(
        after(*logged(BANNER), Reaped(t=20.0, signal=9), Exit(t=30.0, reason="the keeper was killed"))
    )
    assert "signal 9" in found.problems[0]["line"]


def test_exit_code_0_with_a_dead_engine_is_a_failure() -> None:
    found = report(after(*logged(BANNER, READY, CORE_DIED), Exit(t=30.0, code=0)))
    assert (found.phase, found.root_cause and found.root_cause["lineno"]) == ("failed", 3)


def test_children_that_die_by_the_stop_itself_are_no_failure() -> None:
    live = logged(BANNER, READY)
    by_us: list[AnyEvent] = [
        Request(t=20.0, kind="stop"),
        Log(t=20.5, offset=_size(live), data=CORE_DIED.encode()),
    ]
    assert phase(after(*live, *by_us, Exit(t=21.0, code=0))) == "stopped"
    by_others = [Log(t=20.5, offset=_size(live), data=CORE_DIED.encode())]
    assert phase(after(*live, *by_others, Exit(t=21.0, signal=15))) == "stopped"


def test_a_stop_asked_of_a_dead_server_does_not_make_it_stopped() -> None:
    live = logged(BANNER, READY)
    died = Log(t=20.0, offset=_size(live), data=CORE_DIED.encode())
    assert phase(after(*live, died, Request(t=60.0, kind="stop"), Exit(t=61.0, code=0))) == "failed"
    assert phase(after(*live, died, Exit(t=3600.0, signal=15))) == "failed"
    assert phase(after(*live, Exit(t=20.0, code=1), Request(t=60.0, kind="stop"))) == "failed"


def _size(events: list[AnyEvent]) -> int:
    return sum(len(event.data) for event in events if isinstance(event, Log))


@pytest.mark.parametrize(
    ("reason", "stop", "want"),
    [
        ("the server's process is gone: nobody could take its exit code", False, "failed"),
        ("it is no longer watched: a stop was asked for", True, "stopped"),
    ],
)
def test_a_foreign_server_has_no_exit_code(reason: str, stop: bool, want: str) -> None:
    asked = [Request(t=20.0, kind="stop")] if stop else []
    foreign = RunFacts(engine="vllm", foreign=True)
    found = report(after(*logged(BANNER, READY), *asked, Exit(t=21.0, reason=reason), facts=foreign))
    assert found.phase == want
    if want == "failed":
        assert reason in found.problems[0]["line"]


# -- the OOM killer


def kills(t: float, count: int | None) -> HostSample:
    return HostSample(t=t, box=Box(mem_total_mib=1000, oom_kills=count))


def test_only_kills_since_the_start_are_blamed() -> None:
    dead = [*logged(BANNER, LOADING, WORKER_DIED), Exit(t=30.0, code=1)]
    old = report(after(kills(0.5, 7), *dead))
    assert old.root_cause is not None
    assert "struck" not in str(old.root_cause["hint"])
    new = report(after(kills(0.5, 7), kills(12.0, 9), *dead))
    assert new.root_cause is not None
    assert "struck 2 times" in new.root_cause["hint"]


def test_a_kill_is_told_where_the_log_says_nothing() -> None:
    found = report(after(kills(0.5, 0), *logged(BANNER, LOADING), kills(15.0, 1), Exit(t=16.0, signal=9)))
    assert "signal 9" in found.problems[0]["line"]
    assert "OOM killer" in found.problems[0]["line"]
    assert "memory limit" in found.problems[0]["advice"]


def test_a_counter_that_is_unknown_or_runs_back_blames_nobody() -> None:
    assert after(kills(0.5, None)).hosts.oom_kills is None
    assert after(kills(0.5, None), kills(1.0, 3), kills(2.0, 4)).hosts.oom_kills == 1
    assert after(kills(0.5, 3), kills(1.0, 0)).hosts.oom_kills == 0


# -- what else the reading says


def test_the_first_row_has_the_silence_before_the_first_line() -> None:
    """6-19 s on the recordings; a foreign server's clock starts when it is attached, so nothing is known of it."""
    events = [Clock(t=0.0, wall=1_764_558_000.0), *logged(BANNER, CONFIG, LOADING)]
    first = report(after(*events)).timeline[0]
    assert (first["step"], first["seconds"]) == ("start", 11.0)
    assert first["started_at"] == "2025-12-01T03:00:00Z"
    assert report(after(*events, facts=RunFacts(foreign=True))).timeline[0]["seconds"] == 1.0


def test_a_saved_log_has_the_times_that_it_printed() -> None:
    rows = report(after(*logged(BANNER, CONFIG, LOADING)), year=2025).timeline
    assert [row["seconds"] for row in rows] == [9.0, 21.0, 0.0]
    assert rows[0]["started_at"] == "2025-12-01T03:25:00"


def test_the_bars_rest_runs_down_between_its_prints_and_ends_with_the_server() -> None:
    state = after(*logged(BANNER, LOADING, t=0.0))
    left = [report(step(state, Tick(t=t))).progress for t in (1.0, 6.0)]
    assert [bar and bar["eta_s"] for bar in left] == [20.0, 15.0]
    dead = report(step(state, Exit(t=9.0, signal=9))).progress
    assert dead is not None
    assert (dead["done"], dead["eta_s"]) == (2, None)


def test_doctors_advice_stays_with_the_run() -> None:
    found = report(after(facts=RunFacts(advice=("the drafter's vocabulary is smaller",))))
    assert rules(found) == ["doctor"]


@pytest.mark.parametrize(("owner", "proven"), [("same", True), ("unknown", False)])
def test_wait_and_status_say_what_is_not_proven(tmp_path: Path, owner: str, proven: bool) -> None:
    folder = make_run(tmp_path)
    write_record(folder, [Health(t=15.0, status=200, owner=owner)])
    run = read(folder)
    now = summary.status(run)
    assert (now.ready, run.state.log.ready) == (True, False)
    assert ("not proven" in wait._ready(run, now)) != proven
    assert ("unproven-socket" in [problem["rule"] for problem in now.problems]) != proven
