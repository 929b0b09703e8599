"""When it will be ready: the source that it comes from, and that it never says nonsense."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from collectors.reading.eta import Arrival, arrival, left_of, pace_of
from collectors.reading.events import (
    Exit,
    Health,
    HostSample,
    Log,
    PastRun,
    Proc,
    RunFacts,
    Started,
    Tick,
)
from collectors.reading.log.parts import Bar
from collectors.reading.log.phases import ORDER
from collectors.reading.state import State, step

BANNER = (
    "(APIServer pid=1) INFO 12-01 03:25:00 [startup.py:40] vLLM server version 0.32.0, serving model m/K\n"
)
WEIGHTS = "(Worker_TP0 pid=10) INFO 12-01 03:25:30 [gpu_model_runner.py:4125] Starting to load model m/K...\n"
PROFILE = "(Worker_TP0 pid=10) INFO 12-01 03:26:30 [x.py:1] Model loading took 13.71 GiB and 60.0 seconds\n"
READY = "(APIServer pid=1) INFO:     Application startup complete.\n"
GIB = 1 << 30
# As timings.jsonl has it: the steps are those from the banner on, the silence before it is in the total alone.
PAST = {"start": 10.0, "weights": 700.0, "post": 20.0, "compile": 60.0, "graphs": 30.0, "api": 2.0}


def past(scale: float = 1.0, *, cold: bool | None = None, silence: float = 15.0, **steps: float) -> PastRun:
    lengths = {**{name: seconds * scale for name, seconds in PAST.items()}, **steps}
    return PastRun(steps=lengths, total=silence + sum(lengths.values()), cold=cold)


def run(
    *history: PastRun, t: float = 0.0, shards: int = 0, says: tuple[tuple[float, str], ...] = ()
) -> State:
    facts = RunFacts(engine="vllm", history=history, shard_bytes=(GIB,) * shards)
    state = step(State(), Started(t=0.0, run=facts))
    for when, text in says:
        state = step(state, Log(t=when, offset=state.log.size, data=text.encode()))
    return step(state, Tick(t=t))


def bar_line(done: int, elapsed: int, total: int = 64) -> str:
    clock = f"{elapsed // 60:02d}:{elapsed % 60:02d}"
    percent = f"{done * 100 // total:3d}%"
    return f"Loading safetensors checkpoint shards: {percent} Completed | {done}/{total} [{clock}<?, ?it/s]\n"


# -- from earlier runs


def test_before_the_first_line_the_whole_start_lies_ahead() -> None:
    assert arrival(run(past(), t=5.0)) == Arrival(837.0 - 5, None, "history", 1)


def test_the_running_step_counts_what_it_has_had() -> None:
    loads = ((20.0, BANNER), (25.0, WEIGHTS))
    assert arrival(run(past(), t=25.0, says=loads)).seconds == 812.0
    assert arrival(run(past(), t=325.0, says=loads)).seconds == 512.0


def test_a_step_that_takes_longer_than_ever_is_late_and_has_no_arrival() -> None:
    """ "ready in about 4 s" stood for five minutes over a start that hung in its first step."""
    says = ((20.0, BANNER), (25.0, WEIGHTS))
    on_the_way = arrival(run(past(weights=700.0), t=25.0 + 900.0, says=says))
    assert (on_the_way.seconds, on_the_way.late) == (112.0, None)
    late = arrival(run(past(weights=700.0), t=25.0 + 1100.0, says=says))
    assert (late.seconds, late.late, late.n) == (None, 400.0, 1)


def test_bytes_do_not_tell_of_weights_that_are_read() -> None:
    """At 32 of 32 shards and a drafter on its way, the page cache's rest was "weights done in 37 min"."""
    drafter = "(Worker_TP0 pid=10) INFO 12-01 03:25:30 [gpu_model_runner.py:4125] Loading drafter model...\n"
    state = run(t=60.0, says=((20.0, BANNER), (25.0, WEIGHTS), (50.0, drafter)))
    assert state.log.steps[-1].name == "drafter"
    assert arrival(state).source is None


def test_each_step_is_the_median_of_the_last_five() -> None:
    runs = [past(9.0), *(past(1.0, weights=seconds) for seconds in (700.0, 100.0, 650.0, 4000.0, 690.0))]
    found = arrival(run(*runs, t=25.0, says=((20.0, BANNER), (25.0, WEIGHTS))))
    assert (found.seconds, found.n, found.source, found.of) == (690.0 + 112, 5, "history", "ready")
    assert found.spread == (4000 - 100) / 2


def test_one_run_has_no_spread() -> None:
    assert arrival(run(past(), t=1.0)).spread is None


def test_a_late_drafter_does_not_bring_back_what_was_done() -> None:
    """SGLang loads it after the target's graphs were captured: graphs have had their time."""
    lines = (
        (1.0, "[2026-02-26 16:30:00] server_args=ServerArgs(model_path='/m', tp_size=8)\n"),
        (10.0, "[2026-02-26 16:31:00 TP7] Load weight begin. avail mem=283.68 GB\n"),
        (700.0, "[2026-02-26 16:41:05 TP1] Load weight end. elapsed=605.50 s, mem usage=73.58 GB.\n"),
        (720.0, "[2026-02-26 16:41:19 TP2] Capture cuda graph begin. This can take up to several minutes.\n"),
        (745.0, "[2026-02-26 16:42:00 TP2] Load weight begin. avail mem=100.00 GB\n"),
    )
    runs = PastRun(steps={"weights": 690.0, "profile": 20.0, "graphs": 30.0, "drafter": 12.0}, total=760.0)
    state = run(runs, t=745.0, says=lines)
    assert state.log.steps[-1].name == "drafter"
    assert arrival(state).seconds == 12 + 5


def reads(t: float, stored: int, through: int, ranks: int = 1) -> HostSample:
    procs = {
        n: Proc(title=f"VLLM::Worker_TP{n}", rchar=through, read_bytes=stored if n == 0 else 0)
        for n in range(ranks)
    }
    return HostSample(t=t, procs=procs)


@pytest.mark.parametrize(
    ("stored", "through", "ranks", "want"),
    [
        (20 * GIB, 20 * GIB, 1, 700.0),
        (20 * GIB, 20 * GIB, 8, 700.0),  # the page cache serves the other seven
        (20 * GIB, 171 << 20, 1, 700.0),  # a mapped file is in no rchar
        (0, 20 * GIB, 8, 70.0),
        (1 << 20, 1 << 20, 1, 350.0),  # nothing read yet: all runs count
    ],
    ids=["cold", "cold-tp8", "cold-mapped", "warm", "not-known-yet"],
)
def test_runs_of_the_same_class_count(stored: int, through: int, ranks: int, want: float) -> None:
    runs = [past(cold=True), past(weights=70.0, cold=False)] * 2
    if want == 350.0:
        runs = [past(cold=True), past(weights=0.0, cold=False)]
    state = run(*runs, t=25.0, shards=64, says=((20.0, BANNER), (25.0, WEIGHTS)))
    found = arrival(step(state, reads(25.0, stored, through, ranks)))
    assert (found.seconds, found.n) == (want + 112, 2)


def test_another_class_is_better_than_none() -> None:
    state = run(past(cold=False), t=25.0, shards=64, says=((20.0, BANNER), (25.0, WEIGHTS)))
    assert arrival(step(state, reads(25.0, 20 * GIB, 20 * GIB))).n == 1


# -- from bytes


def loads(rate: int, *, mapped: bool, says: tuple[tuple[float, str], ...] = (), ranks: int = 1) -> State:
    """64 GiB from t = 25 on, `rate` GiB a second, 10 s of it; 1 GiB of libraries was read before."""
    state = run(t=25.0, shards=64, says=((20.0, BANNER), (25.0, WEIGHTS)))
    for t in range(20, 36):
        got = GIB + max(0, t - 25) * rate * GIB
        state = step(state, reads(float(t), got, GIB if mapped else got, ranks))
    for when, text in says:
        state = step(state, Log(t=when, offset=state.log.size, data=text.encode()))
    return step(state, Tick(t=35.0))


@pytest.mark.parametrize("mapped", [True, False])
@pytest.mark.parametrize("ranks", [1, 4])
def test_bytes_against_the_shards_sizes(mapped: bool, ranks: int) -> None:
    found = arrival(loads(2, mapped=mapped, ranks=ranks))
    assert (found.source, found.of, found.n) == ("bytes", "weights", 0)
    assert found.seconds == pytest.approx(22.0)


def test_a_bar_that_is_elsewhere_speaks_against_the_bytes() -> None:
    """Out of the page cache through a mapped file nothing is counted: what was read is not the load."""
    far = ((30.0, bar_line(10, 2)), (34.0, bar_line(50, 10)))
    assert arrival(loads(1, mapped=True, says=far)).source == "bar"
    near = ((30.0, bar_line(5, 5)), (34.0, bar_line(10, 10)))
    assert arrival(loads(1, mapped=True, says=near)).source == "bytes"


def test_a_bar_of_another_pace_speaks_against_the_bytes_too() -> None:
    """A checkpoint that lies in the page cache in part: 20 of 64 shards in 10 s, 8 of them read from storage. "Done in
    70 s" by the bytes, in a third of that by the bar."""
    bar = tuple((25.0 + n / 2, bar_line(n, n // 2)) for n in range(1, 21))
    found = arrival(loads(1, mapped=True, says=bar))
    assert found.source == "bar"
    assert found.seconds == pytest.approx(22.0, abs=5.0)  # bars print whole seconds


# -- from the bar


def test_the_cache_ends_and_the_disk_begins() -> None:
    """engines.md: 25 of 64 shards in 20 s, then 16 s each. Straight on it would be 31 s; it took 10 minutes."""
    says = [(20.0, BANNER), (25.0, WEIGHTS)]
    says += [(25.0 + 0.8 * n, bar_line(n, int(0.8 * n))) for n in range(26)]
    for n in range(26, 64):
        now = 45.0 + 16 * (n - 25)
        says.append((now, bar_line(n, int(now - 25))))
        found = arrival(run(t=now, says=tuple(says)))
        assert (found.source, found.of) == ("bar", "bar")
        assert found.seconds == pytest.approx((64 - n) * 16, rel=0.01), n


def test_the_first_slow_unit_slows_the_estimate_while_it_runs() -> None:
    says = [(20.0, BANNER), (25.0, WEIGHTS)]
    says += [(25.0 + 0.8 * n, bar_line(n, int(0.8 * n))) for n in range(26)]
    left = [arrival(run(t=45.0 + wait, says=tuple(says))).seconds or 0.0 for wait in (0.0, 4.0, 8.0, 15.0)]
    assert left == pytest.approx([31.2, 38 * 4, 38 * 8, 38 * 15], abs=1.5)


def test_units_that_come_in_pairs_are_no_jump() -> None:
    track = tuple(
        (float(16 * n + (15 if half else 0)), float(2 * n + half)) for n in range(6) for half in (0, 1)
    )
    for end in range(5, len(track)):
        bar = Bar("b", "weights", "target", track[end][1], 64.0, track=track[: end + 1])
        assert 6.0 < (pace_of(bar) or 0.0) < 11.0


def test_with_one_point_it_is_what_the_bar_printed() -> None:
    bar = Bar("b", "weights", "target", 3.0, 64.0, t=30.0, printed_eta_s=777.0, track=((33.0, 3.0),))
    assert (left_of(bar), left_of(bar, 40.0), left_of(bar, 4000.0)) == (777.0, 767.0, 0.0)


def test_a_bar_without_a_total_has_no_end() -> None:
    assert left_of(Bar("b", "other", "", 3.0, None)) is None
    assert left_of(Bar("b", "other", "", 3.0, 3.0)) == 0.0


def test_a_finished_bar_is_no_arrival() -> None:
    """50-60 s of post-processing follow the last shard."""
    says = ((20.0, BANNER), (25.0, WEIGHTS), (30.0, bar_line(0, 0)), (40.0, bar_line(64, 40)))
    assert arrival(run(t=41.0, says=says)) == Arrival()


# -- when there is nothing to say, or no sense in it


@pytest.mark.parametrize(
    "event",
    [Health(t=30.0, status=200), Exit(t=30.0, code=1), Log(t=30.0, offset=0, data=(BANNER + READY).encode())],
)
def test_what_is_ready_or_gone_does_not_arrive(event: Health | Exit | Log) -> None:
    assert arrival(step(run(past(), t=25.0), event)) == Arrival()


def test_another_servers_health_is_no_arrival() -> None:
    assert arrival(step(run(past(), t=25.0), Health(t=26.0, status=200, owner="other"))).n == 1


def test_nothing_known_is_nothing_said() -> None:
    assert arrival(run(t=100.0, says=((20.0, BANNER),))) == Arrival()


@pytest.mark.parametrize(
    "odd",
    [
        PastRun(steps={}, total=0.0),
        PastRun(steps={"weights": math.nan}, total=10.0),
        PastRun(steps={"weights": math.inf}, total=math.inf),
        PastRun(steps={"weights": -5.0}, total=10.0),
        PastRun(steps={"weights": 5.0}, total=-1.0),
    ],
)
def test_times_that_cannot_be_true_do_not_count(odd: PastRun) -> None:
    assert arrival(run(odd, t=1.0)) == Arrival()
    assert arrival(run(odd, past(), t=1.0)).n == 1


def test_steps_of_another_version_do_no_harm() -> None:
    strange = PastRun(steps={"no such step": 99.0, "weights": 50.0, "serving": 1e6}, total=60.0)
    assert arrival(run(strange, t=0.0)).seconds == 60.0


numbers = st.floats(allow_nan=True, allow_infinity=True) | st.floats(min_value=0, max_value=1e5)
pasts = st.builds(
    PastRun,
    steps=st.dictionaries(st.sampled_from((*ORDER, "other")), numbers, max_size=6),
    total=numbers,
    cold=st.sampled_from((True, False, None)),
)


@settings(max_examples=150, deadline=None)
@given(history=st.lists(pasts, max_size=8), t=st.floats(min_value=0, max_value=1e6), steps=st.integers(0, 3))
def test_whatever_the_history_it_is_a_finite_time_ahead_or_nothing(
    history: list[PastRun], t: float, steps: int
) -> None:
    says = ((20.0, BANNER), (25.0, WEIGHTS), (90.0, PROFILE))[:steps]
    found = arrival(run(*history, t=t, says=says))
    assert found.seconds is None or (math.isfinite(found.seconds) and found.seconds >= 0)
    assert found.spread is None or (math.isfinite(found.spread) and found.spread >= 0)
    assert (found.source == "history") == (found.n > 0)
    assert found.n <= 5


hundredths = st.integers(0, 10_000).map(lambda n: n / 100)
points = st.lists(st.tuples(st.floats(0, 1e5), hundredths), max_size=8)


@settings(max_examples=150, deadline=None)
@given(track=points, done=hundredths, now=st.none() | st.floats(0, 1e6))
def test_whatever_the_bar_what_is_left_is_not_negative(
    track: list[tuple[float, float]], done: float, now: float | None
) -> None:
    ordered = tuple(zip(sorted(t for t, _ in track), sorted(n for _, n in track), strict=True))
    left = left_of(Bar("b", "weights", "target", done, 100.0, track=ordered), now)
    assert left is None or (math.isfinite(left) and left >= 0)
