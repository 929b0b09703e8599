"""The checkpoint is a cache: it saves reading, and is thrown away whenever it might not hold."""

from pathlib import Path

import msgspec
import pytest
from msgspec import structs

from collectors.reading.events import Clock, Exit, Health, Tick
from collectors.reading.state import State
from collectors.record import checkpoint
from collectors.record.folder import RunFolder
from collectors.record.follow import Follower
from tests.run_folders import make_run, read, write_record


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    folder = make_run(tmp_path)
    write_record(folder, [Clock(t=0.1, wall=1000.0), Health(t=1.0, status=200, owner="same"), Tick(t=2.0)])
    return folder


def test_it_is_taken_up(folder: RunFolder) -> None:
    whole = read(folder)
    checkpoint.save(folder, whole.state, whole.record_offset, 0)
    resumed = Follower(folder)
    assert resumed.state == whole.state
    assert not resumed.advance()
    assert folder.checkpoint.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("raw", [b"", b"{", b"[]", b"\xff", b'{"code": "other code", "state": 5}'])
def test_a_damaged_one_or_one_of_other_code_is_thrown_away(raw: bytes, folder: RunFolder) -> None:
    folder.checkpoint.write_bytes(raw)
    assert checkpoint.load(folder) is None
    follower = Follower(folder)
    follower.advance()
    assert follower.state == read(folder).state


def test_other_reading_code_makes_it_worthless(folder: RunFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    checkpoint.save(folder, State(t=99.0), 0, 0)
    assert checkpoint.load(folder) is not None
    monkeypatch.setattr(checkpoint, "reading_hash", lambda: "changed")
    assert checkpoint.load(folder) is None


def test_one_that_is_ahead_of_its_record_is_thrown_away(folder: RunFolder) -> None:
    checkpoint.save(folder, State(), folder.record.stat().st_size + 1, 0)
    assert checkpoint.load(folder) is None


def test_a_disk_that_is_full_costs_the_checkpoint_only(
    folder: RunFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    checkpoint.save(folder, State(t=1.0), 0, 0)
    before = folder.checkpoint.read_bytes()
    folder.checkpoint.with_suffix(".new").mkdir()
    with pytest.raises(OSError, match="directory"):
        checkpoint.save(folder, State(t=2.0), 0, 0)
    assert folder.checkpoint.read_bytes() == before


def test_the_hash_is_that_of_the_reading_sources() -> None:
    assert len(checkpoint.reading_hash()) == 32
    assert checkpoint.reading_hash() == checkpoint.reading_hash()


def test_an_ended_run_is_known_from_its_checkpoint(folder: RunFolder) -> None:
    state = structs.replace(read(folder).state)
    state = structs.replace(state, life=structs.replace(state.life, exit=Exit(t=3.0, code=0)))
    checkpoint.save(folder, state, folder.record.stat().st_size, 0)
    assert Follower(folder).ended
    assert (
        msgspec.json.decode(folder.checkpoint.read_bytes())["record_offset"] == folder.record.stat().st_size
    )
