"""Sides -> the comparison: a row a concurrency, speed-ups with intervals, differences, warnings, verdicts."""

from collections import Counter
from collections.abc import Iterator, Sequence

from msgspec import Struct, structs

from collectors.errors import SpecwatchError
from collectors.reading.gain import Gain, Measured, gain
from collectors.reading.varied import varied
from collectors.reading.verdict import Verdict, verdict
from launch.compare.contrast import Contrast, differences
from launch.compare.sides import Side
from launch.compare.unlike import refuse_unlike, warnings


class Cell(Struct, frozen=True):
    """One side at one concurrency, against the baseline at the same one."""

    side: str
    measured: Measured
    acceptance_rate: float | None
    mean_length: float | None
    gain: Gain | None
    verdict: Verdict | None


class Row(Struct, frozen=True):
    concurrency: int | None
    baseline: Measured
    cells: tuple[Cell, ...]
    temperature: float | None = None
    context: int | None = None


class Comparison(Struct, frozen=True):
    """`specwatch compare --json`, version 1."""

    v: int
    baseline: str
    sides: tuple[str, ...]
    rows: tuple[Row, ...]
    contrasts: tuple[Contrast, ...]
    warnings: tuple[str, ...]
    varied: dict[str, tuple[Verdict, ...]] = {}  # side -> what temperature and context do to its acceptance


def compare(sides: Sequence[Side]) -> Comparison:
    """The baseline is the first side that drafts nothing, else the first. Raises SpecwatchError for unlike sides."""
    sides = _named_apart(sides)
    base = next((s for s in sides if not s.speculates), sides[0])
    others = [s for s in sides if s is not base]
    for other in others:
        refuse_unlike(base, other)
    plain = not base.speculates
    rows = tuple(_rows(base, others, plain))
    if not rows:
        raise SpecwatchError(
            "the sides have no load in common: " + "; ".join(f"{s.name} {_levels(s.levels)}" for s in sides),
            "bench both with the same --concurrency, --temperature and --context; RUN:BENCH chooses a benchmark",
        )
    contrasts = tuple(_contrast(base, other) for other in others)
    return Comparison(
        1,
        base.name,
        tuple(s.name for s in others),
        rows,
        contrasts,
        (*_left_out(base, others), *warnings(base, others, contrasts, plain)),
        {side.name: said for side in others if (said := tuple(varied(side.levels)))},
    )


def _named_apart(sides: Sequence[Side]) -> list[Side]:
    """Two benchmarks of one run, or two runs of one name, are told apart."""
    names = Counter(side.name for side in sides)
    longer = [f"{s.name}:{s.benchmark}" if names[s.name] > 1 and s.benchmark else s.name for s in sides]
    found: list[Side] = []
    for side, name in zip(sides, longer, strict=True):
        before = longer[: len(found)].count(name)
        found.append(structs.replace(side, name=f"{name} ({before + 1})" if before else name))
    return found


def _levels(levels: Sequence[Measured]) -> str:
    """What a saved result does not tell could make it like several loads."""
    return ", ".join(
        (it.name or "?") + (" (its temperature is not known)" if it.temperature is None else "")
        for it in levels
    )


def _rows(base: Side, others: Sequence[Side], plain: bool) -> Iterator[Row]:
    for measured in base.levels:
        cells = tuple(
            _cell(other.name, it, measured, plain)
            for other in others
            for it in other.levels
            if _pair(it, other, measured, base)
        )
        if cells:
            yield Row(measured.concurrency, measured, cells, measured.temperature, measured.context)


def _left_out(base: Side, others: Sequence[Side]) -> Iterator[str]:
    """A load that has no counterpart stands in no row."""
    for other in others:
        theirs = [it for it in other.levels if not any(_pair(it, other, m, base) for m in base.levels)]
        ours = [m for m in base.levels if not any(_pair(it, other, m, base) for it in other.levels)]
        for side, alone, than in ((other, theirs, base), (base, ours, other)):
            if alone:
                yield f"{side.name}: {_levels(alone)} left out: {than.name} has no load that is known to be like it"


def _pair(it: Measured, other: Side, measured: Measured, base: Side) -> bool:
    """A saved result does not tell its temperature: where it could be like several loads, it is like none."""
    alike = (
        [m for m in base.levels if _same_load(it, m)],
        [m for m in other.levels if _same_load(m, measured)],
    )
    return _same_load(it, measured) and all(len(found) == 1 for found in alike)


def _same_load(a: Measured, b: Measured) -> bool:
    """What one side does not know is no difference."""
    if a.concurrency is None and b.concurrency is None and a.name != b.name:
        return False
    pairs = ((a.temperature, b.temperature), (a.context, b.context))
    return a.concurrency == b.concurrency and all(x is None or y is None or x == y for x, y in pairs)


def _cell(name: str, it: Measured, base: Measured, plain: bool) -> Cell:
    said = verdict(it, base) if plain and it.speculates else None
    return Cell(name, it, it.rate, it.length, gain(it, base), said)


def _contrast(base: Side, other: Side) -> Contrast:
    found = differences(base.launch, other.launch)
    return Contrast(other.name, found, None if found is None else len(found) == 1)
