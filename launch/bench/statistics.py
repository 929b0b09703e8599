"""Spreads and intervals. Pure; the random source is seeded, so that a result can be computed again."""

import math
import random
from collections.abc import Sequence

from launch.bench.result import Spread

RESAMPLES = 1000


def spread(values: Sequence[float]) -> Spread | None:
    if not values:
        return None
    ordered = sorted(values)
    p50, p90, p99 = (
        ordered[min(len(ordered) - 1, math.ceil(q * len(ordered)) - 1)] for q in (0.5, 0.9, 0.99)
    )
    return Spread(mean=sum(ordered) / len(ordered), p50=p50, p90=p90, p99=p99, n=len(ordered))


def throughput_ci95(requests: Sequence[tuple[int, float]], tok_s: float) -> tuple[float, float] | None:
    """Bootstrap over requests (tokens, seconds): tokens per request-second, scaled to the measured tok/s.

    None below 4 requests: an interval from so few says nothing.
    """
    if len(requests) < 4:
        return None
    chance = random.Random(0)
    scale = tok_s * sum(s for _, s in requests) / max(1, sum(n for n, _ in requests))
    estimates = []
    for _ in range(RESAMPLES):
        drawn = chance.choices(requests, k=len(requests))
        estimates.append(scale * sum(n for n, _ in drawn) / sum(s for _, s in drawn))
    estimates.sort()
    return estimates[round(0.025 * RESAMPLES)], estimates[round(0.975 * RESAMPLES) - 1]


def binomial_ci95(hits: int, trials: int) -> tuple[float, float] | None:
    """Wilson's interval for a share."""
    if trials <= 0:
        return None
    z, share = 1.959964, hits / trials
    middle = (share + z * z / (2 * trials)) / (1 + z * z / trials)
    half = z / (1 + z * z / trials) * math.sqrt(share * (1 - share) / trials + z * z / (4 * trials * trials))
    return max(0.0, middle - half), min(1.0, middle + half)
