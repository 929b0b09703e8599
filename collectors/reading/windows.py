"""Windows: what the counters grew by between two instants, and the time in which the server was busy."""

from msgspec import Struct


class Totals(Struct, frozen=True, array_like=True):
    """All that was counted up to `t`, resets bridged: the difference of two of these is a window.

    `values`: series number -> total. Times in seconds: `active` of scrape intervals in which counters moved
    or requests ran; `busy` of those with requests running at both ends, and `busy_tokens` generated in these;
    `running` the integral of running requests over the active ones.
    """

    t: float = 0.0
    values: dict[int, float] = {}
    active: float = 0.0
    busy: float = 0.0
    busy_tokens: float = 0.0
    running: float = 0.0
    intervals: int = 0  # active ones
    resets: int = 0


def difference(begin: Totals, end: Totals) -> Totals:
    """The window between two instants: `t` is its length, `values` what each series grew by."""
    before = begin.values
    return Totals(
        round(end.t - begin.t, 3),
        {n: v - before.get(n, 0.0) for n, v in end.values.items()},
        end.active - begin.active,
        end.busy - begin.busy,
        end.busy_tokens - begin.busy_tokens,
        end.running - begin.running,
        end.intervals - begin.intervals,
        end.resets - begin.resets,
    )


def joined(parts: "list[Totals] | tuple[Totals, ...]") -> Totals:
    """Adjoining windows as one."""
    values: dict[int, float] = {}
    for part in parts:
        for number, value in part.values.items():
            values[number] = values.get(number, 0.0) + value
    return Totals(
        sum(p.t for p in parts),
        values,
        sum(p.active for p in parts),
        sum(p.busy for p in parts),
        sum(p.busy_tokens for p in parts),
        sum(p.running for p in parts),
        sum(p.intervals for p in parts),
        sum(p.resets for p in parts),
    )
