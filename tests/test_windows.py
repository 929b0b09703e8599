"""Any split of a series into windows sums to the whole; engines sum to the server."""

import itertools

from hypothesis import given
from hypothesis import strategies as st

from collectors.reading import serving
from collectors.reading.events import Metrics, Series
from collectors.reading.serving import ServingState
from collectors.reading.windows import Totals, difference, joined

STEP = st.tuples(st.integers(0, 500), st.integers(0, 500), st.booleans())
NAMES = tuple(f'vllm:generation_tokens_total{{engine="{engine}"}}' for engine in range(2))


def totals_of(steps: list[tuple[int, int, bool]]) -> tuple[list[Totals], ServingState, int]:
    """The totals after each page of two engines that count on or restart, and what they really did."""
    state = serving.read(ServingState(), Series(t=0.0, start=0, names=NAMES))
    state = serving.read(state, Metrics(t=0.0, values={0: 0.0, 1: 0.0}))
    raw, done, seen = [0, 0], 0, [state.totals]
    for number, (first, second, restarts) in enumerate(steps, 1):
        if restarts and (first < raw[0] and second < raw[1]):
            raw = [first, second]
            done += first + second
        else:
            raw = [raw[0] + first, raw[1] + second]
            done += first + second
        state = serving.read(state, Metrics(t=float(number), values={0: float(raw[0]), 1: float(raw[1])}))
        seen.append(state.totals)
    return seen, state, done


@given(st.lists(STEP, min_size=1, max_size=20), st.data())
def test_any_split_sums_to_the_whole(steps: list[tuple[int, int, bool]], data: st.DataObject) -> None:
    seen, _, done = totals_of(steps)
    cuts = sorted(data.draw(st.sets(st.integers(1, len(seen) - 1)))) if len(seen) > 1 else []
    edges = [0, *cuts, len(seen) - 1]
    parts = [difference(seen[a], seen[b]) for a, b in itertools.pairwise(edges)]
    whole = difference(seen[0], seen[-1])
    assert joined(parts).values == whole.values
    assert sum(whole.values.values()) == done
    assert all(value >= 0 for part in parts for value in part.values.values())


@given(st.lists(STEP, min_size=1, max_size=20))
def test_engines_sum_to_the_server_and_stay_apart(steps: list[tuple[int, int, bool]]) -> None:
    _, state, done = totals_of(steps)
    whole = serving.since_start(state)
    assert whole is not None
    assert whole.generated == done
    assert sum(part.generated or 0 for part in whole.engines.values()) == done
    assert list(whole.engines) == ["0", "1"]
