"""Sides -> the comparison: a row a concurrency, speed-ups with intervals, differences, warnings, verdicts."""

import re
from collections.abc import Iterator, Sequence

from msgspec import Struct

from collectors.errors import SpecwatchError
from collectors.reading.varied import varied
from collectors.reading.verdict import Gain, Measured, Verdict, gain, verdict
from launch.compare.contrast import Difference, differences
from launch.compare.sides import Side


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


class Contrast(Struct, frozen=True):
    side: str
    differences: tuple[Difference, ...] | None
    controlled: bool | None  # exactly one thing differs; None: a launch is unknown


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
    base = next((s for s in sides if not any(m.drafts for m in s.levels)), sides[0])
    others = [s for s in sides if s is not base]
    for other in others:
        _refuse_unlike(base, other)
    plain = not any(m.drafts for m in base.levels)
    rows = tuple(_rows(base, others, plain))
    if not rows:
        raise SpecwatchError(
            "the sides have no load in common: " + "; ".join(f"{s.name} {_levels(s)}" for s in sides),
            "bench both with the same --concurrency, --temperature and --context",
        )
    contrasts = tuple(_contrast(base, other) for other in others)
    return Comparison(
        1,
        base.name,
        tuple(s.name for s in others),
        rows,
        contrasts,
        tuple(_warnings(base, others, contrasts, plain)),
        {side.name: said for side in others if (said := tuple(varied(side.levels)))},
    )


def _refuse_unlike(a: Side, b: Side) -> None:
    if a.model and b.model and _model(a.model) != _model(b.model):
        raise SpecwatchError(
            f"{a.name} served {a.model}, {b.name} served {b.model}: another target is no baseline",
            "compare runs of one target",
        )
    for what in ("prompts", "input tokens", "api"):
        ours, theirs = a.workload.get(what), b.workload.get(what)
        if ours is not None and theirs is not None and ours != theirs:
            raise SpecwatchError(
                f"{a.name} and {b.name} were asked different things ({what}: {ours} and {theirs})",
                "bench both with the same prompts",
            )


def _model(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.rstrip("/").split("/")[-1].lower())


def _levels(side: Side) -> str:
    return ", ".join(m.name or "?" for m in side.levels)


def _rows(base: Side, others: Sequence[Side], plain: bool) -> Iterator[Row]:
    for measured in base.levels:
        cells = tuple(
            _cell(other.name, it, measured, plain)
            for other in others
            for it in other.levels
            if _same_load(it, measured)
        )
        if cells:
            yield Row(measured.concurrency, measured, cells, measured.temperature, measured.context)


def _same_load(a: Measured, b: Measured) -> bool:
    """A saved result does not tell all: what one side does not know is no difference."""
    if a.concurrency is None and b.concurrency is None and a.name != b.name:
        return False
    pairs = ((a.temperature, b.temperature), (a.context, b.context))
    return a.concurrency == b.concurrency and all(x is None or y is None or x == y for x, y in pairs)


def _cell(name: str, it: Measured, base: Measured, plain: bool) -> Cell:
    said = verdict(it, base) if plain and it.drafts else None
    return Cell(name, it, it.rate, it.length, gain(it, base), said)


def _contrast(base: Side, other: Side) -> Contrast:
    found = differences(base.launch, other.launch)
    return Contrast(other.name, found, None if found is None else len(found) == 1)


def _warnings(
    base: Side, others: Sequence[Side], contrasts: Sequence[Contrast], plain: bool
) -> Iterator[str]:
    if not plain:
        yield "every side speculates: speed-ups are over the first, and T_s/T_0 is not a plain step's"
    for contrast in contrasts:
        if contrast.differences is None:
            yield f"{contrast.side}: a launch is not known here; whether only the drafter differs cannot be said"
        elif len(contrast.differences) > 1:
            names = ", ".join(d.what for d in contrast.differences)
            count = f"{len(contrast.differences)} things ({names})"
            yield f"{contrast.side} differs from {base.name} in {count}: this is no controlled experiment"
        elif not contrast.differences:
            yield f"{contrast.side} and {base.name} were launched alike: this shows the spread between runs"
    for other in others:
        for what in ("max tokens", "temperature", "output tokens", "requests"):
            ours, theirs = base.workload.get(what), other.workload.get(what)
            if ours is not None and theirs is not None and ours != theirs:
                yield f"{other.name} is unlike {base.name} in {what}: {theirs} against {ours}"
    for side in (base, *others):
        yield from (f"{side.name}: {note}" for note in side.notes)
