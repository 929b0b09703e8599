"""What reading costs grows with a log's length and no faster; what it remembers does not grow. Ratios, not seconds."""

import time
import tracemalloc

import pytest

from collectors.reading.events import Log
from collectors.reading.report import report
from collectors.reading.state import State, step
from tests.bench_explain import HOSTILE, chunks, every_line_hits, hostile, repeated

SMALL, TIMES = 256 << 10, 4
QUADRATIC = TIMES * TIMES
NOTHING_S = 0.03  # below this a quadratic cost could not be told from noise, nor would it matter


def seconds(data: bytes) -> float:
    """The least of three."""
    return min(_once(data) for _ in range(3))


def _once(data: bytes) -> float:
    began = time.process_time()
    read(chunks(data))
    return time.process_time() - began


def read(blocks: object) -> State:
    state = State()
    for block in blocks:  # type: ignore[attr-defined]
        state = step(state, Log(t=0.0, offset=state.log.size, data=block))
    report(state)
    return state


@pytest.mark.parametrize("name", HOSTILE)
def test_time_grows_with_the_length(name: str) -> None:
    large = seconds(hostile(name, TIMES * SMALL))
    if large > NOTHING_S:
        assert large / seconds(hostile(name, SMALL)) < QUADRATIC * 0.6


def test_a_log_that_hits_with_every_line_is_linear_too() -> None:
    assert seconds(every_line_hits(4000)) / seconds(every_line_hits(1000)) < QUADRATIC * 0.6


def peak(megabytes: int) -> int:
    tracemalloc.start()
    try:
        blocks = repeated(megabytes)
        state = State()
        most = 0
        for block in blocks:
            tracemalloc.reset_peak()
            before = tracemalloc.get_traced_memory()[0]
            state = step(state, Log(t=0.0, offset=state.log.size, data=block))
            most = max(most, tracemalloc.get_traced_memory()[1] - before)
        return most
    finally:
        tracemalloc.stop()


def test_memory_does_not_grow() -> None:
    assert peak(6) < 1.5 * peak(2)
