"""Marks, benchmarks, resets, idleness and size of what is known of serving."""

import msgspec
import pytest

from collectors.reading import serving
from collectors.reading.events import Metrics, Request, Series
from collectors.reading.serving import ServingState

NAMES = (
    'vllm:generation_tokens_total{engine="0"}',
    'vllm:num_requests_running{engine="0"}',
    'vllm:spec_decode_num_drafts_total{engine="0"}',
    'vllm:spec_decode_num_draft_tokens_total{engine="0"}',
    'vllm:spec_decode_num_accepted_tokens_total{engine="0"}',
)
START = serving.read(ServingState(), Series(t=0.0, start=0, names=NAMES))


def page(state: ServingState, t: float, **values: float) -> ServingState:
    order = ("generated", "running", "drafts", "drafted", "accepted")
    return serving.read(state, Metrics(t=t, values={order.index(name): v for name, v in values.items()}))


def working(state: ServingState, t: float, tokens: float) -> ServingState:
    return page(state, t, generated=tokens, running=1, drafts=tokens / 2, drafted=tokens, accepted=tokens / 2)


def test_what_was_counted_before_we_looked_is_in_no_window() -> None:
    state = working(START, 5.0, 10_000)
    state = working(state, 6.0, 10_100)
    whole = serving.since_start(state)
    assert whole is not None
    assert whole.generated == 100
    assert state.live.tok_s.last == 100


def test_a_restart_adds_and_is_said() -> None:
    state = working(working(START, 0.0, 0), 1.0, 1000)
    state = serving.read(state, Metrics(t=2.0, error="refused"))
    assert state.error == "refused"
    state = working(state, 60.0, 40)
    assert state.error is None
    whole = serving.since_start(state)
    assert whole is not None
    assert (whole.generated, whole.resets) == (1040, 1)
    assert all(value is None or value >= 0 for _, value in state.live.tok_s.points)


def test_a_recorder_that_restarts_and_numbers_afresh_changes_no_total() -> None:
    state = working(working(START, 0.0, 0), 1.0, 100)
    turned = tuple(reversed(NAMES))
    state = serving.read(state, Series(t=2.0, start=0, names=turned))
    values = {turned.index(NAMES[0]): 150.0, turned.index(NAMES[1]): 1.0, turned.index(NAMES[2]): 75.0}
    state = serving.read(state, Metrics(t=2.0, values=values))
    whole = serving.since_start(state)
    assert whole is not None
    assert (whole.generated, whole.drafts) == (150, 75)


def test_idle_is_none_and_the_last_busy_window_stays_dated() -> None:
    state = working(START, 0.0, 0)
    for t in range(1, 5):
        state = working(state, float(t), 100.0 * t)
    for t in range(5, 100):
        state = page(state, float(t), running=0)
    last = serving.last_window(state, 10)
    assert last is not None
    assert (last.tok_s, last.acceptance_rate, last.mean_length) == (None, None, None)
    assert serving.idle(state)
    busy = serving.busy_window(state)
    assert busy is not None
    assert busy[0] == 0.0
    assert busy[1] == pytest.approx(5.0)
    assert busy[2].tok_s == pytest.approx(100.0)


def test_marks_and_benchmarks_have_windows_of_their_own() -> None:
    state = working(working(START, 0.0, 0), 1.0, 100)
    state = serving.read(state, Request(t=1.0, kind="mark", label="warm"))
    state = serving.read(state, Request(t=1.0, kind="bench_begin", id="b", label="c1", data={"total": 4}))
    state = working(state, 2.0, 300)
    state = serving.read(state, Request(t=2.0, kind="bench_progress", id="b", data={"done": 2}))
    running = serving.benchmark(state, "b")
    assert running is not None
    assert running.generated == 200
    state = serving.read(state, Request(t=2.0, kind="bench_end", id="b", data={"tok_s": 200.0}))
    state = working(state, 3.0, 1000)
    ended, mark = serving.benchmark(state, "b"), serving.since_mark(state)
    assert ended is not None
    assert mark is not None
    assert (ended.generated, ended.seconds, mark.generated) == (200, 1.0, 900)
    assert state.benchmarks[0].progress == {"done": 2}
    assert state.benchmarks[0].result == {"tok_s": 200.0}
    assert serving.benchmark(state, "another") is None


def test_a_gauge_that_left_the_page_is_unknown() -> None:
    state = working(START, 0.0, 0)
    assert serving.gauge(state, "running") == 1
    state = serving.read(state, Metrics(t=1.0, gone=(1,)))
    assert serving.gauge(state, "running") is None


def test_a_server_without_speculation_is_told_from_one_not_read_yet() -> None:
    assert serving.speculates(ServingState()) is None
    assert serving.speculates(working(START, 0.0, 0)) is True
    plain = serving.read(ServingState(), Series(t=0.0, start=0, names=NAMES[:2]))
    assert serving.speculates(page(plain, 0.0, generated=0)) is False


def test_a_long_run_of_eight_engines_stays_small_and_survives_a_checkpoint() -> None:
    names = tuple(
        f'vllm:{metric}{{engine="{engine}"{more}}}'
        for engine in range(8)
        for metric, more in [
            ("generation_tokens_total", ""),
            ("num_requests_running", ""),
            ("spec_decode_num_drafts_total", ""),
            *(("time_to_first_token_seconds_bin", f',le="{n}.0"') for n in range(25)),
            *(("inter_token_latency_seconds_bin", f',le="{n}.0"') for n in range(25)),
        ]
    )
    state = serving.read(ServingState(), Series(t=0.0, start=0, names=names))
    for t in range(400):
        values = {n: float(t * (n % 7 + 1)) for n in range(len(names)) if n % 3 == 0}
        state = serving.read(state, Metrics(t=float(t), values=values))
        if t % 20 == 0:
            state = serving.read(state, Request(t=float(t), kind="bench_begin", id=str(t)))
            state = serving.read(state, Request(t=float(t), kind="mark"))
    raw = msgspec.json.encode(state)
    assert len(raw) < 1_000_000
    again = msgspec.json.decode(raw, type=ServingState)
    event = Metrics(t=500.0, values={0: 9999.0})
    assert serving.read(again, event) == serving.read(state, event)
