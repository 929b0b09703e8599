"""record.jsonl: every event comes back as it was; damaged, torn and unknown things harm nothing."""

from pathlib import Path

import msgspec
import pytest

from collectors.reading import events as ev
from collectors.record import reader, wire
from collectors.record.writer import RecordWriter
from tests.run_folders import make_run, read, write_record

EVENTS: list[ev.AnyEvent] = [
    ev.Started(
        t=0.0, run=ev.RunFacts(id="r", argv=("a", "b"), history=(ev.PastRun(steps={"kv": 1.5}, total=2.0),))
    ),
    ev.Clock(t=0.1, wall=1.7e9),
    ev.Log(t=0.2, offset=0, data=b"abc\n"),
    ev.GpuSample(t=1.0, gpus={0: ev.Gpu(1, 2, 3, 4), 7: ev.Gpu(None, 5)}),
    ev.GpuSample(t=1.0, error="NVML: not found"),
    ev.HostSample(t=1.5, procs={12: ev.Proc("VLLM::Worker_TP0", "R", 10, 1.5, None, 7, (0, 1))}, gone=(3,)),
    ev.HostSample(t=1.5, box=ev.Box(100, 50, 0, 1.5)),
    ev.Series(t=2.0, start=0, names=('a{engine="0"}', "b")),
    ev.Metrics(t=2.0, values={0: 1.0, 1: 2.5}, gone=(4,), took_ms=3, exact=True),
    ev.Metrics(t=2.1, error="HTTP 404"),
    ev.Health(t=2.2, status=200, owner="other", owner_pid=17),
    ev.Health(t=2.3, error="refused"),
    ev.Request(t=2.4, kind="bench_end", id="b1", label="c8", data={"tok_s": 1.5, "list": [1, {"x": None}]}),
    ev.Source(t=2.5, source="log", error="gone"),
    ev.Source(t=2.6, source="log"),
    ev.BrokenFiles(t=2.7, files=("model-00007-of-00032.safetensors: 5 bytes, the header describes 9",)),
    ev.Tick(t=3.0),
    ev.Reaped(t=4.0, signal=9),
    ev.Exit(t=4.5, signal=9, reason="killed"),
]


@pytest.mark.parametrize("event", EVENTS, ids=lambda e: type(e).__name__)
def test_every_event_comes_back_as_it_was(event: ev.AnyEvent) -> None:
    entry = wire.decode(wire.encode(wire.entry_of(event)))
    assert list(wire.events_of(entry, lambda a, b: b"abc\n"[a:b])) == [event]


def test_every_kind_of_event_stands_in_the_table_above() -> None:
    assert {type(event) for event in EVENTS} == set(ev.AnyEvent.__args__)


def test_a_torn_last_line_waits_and_a_damaged_one_is_passed_over(tmp_path: Path) -> None:
    folder = make_run(tmp_path)
    write_record(folder, [ev.Tick(t=1.0)])
    damaged = b'{"t":1.5,"tick":"no"}\n\xff\xfe\n'
    with folder.record.open("ab") as file:
        file.write(damaged + b'{"t":2.0,"tick":true,"of the future":1}\n{"t":3.0,"ti')
    assert [line.entry.t for line in reader.lines(folder.record, 0)] == [0.0, 1.0, 2.0]
    follower = read(folder)
    assert follower.state.t == 2.0
    with folder.record.open("ab") as file:
        file.write(b'ck":true}\n')
    assert follower.advance()
    assert follower.state.t == 3.0


def test_a_writer_cuts_a_torn_line_off_and_goes_on(tmp_path: Path) -> None:
    folder = make_run(tmp_path)
    write_record(folder, [ev.Tick(t=1.0)])
    whole = folder.record.read_bytes()
    line = wire.encode(wire.entry_of(ev.Clock(t=2.0, wall=12345678.5)))
    for cut in range(1, len(line)):
        folder.record.write_bytes(whole + line[:cut])
        writer = RecordWriter(folder)
        assert folder.record.read_bytes() == whole
        assert writer.write(ev.Tick(t=5.0))
        assert writer.state == read(folder).state
        writer.close()


def test_the_records_time_never_goes_back(tmp_path: Path) -> None:
    writer = RecordWriter(make_run(tmp_path))
    writer.write(ev.Started(t=0.0, run=ev.RunFacts()), ev.Tick(t=5.0))
    writer.write(ev.GpuSample(t=4.2, gpus={0: ev.Gpu(1)}))
    assert writer.state.gpus.t == 5.0
    writer.close()


def test_a_log_shorter_than_the_record_says_gives_what_there_is(tmp_path: Path) -> None:
    (tmp_path / "server.log").write_bytes(b"0123456789")
    log = reader.LogBytes(tmp_path / "server.log")
    assert log(2, 5) == b"234"
    assert log(8, 15) == b"89"
    assert log(20, 30) == b""
    assert reader.LogBytes(tmp_path / "none")(0, 5) == b""


def test_replay_tells_events_with_their_times(tmp_path: Path) -> None:
    folder = make_run(tmp_path)
    folder.server_log.write_bytes(b"abc\n")
    write_record(folder, EVENTS[1:])
    assert [t for t, _ in reader.replay(folder)] == [e.t for e in EVENTS]
    assert [event for _, event in reader.replay(folder)][2:] == EVENTS[2:]


def test_lines_are_told_in_the_events_own_units() -> None:
    line = wire.encode(wire.entry_of(ev.Log(t=1.23456, offset=5, data=b"xyz")))
    assert line == b'{"t":1.235,"log":[5,8]}\n'
    with pytest.raises(msgspec.MsgspecError):
        wire.decode(b"nonsense")
