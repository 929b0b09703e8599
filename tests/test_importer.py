"""Recordings become run folders with their true times and the right answers of their README."""

from pathlib import Path

import msgspec
import pytest

from collectors.errors import SpecwatchError
from collectors.reading import events as ev
from collectors.record.folder import RunFolder
from collectors.record.importer import import_recording
from collectors.record.reader import replay
from tests.run_folders import RECORDINGS, read, recordings


def imported(name: str, runs: Path) -> RunFolder:
    return import_recording(RECORDINGS / name, runs, name.rpartition("/")[2])


@pytest.mark.parametrize("path", recordings(), ids=lambda p: p.name)
def test_every_recording_is_taken_whole(path: Path, tmp_path: Path) -> None:
    folder = import_recording(path, tmp_path, "r")
    events = [event for _t, event in replay(folder)]
    assert isinstance(events[0], ev.Started)
    assert [e.t for e in events] == sorted(e.t for e in events)
    assert b"".join(e.data for e in events if isinstance(e, ev.Log)) == folder.server_log.read_bytes()
    assert sum(isinstance(e, ev.Exit) for e in events) == isinstance(events[-1], ev.Exit)
    assert folder.info().facts.name == path.name


@pytest.mark.parametrize(
    ("name", "code", "signal"),
    [
        ("h200-good", 0, None),
        ("h200-gpu-held-by-orphan", 1, None),
        ("cpu/32-fail-invalid-flag", 2, None),
        ("cpu/50-kill-engine-serving", 0, None),
        ("cpu/51-kill-api-serving", None, 9),
    ],
)
def test_exits(name: str, code: int | None, signal: int | None, tmp_path: Path) -> None:
    found = read(imported(name, tmp_path)).state.life.exit
    assert found is not None
    assert (found.code, found.signal) == (code, signal)


def test_a_server_that_lives_on_has_no_exit(tmp_path: Path) -> None:
    assert not read(imported("h200-abandoned-but-serving", tmp_path)).ended


def test_an_answer_in_the_first_second_is_anothers(tmp_path: Path) -> None:
    assert read(imported("h200-gpu-held-by-orphan", tmp_path)).state.life.owner == "other"


def test_times_are_the_recordings_own(tmp_path: Path) -> None:
    folder = imported("h200-good", tmp_path)
    ready = next(t for t, e in replay(folder) if isinstance(e, ev.Health) and e.status == 200)
    assert ready == 281.572
    stop = next(e for _t, e in replay(folder) if isinstance(e, ev.Request) and e.kind == "stop")
    assert (stop.t, stop.label) == (341.128, "SIGINT")


@pytest.mark.parametrize("name", ["h200-good", "h200-bad"])
def test_a_benchmarks_window_is_exactly_its_own(name: str, tmp_path: Path) -> None:
    """Against the counts in bench-c1.json, which `vllm bench serve` took itself."""
    truth = msgspec.json.decode((RECORDINGS / name / "bench-c1.json").read_bytes())
    names: list[str] = []
    now: dict[str, float] = {}
    edges: list[dict[str, float]] = []
    for _t, event in replay(imported(name, tmp_path)):
        if isinstance(event, ev.Series):
            names += event.names
        elif isinstance(event, ev.Metrics):
            now = {**now, **{names[k]: v for k, v in event.values.items()}}
        elif isinstance(event, ev.Request) and event.id == "c1":
            edges.append(now)
    begin, end = edges
    words = {"drafts": "num_drafts", "draft_tokens": "draft_tokens", "accepted_tokens": "accepted_tokens"}
    for ours, theirs in words.items():
        series = f'vllm:spec_decode_num_{ours}_total{{engine="0"}}'
        assert end[series] - begin[series] == truth[f"spec_decode_{theirs}"]


def test_a_bare_log_is_enough(tmp_path: Path) -> None:
    (tmp_path / "x.log").write_bytes(b"one\ntwo")
    folder = import_recording(tmp_path / "x.log", tmp_path / "runs", "x")
    assert read(folder).log_offset == 7


def test_what_is_not_there_is_one_clear_error(tmp_path: Path) -> None:
    with pytest.raises(SpecwatchError, match="no recording"):
        import_recording(tmp_path / "nothing", tmp_path, "x")
