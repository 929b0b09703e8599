"""Every recording, with its true times: where it stood, when it was ready, what it died of, that it never stood still.

The answers are those of the recordings' README and `.json` files and of the engines' own exit codes.
"""

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pytest

from collectors.reading.events import AnyEvent, Exit, Health, Tick
from collectors.reading.report import Report, phase, report
from collectors.reading.stall import stalled
from collectors.reading.state import State, step
from collectors.record.importer import Recording, import_recording
from collectors.record.timings import past_run
from tests.conftest import Cli, Importer
from tests.run_folders import RECORDINGS, read, recordings

NOTHING = "(nothing)"  # it failed, and the log cannot say why

# What each one that failed died of: a part of the line that names it.
CAUSES = {
    "00-fail-torchvision-cuda-build": "operator torchvision::nms does not exist",
    "17-eagle3-synthetic": "Synthetic acceptance not supported with CPU sampling",
    "30-fail-default-memory-0.92": "fraction of CPU memory reserved",
    "31-fail-no-such-model": "Cannot find an appropriate cached snapshot folder",
    "31b-fail-no-such-model-online": "We couldn't connect to 'https://huggingface.co'",
    "31c-fail-no-such-abs-path": "HFValidationError: Repo id must be in the form",
    "31d-fail-drafter-path": "Invalid repository ID or local directory specified: '/nonexistent",
    "32-fail-invalid-flag": "unrecognized arguments: --no-such-flag",
    "33-fail-invalid-spec-json": "argument --speculative-config/-sc: Value",
    "34-fail-port-in-use": "[Errno 98] Address already in use",
    "35-fail-truncated-shard": "incomplete metadata, file not fully covered",
    "36-fail-garbled-shard": "Error while deserializing header: header too large",
    "37-fail-missing-shard": "missing: {'models/broken/missing/model-00007-of-00032.safetensors'}",
    "38b-drafter-hidden-size-load": "failed. 768 vs 384",
    "39-fail-drafter-arch": "Model architectures ['FrobnicatorForCausalLMEagle3'] are not supported",
    "40-fail-drafter-shape": "length (768) exceeds dimension size (512)",
    "41-fail-kv-too-small": "To serve at least one request",
    "42-fail-kv-too-small-max-len": "To serve at least one request",
    "43-fail-max-len-over-config": "User-specified max_model_len (100000) is greater than the derived",
    "44-fail-no-weights": "Cannot find any model weights with `models/broken/noweights`",
    "45-fail-bad-config-json": "It looks like the config file at 'models/broken/badconfig/config.json'",
    "50-kill-engine-serving": "engine core exited unexpectedly",
    "50b-kill-worker-serving": "Worker proc VllmWorker-0 died unexpectedly",
    "51-kill-api-serving": NOTHING,
    "52-kill-worker-loading": NOTHING,
    "53-kill-engine-loading": NOTHING,
    "53b-kill-engine-slowload": NOTHING,
    "54-kill-api-loading": NOTHING,
    "54b-kill-api-slowload": NOTHING,
    "dsv3-bf16-amx-dies": "Unsupported CPU attention configuration",
    "dsv3-eagle3-unpatched": "Eagle3 is only supported for",
    "dsv3-eagle3-whitelist-only": "Model does not support EAGLE3 interface",
    "dsv3-mla-unpatched": "MLA is not supported on CPU",
    "kimi-eagle3-no-interface": "Model does not support EAGLE3 interface",
    "kimi-eagle3-unpatched": "Eagle3 is only supported for",
    "kimi-eagle3-whitelist-only": "image_token_index",
    "v16-llama-4layers-dies": "mat1 and mat2 shapes cannot be multiplied",
    "v32-kimi-eagle3": "KeyError: 'merge_kernel_size'",
    "h200-gpu-held-by-orphan": "Free memory on device",
    "h200-spawn-failure": "An attempt has been made to start a new process before",
}
RECORDED = {path.name: path for path in recordings()}


class Read(NamedTuple):
    """One recording read to its end, and what it said on the way."""

    state: State
    report: Report
    summary: dict[str, Any]
    ready_t: float | None  # when the reading first said so
    phases: tuple[str, ...]  # in order, each once in a row
    stalls: tuple[float, ...]


_read: dict[str, Read] = {}


def whole(name: str) -> Read:
    if name not in _read:
        recording = Recording(RECORDED[name])
        _read[name] = _whole(recording.events("r"), recording.summary)
    return _read[name]


def _whole(events: list[AnyEvent], summary: dict[str, Any]) -> Read:
    state, ready, stalls = State(), None, []
    phases: list[str] = []
    for event in events:
        before, state = state, step(state, event)
        if isinstance(event, Tick):
            if stalled(state) is not None:
                stalls.append(event.t)
        elif isinstance(event, Exit | Health) or before.log != state.log:
            now = phase(state)
            if not phases or phases[-1] != now:
                phases.append(now)
            if ready is None and now in ("ready", "serving"):
                ready = event.t
    return Read(state, report(state), summary, ready, tuple(phases), tuple(stalls))


names = pytest.mark.parametrize("name", sorted(RECORDED))


def test_all_that_the_readme_names_are_here() -> None:
    assert len(RECORDED) >= 74
    assert set(CAUSES) <= set(RECORDED)


@names
def test_the_end(name: str) -> None:
    """Failed exactly where a cause is known; stopped where it was asked to; else it lives on."""
    found, summary = whole(name).report, whole(name).summary
    if name in CAUSES:
        assert (found.phase, found.ready) == ("failed", False)
    elif "returncode" in summary:
        assert (found.phase, found.ready) == ("stopped", False)
        assert summary["returncode"] == 0
    else:
        assert (found.phase, found.ready) == ("ready", True)


@names
def test_the_cause(name: str) -> None:
    found = whole(name).report
    want = CAUSES.get(name)
    errors = [problem for problem in found.problems if problem["severity"] == "error"]
    assert found.cause_in_view == (want != NOTHING)
    if want is None or want == NOTHING:
        assert found.root_cause is None
        assert len(errors) == (want == NOTHING)
        return
    assert found.root_cause is not None
    assert want in found.root_cause["line"]
    assert found.root_cause["summary"]
    row = RECORDED[name] / "server.log" if RECORDED[name].is_dir() else RECORDED[name].parent / f"{name}.log"
    told = row.read_bytes().split(b"\n")[found.root_cause["lineno"] - 1].decode(errors="replace")
    assert want in told
    others = [problem for problem in errors if problem["rule"] != "foreign-socket"]
    assert [problem["line"] for problem in others] == [found.root_cause["line"]]


@names
def test_ready_when_it_was(name: str) -> None:
    """Within a second of the log's line or of the first 200, whichever came first; never where neither came."""
    got, summary = whole(name).ready_t, whole(name).summary
    answered = [
        t for words, t in summary.get("status_changes", {}).items() if "health=200" in words and t > 1
    ]
    said = [t for t in (summary.get("startup_complete_s"),) if t is not None]
    if not summary:
        return  # a bare log without times
    if not said and not answered:
        assert got is None
    else:
        assert got is not None
        assert -0.5 <= got - min(said + answered) <= 1.0


@names
def test_phases_only_go_forward(name: str) -> None:
    order = ["starting", "loading", "compiling", "capturing", "ready", "serving", "stopped", "failed"]
    places = [order.index(each) for each in whole(name).phases]
    assert places == sorted(set(places))


@names
def test_none_of_them_stood_still(name: str) -> None:
    """109 s of silence (h200-first-start), 100 MB/s through a mapped file (22), a start of 222 s that failed (30)."""
    assert whole(name).stalls == ()


@names
def test_the_steps_add_up_to_the_start(name: str) -> None:
    read_ = whole(name)
    if read_.state.log.ready_t is None or not read_.summary:
        return
    rows = [row for row in read_.report.timeline if row["phase"] not in ("ready", "serving", "stopped")]
    assert sum(row["seconds"] for row in rows) == pytest.approx(read_.state.log.ready_t, abs=0.1 * len(rows))
    assert past_run(read_.state).total == pytest.approx(read_.state.log.ready_t, abs=0.01)


@pytest.mark.parametrize(
    ("name", "ready", "want"),
    [
        ("h200-first-start", 201.159, {"weights": 5.0, "profile": 39.1, "graphs": 115.7}),
        ("h200-base", 127.838, {"weights": 43.1, "graphs": 13.0}),
        ("h200-good", 281.279, {"weights": 43.3, "drafter": 0.9, "graphs": 116.6}),
        ("22-big-throttled-100MBps", 54.943, {"weights": 31.0, "post": 2.9}),
        ("60-plugin-slowload", 40.79, {"weights": 14.8}),
    ],
)
def test_how_long_each_step_took(name: str, ready: float, want: dict[str, float]) -> None:
    found = whole(name)
    assert found.ready_t == pytest.approx(ready, abs=1.0)
    took = {row["step"]: row["seconds"] for row in found.report.timeline}
    assert {step: took[step] for step in want} == pytest.approx(want, abs=0.2)


def test_the_longest_silence_is_no_stall() -> None:
    growth = [msgspec.json.decode(row) for row in _rows(RECORDINGS / "h200-first-start" / "growth.jsonl")]
    grew = [t for (t, size), (_, before) in zip(growth[1:], growth, strict=False) if size > before]
    silence = max(b - a for a, b in itertools.pairwise(grew))
    assert silence > 100
    assert whole("h200-first-start").stalls == ()


def _rows(path: Path) -> Iterator[bytes]:
    yield from (row for row in path.read_bytes().splitlines() if row.strip())


def test_an_orphan_that_answers_on_the_port_never_makes_it_ready() -> None:
    """It answers 200 from the first second; the start dies for lack of the memory that the orphan holds."""
    found = whole("h200-gpu-held-by-orphan")
    assert found.ready_t is None
    assert found.phases == ("starting", "failed")
    assert [problem["rule"] for problem in found.report.problems] == ["gpu-memory-held", "foreign-socket"]


@pytest.mark.parametrize(
    "name", ["50-kill-engine-serving", "50b-kill-worker-serving", "38b-drafter-hidden-size-load"]
)
def test_exit_code_0_of_a_server_whose_engine_died_is_a_failure(name: str) -> None:
    gone = whole(name).state.life.exit
    assert gone is not None
    assert (gone.code, whole(name).report.phase) == (0, "failed")


@pytest.mark.parametrize("name", ["51-kill-api-serving", "54-kill-api-loading", "54b-kill-api-slowload"])
def test_a_killed_api_server_is_told_by_its_end(name: str) -> None:
    """Nothing in the log says so, and what engine and worker wrote after it changes nothing."""
    error = whole(name).report.problems[0]
    assert (error["rule"], error["lineno"]) == ("ended", None)
    assert "signal 9" in error["line"]


@pytest.mark.parametrize("name", ["10-plain-compiled", "11-ngram-eager", "h200-good", "kimi-eagle3-patched"])
def test_a_stop_that_was_asked_for(name: str) -> None:
    found = whole(name)
    assert found.state.life.stop_asked_t == found.summary["sig_t"]
    assert found.phases[-2:] == ("serving", "stopped")


def test_no_ready_line_at_all() -> None:
    """`--uvicorn-log-level warning`: /health alone says so, and then it is not proven ours."""
    found = whole("19-no-ready-line-uvicorn-warning")
    assert found.state.log.ready_line is None
    assert found.ready_t == 32.028


@pytest.mark.parametrize(
    ("name", "code"),
    [("h200-gpu-held-by-orphan", 1), ("cpu/51-kill-api-serving", 1), ("h200-good", 1)],
)
def test_wait_on_a_run_that_is_over(imported: Importer, cli: Cli, name: str, code: int) -> None:
    """`wait` waits for ready: a server that is no more, however it ended, will not be."""
    imported(name, "over")
    answer = cli("wait", "over", "--json")
    assert answer.returncode == code
    found = msgspec.json.decode(answer.stdout)
    assert found["phase"] == ("stopped" if name == "h200-good" else "failed")
    assert found["live"] is False


@pytest.mark.parametrize("name", ["h200-first-start", "cpu/21-big-warm", "cpu/54-kill-api-loading"])
def test_the_run_folder_gives_the_same_reading(name: str, tmp_path: Path) -> None:
    folder = import_recording(RECORDINGS / name, tmp_path, "r")
    assert report(read(folder).state) == whole(name.rpartition("/")[2]).report
