"""Series of a page -> what they mean, and counters bridged over resets."""

import re
from collections.abc import Mapping

from msgspec import Struct

from collectors.reading.names import COUNTER, EXPOSED

_LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')


class Slot(Struct, frozen=True, array_like=True):
    """What one series counts: meaning (names.py), engine, and its position or bucket bound."""

    meaning: str
    engine: str = ""
    key: str = ""
    counts: bool = True  # a counter; else a gauge


def slots_of(names: tuple[str, ...]) -> tuple[Slot | None, ...]:
    """One for each series; None: unknown, or an older name of what the same page has under a newer one."""
    read: list[tuple[Slot, int] | None] = [_slot(name) for name in names]
    best: dict[str, int] = {}
    for found in read:
        if found is not None:
            meaning, rank = found[0].meaning, found[1]
            best[meaning] = min(rank, best.get(meaning, rank))
    return tuple(f[0] if f is not None and f[1] == best[f[0].meaning] else None for f in read)


def _slot(name: str) -> tuple[Slot, int] | None:
    base, _, rest = name.partition("{")
    known = EXPOSED.get(base)
    if known is None:
        return None
    meaning, kind, rank = known
    labels = dict(_LABEL.findall(rest))
    key = labels.get("position") or labels.get("le") or labels.get("finished_reason") or ""
    return Slot(meaning, labels.get("engine", ""), key, kind == COUNTER), rank


def increment(before: float | None, now: float, page_seen: bool) -> float:
    """What a counter grew by. A fall is a restart: what it reads now was counted since.

    A series that appears on a page seen before began at 0 (SGLang makes a child at its first use); at the
    first page of all, what it reads was counted before we looked, and is no growth of ours.
    """
    if before is None:
        return now if page_seen else 0.0
    return now - before if now >= before else now


def by_engine(slots: tuple[Slot | None, ...], values: Mapping[int, float]) -> dict[str, dict[int, float]]:
    """The values split over the engines, in the engines' order."""
    split: dict[str, dict[int, float]] = {}
    for number, value in values.items():
        slot = slots[number] if number < len(slots) else None
        if slot is not None:
            split.setdefault(slot.engine, {})[number] = value
    return {engine: split[engine] for engine in sorted(split, key=lambda e: (len(e), e))}


def summed(slots: tuple[Slot | None, ...], values: Mapping[int, float]) -> dict[str, float]:
    """meaning -> sum over engines, positions and buckets."""
    sums: dict[str, float] = {}
    for number, value in values.items():
        slot = slots[number] if number < len(slots) else None
        if slot is not None:
            sums[slot.meaning] = sums.get(slot.meaning, 0.0) + value
    return sums


def keyed(slots: tuple[Slot | None, ...], values: Mapping[int, float], meaning: str) -> dict[str, float]:
    """key (position, bucket bound) -> sum over engines, of one meaning."""
    sums: dict[str, float] = {}
    for number, value in values.items():
        slot = slots[number] if number < len(slots) else None
        if slot is not None and slot.meaning == meaning:
            sums[slot.key] = sums.get(slot.key, 0.0) + value
    return sums
