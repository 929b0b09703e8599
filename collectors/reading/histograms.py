"""Quantile estimates from a histogram's bins. Means are exact (sum / count) and need none of this."""

from collections.abc import Mapping


def quantile(bins: Mapping[str, float], share: float) -> float | None:
    """The estimate of Prometheus' histogram_quantile: linear within the bin. None without observations.

    `bins`: upper bound -> count in that bin alone. In the last, open bin the estimate is its lower bound.
    """
    ordered = sorted((float(bound), count) for bound, count in bins.items())
    total = sum(count for _, count in ordered)
    if total <= 0:
        return None
    wanted, below, lower = share * total, 0.0, 0.0
    for bound, count in ordered:
        if count > 0 and below + count >= wanted:
            if bound == float("inf"):
                return lower
            return lower + (bound - lower) * max(0.0, wanted - below) / count
        below += count
        lower = bound if bound != float("inf") else lower
    return lower
