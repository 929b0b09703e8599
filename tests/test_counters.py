"""Series names -> meanings, and increments over resets."""

import itertools

from hypothesis import given
from hypothesis import strategies as st

from collectors.reading.counters import increment, slots_of

COUNTS = st.lists(st.integers(0, 10**9), min_size=1, max_size=30)


@given(COUNTS)
def test_a_reset_is_never_negative_nor_a_spike(readings: list[int]) -> None:
    for before, now in itertools.pairwise(readings):
        grown = increment(before, now, True)
        assert 0 <= grown <= now


def test_the_first_page_is_no_growth_but_a_series_that_appears_later_is() -> None:
    assert increment(None, 500, page_seen=False) == 0
    assert increment(None, 3, page_seen=True) == 3


def test_of_an_old_and_a_new_name_on_one_page_only_the_new_counts() -> None:
    names = (
        'vllm:time_per_output_token_seconds_sum{engine="0"}',
        'vllm:inter_token_latency_seconds_sum{engine="0"}',
        'vllm:generation_tokens_total{engine="0"}',
        "something_else",
    )
    old, new, tokens, other = slots_of(names)
    assert old is None
    assert new is not None
    assert new.meaning == "itl_sum"
    assert tokens is not None
    assert (tokens.meaning, tokens.engine) == ("generated", "0")
    assert other is None
    (alone,) = slots_of(names[:1])
    assert alone is not None
    assert alone.meaning == "itl_sum"
