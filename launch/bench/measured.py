"""A result's levels as the verdicts take them: the client's tok/s, the server's own counts of drafts."""

from msgspec import structs

from collectors.reading.acceptance import Figures
from collectors.reading.verdict import Measured
from launch.bench.result import Level, Load, Result, loads_of


def measured(result: Result) -> tuple[Measured, ...]:
    """The levels in which a request succeeded."""
    pairs = zip(result.levels, loads_of(result), strict=True)
    return tuple(_of_level(level, load) for level, load in pairs if level.completed)


def _of_level(level: Level, load: Load) -> Measured:
    found = Measured(
        name=load.name,
        concurrency=load.concurrency,
        temperature=load.temperature,
        context=load.context,
        tok_s=level.tok_s,
        tok_s_ci=level.tok_s_ci95,
    )
    return with_counters(found, level.counters)


def with_counters(found: Measured, counted: Figures | None) -> Measured:
    """With what the server counted; a rate of the client's own stays."""
    if counted is None:
        return found
    return structs.replace(
        found,
        tok_s=found.tok_s if found.tok_s is not None else counted.tok_s,
        drafts=counted.drafts,
        draft_tokens=counted.draft_tokens,
        accepted=counted.accepted,
        per_position=counted.per_position or (),
        step_s=counted.step_s,
    )
