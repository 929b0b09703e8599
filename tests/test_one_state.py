"""The test that keeps it true: one State, whichever way it was come by.

The recorder's at exit == replayed from 0 == resumed from any checkpoint == any chunking of the log's bytes. The
recorder's own State is compared in test_recorder.py, on a live server.
"""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec import structs

from collectors.reading.events import AnyEvent, Log
from collectors.reading.state import State, step
from collectors.record import checkpoint
from collectors.record.folder import RunFolder
from collectors.record.follow import Follower
from collectors.record.importer import import_recording
from collectors.record.reader import lines, replay
from collectors.record.writer import RecordWriter
from tests.run_folders import make_run, read, recordings

LIMIT = 1_000_000


@pytest.fixture(scope="session", params=recordings(), ids=lambda p: p.name)
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    path: Path = request.param
    return import_recording(path, tmp_path_factory.mktemp("one-state"), path.name)


@pytest.fixture(scope="session")
def events(folder: RunFolder) -> list[AnyEvent]:
    return [event for _t, event in replay(folder)]


@pytest.fixture(scope="session")
def whole(events: list[AnyEvent]) -> State:
    return reduced(State(), events)


def reduced(state: State, events: list[AnyEvent]) -> State:
    for event in events:
        state = step(state, event)
    return state


def test_the_followers_is_the_replays(folder: RunFolder, whole: State) -> None:
    assert read(folder).state == whole


def test_the_writers_is_the_readers(folder: RunFolder, events: list[AnyEvent], tmp_path: Path) -> None:
    """The recorder steps its State as it writes: through the same lines that a reader reads."""
    run = make_run(tmp_path)
    run.server_log.write_bytes(folder.server_log.read_bytes())
    writer = RecordWriter(run)
    for event in events:
        assert writer.write(event)
    assert writer.state == read(run).state
    writer.close()


@settings(max_examples=4, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(share=st.floats(0.0, 1.0))
def test_a_checkpoint_anywhere_changes_nothing(share: float, folder: RunFolder, whole: State) -> None:
    ends = [line.end for line in lines(folder.record, 0)]
    stop = ends[int(share * (len(ends) - 1))]
    part = RunFolder(folder.path.parent / f"{folder.id}-part")
    part.path.mkdir(exist_ok=True)
    part.record.write_bytes(folder.record.read_bytes()[:stop])
    part.server_log.write_bytes(folder.server_log.read_bytes())
    first = Follower(part, from_start=True)
    first.advance()
    checkpoint.save(part, first.state, stop, first.log_offset)
    assert part.checkpoint.stat().st_size < LIMIT
    part.record.write_bytes(folder.record.read_bytes())
    resumed = Follower(part)
    assert resumed.record_offset == stop, "it was taken up"
    resumed.advance()
    part.checkpoint.unlink()
    assert resumed.state == whole


@settings(max_examples=4, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(size=st.integers(1, 4096))
def test_any_chunking_of_the_log_gives_the_same(size: int, events: list[AnyEvent], whole: State) -> None:
    """Chunks of one instant cut anywhere, in the middle of lines and of characters."""
    state = State()
    for event in events:
        if not isinstance(event, Log) or not event.data:
            state = step(state, event)
            continue
        for start in range(0, len(event.data), size):
            part = event.data[start : start + size]
            state = step(state, structs.replace(event, offset=event.offset + start, data=part))
    assert state == whole


def test_the_state_stays_small(folder: RunFolder, whole: State) -> None:
    part = RunFolder(folder.path.parent / f"{folder.id}-size")
    part.path.mkdir(exist_ok=True)
    checkpoint.save(part, whole, 0, 0)
    assert part.checkpoint.stat().st_size < LIMIT
