"""Quantile estimates."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors.reading.histograms import quantile


def test_linear_within_a_bin_and_at_least_in_the_open_one() -> None:
    bins = {"1.0": 10.0, "2.0": 10.0, "+Inf": 20.0}
    assert quantile(bins, 0.25) == pytest.approx(1.0)
    assert quantile(bins, 0.375) == pytest.approx(1.5)
    assert quantile(bins, 0.99) == 2.0


def test_nothing_observed_is_unknown() -> None:
    assert quantile({}, 0.5) is None
    assert quantile({"1.0": 0.0, "+Inf": 0.0}, 0.5) is None


@given(st.lists(st.floats(0.0, 9.9), min_size=1, max_size=50), st.floats(0.01, 0.99))
def test_an_estimate_lies_in_the_bin_of_the_true_quantile(values: list[float], share: float) -> None:
    bins = {
        f"{bound}.0": float(sum(bound - 1 < v <= bound or (bound == 1 and v == 0) for v in values))
        for bound in range(1, 11)
    }
    guess = quantile(bins, share)
    assert guess is not None
    assert 0.0 <= guess <= 10.0
    below = sum(v <= guess + 1 for v in values)
    assert below >= share * len(values) - 1e-9
