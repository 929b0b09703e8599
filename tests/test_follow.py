"""Follower: one code path for live, ended, resumed."""

import time
from pathlib import Path

from collectors.reading.events import Clock, Exit, Tick
from collectors.record import checkpoint, wire
from collectors.record.follow import Follower
from tests.run_folders import make_run, read, write_record


def test_a_record_that_is_not_there_yet_is_an_empty_one(tmp_path: Path) -> None:
    follower = Follower(make_run(tmp_path))
    assert not follower.advance()
    assert follower.age() is None
    assert not follower.ended


def test_it_follows_to_the_end(tmp_path: Path) -> None:
    folder = make_run(tmp_path)
    write_record(folder, [Tick(t=1.0)])
    follower = Follower(folder)
    assert follower.advance()
    assert not follower.advance()
    with folder.record.open("ab") as file:
        file.write(wire.encode(wire.entry_of(Exit(t=2.0, code=0))))
    assert follower.advance()
    assert follower.ended


def test_time_given_is_kept_and_what_is_left_is_told(tmp_path: Path) -> None:
    folder = make_run(tmp_path)
    write_record(folder, [Tick(t=float(n)) for n in range(50_000)])
    follower = Follower(folder)
    began = time.monotonic()
    follower.advance(max_s=0.02)
    assert time.monotonic() - began < 0.3
    assert follower.behind
    while follower.behind:
        follower.advance(max_s=0.5)
    assert follower.state.t == 49_999.0


def test_age_is_that_of_the_last_line(tmp_path: Path) -> None:
    folder = make_run(tmp_path)
    write_record(folder, [Tick(t=10.0)])
    follower = read(folder)
    zero = folder.info().boottime0
    assert follower.age(zero + 17.0) == 7.0
    assert follower.age(zero + 9.0) == 0.0


def test_after_a_reboot_age_goes_by_the_wall_clock(tmp_path: Path) -> None:
    folder = make_run(tmp_path, boot_id="another boot")
    write_record(folder, [Clock(t=0.0, wall=time.time() - 100.0), Tick(t=40.0)])
    age = read(folder).age()
    assert age is not None
    assert 59.0 < age < 65.0


def test_it_starts_from_a_checkpoint_in_the_middle(tmp_path: Path) -> None:
    folder = make_run(tmp_path)
    write_record(folder, [Tick(t=1.0)])
    half = read(folder)
    with folder.record.open("ab") as file:
        file.write(wire.encode(wire.entry_of(Tick(t=2.0))))
    checkpoint.save(folder, half.state, half.record_offset, 0)
    resumed = Follower(folder)
    assert resumed.state.t == 1.0
    resumed.advance()
    assert resumed.state == read(folder).state
