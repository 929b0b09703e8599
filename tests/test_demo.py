"""The demo's closing summary and its jobs, without a server."""

import os
import signal
import stat
import threading
import time
from pathlib import Path

import click
import msgspec
import pytest

from collectors.errors import SpecwatchError
from collectors.reading.acceptance import of_window
from collectors.reading.counters import slots_of
from collectors.reading.events import RunFacts
from collectors.reading.life import LifeState
from collectors.reading.log.parts import Bar, Step
from collectors.reading.log.state import LogState
from collectors.reading.serving import Benchmark
from collectors.reading.state import State
from collectors.reading.windows import Totals
from collectors.record.folder import RunInfo
from launch.bench.result import Level, Result, Spread
from launch.commands import demo
from launch.compare.contrast import differences
from launch.demo import closing, job, serve, signals, stages, watching
from launch.demo.engines import Engine
from launch.demo.models import Pair
from launch.demo.stages import Stages

NAMES = (
    "vllm:spec_decode_num_drafts_total{}",
    "vllm:spec_decode_num_draft_tokens_total{}",
    "vllm:spec_decode_num_accepted_tokens_total{}",
    *(f'vllm:spec_decode_num_accepted_tokens_per_pos_total{{position="{i}"}}' for i in range(3)),
)


def result(tok_s: float, *, speculative: bool = True) -> Result:
    """1,146 drafts, 1,925 of 3,438 tokens accepted: the counts of recording h200-good."""
    counts = dict(enumerate((1146.0, 3438.0, 1925.0, 869.0, 631.0, 425.0))) if speculative else {}
    figures = of_window(
        Totals(10.0, counts, active=10.0, intervals=10), slots_of(NAMES if speculative else ())
    )
    first = Spread(mean=0.025, p50=0.025, p90=0.03, p99=0.04, n=12)
    level = Level(
        concurrency=1, planned=12, completed=12, failed=0, tok_s=tok_s, ttft=first, counters=figures
    )
    return Result(id="b", kind="built-in", url="http://x", started=0.0, levels=(level,))


def state() -> State:
    steps = (
        Step("start", "starting", 0.0, 9.0),
        Step("weights", "loading", 9.0, 29.5),
        Step("serving", "serving", 51.0, None),
    )
    return State(t=80.0, log=LogState(ready=True, ready_t=51.0, steps=steps))


def test_the_closing_summary_says_what_speculation_bought() -> None:
    shown = "\n".join(closing.lines(state(), result(443.3), result(197.8, speculative=False)))
    for text in ("ready after 0:51", "20.5 s", "443.3", "197.8", "2.24×", "56.0 %", "of 3,438 drafted"):
        assert text in shown
    assert "2.68" in shown
    assert "75.8 %" in shown
    assert "25.0 ms" in shown
    assert "✓ Pays: 2.24× at concurrency 1." in shown
    assert "serving" not in shown
    assert all(len(line) <= 80 for line in shown.splitlines())


def test_a_speed_up_stands_with_its_interval() -> None:
    def measured(tok_s: float, *, speculative: bool) -> Result:
        found = result(tok_s, speculative=speculative)
        level = msgspec.structs.replace(found.levels[0], tok_s_ci95=(tok_s * 0.97, tok_s * 1.03))
        return msgspec.structs.replace(found, levels=(level,))

    lines = list(
        closing.lines(state(), measured(300.0, speculative=True), measured(200.0, speculative=False))
    )
    assert any(line.split() == ["speed-up", "1.50×", "±0.06"] for line in lines)
    assert "✓ Pays: 1.50× ±0.06 at concurrency 1." in lines
    slower = closing.lines(state(), measured(100.0, speculative=True), measured(200.0, speculative=False))
    assert any(line.startswith("✗ Accepted but slower: 0.50× ±0.02") for line in slower)


def test_the_demos_own_pair_is_a_controlled_experiment(tmp_path: Path) -> None:
    """The baseline loads at full speed, the other slowly enough to watch: that is no difference of what is measured."""
    engine = Engine(tmp_path / "vllm", tmp_path / "python", "0.32.0+cpu", gpu=False)
    pair = Pair(tmp_path, tmp_path / "drafter")

    def launched(*, speculate: bool) -> RunInfo:
        words = serve.argv(engine, pair, serve.free_port(), speculate=speculate)
        return RunInfo(
            facts=RunFacts(argv=tuple(words)), created=0.0, boottime0=0.0, boot_id="b", pid_namespace="p", host="h",
            env=serve.environment(pair, {}, slow=speculate),
        )  # fmt: skip

    found = differences(launched(speculate=False), launched(speculate=True))
    assert found is not None
    assert [difference.what for difference in found] == ["--speculative-config"]


def test_without_a_baseline_no_speed_up_is_claimed() -> None:
    shown = "\n".join(closing.lines(state(), result(443.3), None))
    assert "speed-up" not in shown
    assert "443.3" in shown


def test_what_is_unknown_is_a_dash() -> None:
    unknown = Level(concurrency=1, planned=2, completed=0, failed=2)
    found = Result(id="b", kind="built-in", url="http://x", started=0.0, levels=(unknown,))
    shown = "\n".join(closing.lines(State(), found, found))
    assert "ready after —" in shown
    assert "0.00" not in shown
    assert "0.0 " not in shown


def fake_specwatch(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, body: str) -> Path:
    program = tmp_path / "specwatch"
    program.write_text(f'#!/bin/sh\necho "$@" >> {tmp_path}/asked\n{body}\n')
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setattr(job, "self_argv", lambda *words: [str(program), *words])
    return tmp_path / "asked"


def test_a_job_hands_the_groups_options_on(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    asked = fake_specwatch(monkeypatch, tmp_path, "echo run-1 ready")
    mine = job.Job({"state_dir": str(tmp_path / "s"), "config": None}, "demo")
    mine.launch(["vllm", "serve"], dict(os.environ))
    assert mine.id == "run-1"
    assert asked.read_text() == f"--state-dir {tmp_path}/s launch --name demo --detach -- vllm serve\n"
    assert mine.folder.path == tmp_path / "s" / "runs" / "run-1"


def test_a_command_that_failed_has_said_why_once(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    fake_specwatch(monkeypatch, tmp_path, "echo why >&2; exit 3")
    mine = job.Job({"state_dir": str(tmp_path)}, "demo")
    with pytest.raises(click.exceptions.Exit) as seen:
        mine.launch(["vllm"], {})
    assert seen.value.exit_code == 3
    with pytest.raises(click.exceptions.Exit):
        mine.wait(Stages())
    assert capfd.readouterr().err.count("why\n") == 2
    mine.id = "run-1"
    with pytest.raises(SpecwatchError, match="exit code 3"):
        mine.wait()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("during", ["launch", "wait", "stop"])
def test_whatever_ends_the_demo_ends_its_server(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, during: str, number: signal.Signals
) -> None:
    """Also between the server's start and its id, and whatever that command would still take."""
    slow = (
        f'case "$*" in *"{during} "*--timeout\\ 5*) ;; *" {during} "*) touch {tmp_path}/begun; sleep 1;; esac'
    )
    asked = fake_specwatch(monkeypatch, tmp_path, f"{slow}; echo run-1")
    mine = job.Job({"state_dir": str(tmp_path)}, "demo")
    handler = signal.getsignal(signal.SIGTERM)

    def come() -> None:
        while not (tmp_path / "begun").exists():
            time.sleep(0.02)
        os.kill(os.getpid(), number)

    def ended_early() -> None:
        with demo._stopped(mine):
            mine.launch(["vllm"], dict(os.environ))
            mine.wait()

    coming = threading.Thread(target=come)
    coming.start()
    with pytest.raises((SystemExit, KeyboardInterrupt)) as left:
        ended_early()
    coming.join()
    if isinstance(left.value, SystemExit):
        assert left.value.code == 128 + number
    assert f"stop run-1 --kill --timeout {job.GRACE_S}" in asked.read_text()
    assert signal.getsignal(signal.SIGTERM) == handler


def test_a_server_that_is_to_be_kept_is_kept(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    asked = fake_specwatch(monkeypatch, tmp_path, "echo run-1")
    mine = job.Job({"state_dir": str(tmp_path)}, "demo")
    with demo._stopped(mine, keep=True):
        mine.launch(["vllm"], dict(os.environ))
    assert "stop" not in asked.read_text()
    with demo._stopped(mine):
        pass
    assert asked.read_text().endswith(" stop run-1 --kill\n")


def test_under_nohup_a_hang_up_means_nothing() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with signals.leaving():
            signal.raise_signal(signal.SIGHUP)
        assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)


def test_a_closed_terminal_hangs_up_twice_and_is_left_once() -> None:
    def hung_up() -> None:
        with signals.leaving():
            try:
                signal.raise_signal(signal.SIGHUP)
            finally:
                signal.raise_signal(signal.SIGHUP)
                after.append("the end of what was going on")

    after: list[str] = []
    with pytest.raises(SystemExit):
        hung_up()
    assert after


def test_a_command_is_one_line_on_a_terminal_and_whole_elsewhere(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    words = [
        "launch",
        "--name",
        "demo",
        "--",
        "/a/long/way/to/vllm",
        "serve",
        "/models/target",
        "--flag",
        "x" * 80,
    ]
    job._echo(words)
    assert capsys.readouterr().err == f"$ specwatch {' '.join(words)}\n"
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "80")
    job._echo(words)
    said = capsys.readouterr().err
    assert said.startswith("$ specwatch launch --name demo -- …/vllm serve …/target --flag xx")
    assert said.endswith(" …\n")
    assert len(said) == 80


def test_without_a_terminal_progress_is_a_line_every_few_seconds(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(stages, "LINE_S", 0.02)
    told = iter(["starting", "starting", "", "loading"])
    stage = Stages()
    with stage.stage("start of demo", lambda: next(told, "loading")):
        time.sleep(0.3)
    lines = capsys.readouterr().err.splitlines()
    assert lines[:3] == ["start of demo …", "start of demo … 0:00  starting", "start of demo … 0:00  loading"]
    assert lines[3:] == [f"start of demo: {stage.took['start of demo']:.1f} s"]


@pytest.mark.parametrize(
    ("progress", "said"),
    [
        ({}, "c8: 0/— requests"),
        ({"done": 0, "total": 16, "tok_s": None, "left_s": None, "failed": 0}, "c8: 0/16 requests"),
        (
            {"done": 4, "total": 16, "tok_s": 63.2, "left_s": 24.1, "failed": 1},
            "c8: 4/16 requests, 63 tok/s, 1 failed, 25 s left",
        ),
    ],
)
def test_how_far_a_benchmark_is(progress: dict[str, float | None], said: str) -> None:
    assert watching.benchmark(Benchmark("b", "c8", 0.0, progress=progress)) == said


def test_how_far_a_start_is() -> None:
    assert watching.start(State()) == "starting"
    weights = Step("weights", "loading", 9.0, None)
    bar = Bar("Loading safetensors checkpoint shards", "weights", "target", 12, 32, t=12.0)
    loading = State(t=12.0, log=LogState(phase="loading", steps=(weights,), bars=(bar,)))
    assert watching.start(loading).startswith("loading: weights 12/32")
    assert watching.start(state()) == "ready"


def test_the_screen_says_when_nothing_more_comes() -> None:
    assert demo._standing([], keep=False) == ""
    assert "q stops the server and prints the figures" in demo._standing([result(1.0)], keep=False)
    assert "the server goes on" in demo._standing([result(1.0)], keep=True)
    assert demo._standing([SpecwatchError("it broke")], keep=False) == "The demo ends here: it broke."


def test_a_server_stopped_from_the_screen_is_not_measured_on(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Its benchmark would wait for answers for as long as the server takes to die."""
    over = threading.Event()
    monkeypatch.setattr("tui.app.run_app", lambda *_, **__: 0)
    monkeypatch.setattr(job.Job, "wait", lambda self, stages=None: over.wait(30))
    monkeypatch.setattr(job.Job, "bench", lambda self, stages=None: result(1.0))
    monkeypatch.setattr(job.Job, "state", State(life=LifeState(stop_asked_t=1.0)))
    with pytest.raises(SpecwatchError, match="stopped before it was measured"):
        demo._on_screen(job.Job({"state_dir": str(tmp_path)}, "demo"), Stages(), keep=False)
    over.set()


def test_a_vllm_for_gpus_on_a_box_without_one_is_passed_over(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    theirs = Engine(Path("/theirs"), Path("/python"), "0.32.0", gpu=False)
    ours = msgspec.structs.replace(theirs, version="0.32.0+cpu")
    monkeypatch.setattr(demo, "engine_on_path", lambda: theirs)
    monkeypatch.setattr("launch.demo.setup.set_up", lambda cache, stages: ours)
    assert demo._engine(tmp_path, Stages()) == ours
    assert "/theirs is a build for GPUs" in capsys.readouterr().err
    monkeypatch.setattr(demo, "engine_on_path", lambda: msgspec.structs.replace(theirs, gpu=True))
    assert demo._engine(tmp_path, Stages()).gpu
