"""What temperature and context do to acceptance: said only where one benchmark varied just that.

Two shares at position 0 are compared, each of as many drafts (positions after it are not independent of it): the 95 %
interval of their difference must not hold 0, and the drop must be one that matters. That there is none is said only
where the interval holds no drop that matters either.
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import combinations
from math import sqrt

from msgspec import Struct

from collectors.reading.verdict import ENOUGH_DRAFTS, Measured, Verdict

MATTERS = 0.05  # of a share: less hardly moves the speed
MORE = "more requests at each level: --requests"


class _Factor(Struct, frozen=True):
    """What a benchmark can vary. `fits`: what a drop is consistent with; `then`: the experiment that tells."""

    name: str
    value: Callable[[Measured], float | None]
    shown: Callable[[float], str]
    fits: str
    then: str


FACTORS = (
    _Factor(
        "temperature",
        lambda it: it.temperature,
        lambda value: f"{value:g}",
        "sampling that no drafter can foresee; it is no fault of the drafter's",
        "measure at the temperature that you serve at",
    ),
    _Factor(
        "context",
        lambda it: it.context,
        lambda value: f"{value:,.0f} tokens",
        "a drafter that was trained on shorter texts, or whose RoPE scaling or window is not the target's",
        "specwatch doctor TARGET DRAFTER; or the same lengths with another drafter",
    ),
)


def varied(levels: Sequence[Measured]) -> Iterator[Verdict]:
    """For each factor that was varied alone: the surest drop that matters, else whether the sample shows that there
    is none."""
    for factor in FACTORS:
        pairs = list(_pairs(levels, factor))
        worse = [pair for pair in pairs if _drop(*pair) >= MATTERS and _drop(*pair) > _half(*pair)]
        if worse:
            yield _worse(factor, *max(worse, key=lambda pair: _drop(*pair) - _half(*pair)))
        elif pairs:  # the pair in which the greatest drop could hide
            yield _not_worse(factor, *max(pairs, key=lambda pair: _drop(*pair) + _half(*pair)))
        elif few := list(_pairs(levels, factor, enough=1)):
            yield _too_few(factor, *max(few, key=lambda pair: min(it.drafts or 0 for it in pair)))


def _pairs(
    levels: Sequence[Measured], factor: _Factor, enough: int = ENOUGH_DRAFTS
) -> Iterator[tuple[Measured, Measured]]:
    """Two levels that differ in the factor alone, the lesser first; only such as have drafts enough."""
    known = [level for level in levels if level.per_position and (level.drafts or 0) >= enough]
    for one, other in combinations(known, 2):
        a, b = factor.value(one), factor.value(other)
        rest = all(f.value(one) == f.value(other) for f in FACTORS if f is not factor)
        if a is not None and b is not None and a != b and rest and one.concurrency == other.concurrency:
            yield (one, other) if a < b else (other, one)


def _drop(low: Measured, high: Measured) -> float:
    return low.per_position[0] - high.per_position[0]


def _half(low: Measured, high: Measured) -> float:
    """Half of the 95 % interval of the difference."""
    return 1.96 * sqrt(sum(a * (1 - a) / (it.drafts or 1) for it in (low, high) for a in it.per_position[:1]))


def _worse(factor: _Factor, low: Measured, high: Measured) -> Verdict:
    ends, shares = _shown(factor, low, high)
    sentence = (
        f"Worse with {factor.name}: position 0 is accepted {shares[0]} of the time at {ends[0]}, {shares[1]} at "
        f"{ends[1]}: consistent with {factor.fits}."
    )
    return Verdict(f"worse-with-{factor.name}", "bad", sentence, (_evidence(low, high),), factor.then)


def _not_worse(factor: _Factor, low: Measured, high: Measured) -> Verdict:
    ends, shares = _shown(factor, low, high)
    at = f"position 0 is accepted {shares[0]} of the time at {ends[0]}, {shares[1]} at {ends[1]}"
    if _drop(low, high) + _half(low, high) > MATTERS:
        sentence = f"Too little data to tell whether {factor.name} makes it worse: {at}."
        return Verdict(f"unsure-with-{factor.name}", "unsure", sentence, (_evidence(low, high),), MORE)
    sentence = f"No drop with {factor.name} that matters: {at}."
    return Verdict(f"holds-with-{factor.name}", "good", sentence, (_evidence(low, high),))


def _too_few(factor: _Factor, low: Measured, high: Measured) -> Verdict:
    fewest = min(low.drafts or 0, high.drafts or 0)
    sentence = (
        f"Too little data to tell whether {factor.name} makes it worse: {fewest:,} drafts (a verdict needs "
        f"{ENOUGH_DRAFTS} at both)."
    )
    return Verdict(f"unsure-with-{factor.name}", "unsure", sentence, (_evidence(low, high),), MORE)


def _shown(factor: _Factor, low: Measured, high: Measured) -> tuple[list[str], list[str]]:
    ends = [factor.shown(factor.value(it) or 0.0) for it in (low, high)]
    return ends, [f"{it.per_position[0]:.1%}" for it in (low, high)]


def _evidence(low: Measured, high: Measured) -> str:
    drop, half = _drop(low, high), _half(low, high)
    return f"{low.name} and {high.name}: {low.drafts:,} and {high.drafts:,} drafts, difference {drop:.1%} ±{half:.1%}"
