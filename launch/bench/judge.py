"""What a reader must know before trusting a result's numbers. Pure."""

from collections.abc import Iterator

from launch.bench.result import Level, Load, Result, loads_of

FEW_DRAFTS = 2000  # below, a position's share is known no better than ±1 percentage point


def notes(result: Result) -> Iterator[str]:
    """One sentence each, the gravest first."""
    for level, load in zip(result.levels, loads_of(result), strict=True):
        yield from _level(level, load)
    if result.own is not None and result.own.completed == 0:
        yield "the command's own result has no successful request"
    if result.kind == "command" and result.own is None:
        yield "the command left no result file that is known here: figures are the server's counters alone"
    counted = result.counters or (result.levels[-1].counters if result.levels else None)
    if counted is None and not any(level.counters for level in result.levels):
        yield "the server's counters could not be read: acceptance is unknown"


def _level(level: Level, load: Load) -> Iterator[str]:
    at = f"{load.name}: "
    if level.planned < load.concurrency:
        yield at + f"only {level.planned} requests: never more than so many ran at a time"
    if load.context and level.prompt_tokens is not None and level.prompt_tokens < 0.8 * load.context:
        yield at + f"prompts had {level.prompt_tokens:,.0f} tokens, fewer than asked for"
    if level.generator is not None and level.generator.limited:
        yield at + level.generator.why
    if level.failed:
        worst = max(level.errors, key=lambda e: level.errors[e], default="")
        yield at + f"{level.failed} of {level.failed + level.completed} requests failed ({worst})"
    if level.cut is not None:
        done = level.completed + level.failed
        yield at + f"ended early ({level.cut}) after {done} of {level.planned} requests"
    if not level.still and level.counters is not None:
        yield at + "the server was never still at an edge: its counters hold other people's traffic"
    foreign = level.foreign
    if (
        foreign is not None
        and level.cut is None
        and not level.failed
        and (foreign.requests or foreign.tokens)
    ):
        yield at + f"the server counted {foreign.requests} requests and {foreign.tokens} tokens beside ours"
    counted = level.counters
    if counted is not None and counted.resets:
        yield at + "the server's counters fell back: it was restarted during the benchmark"
    if counted is not None and counted.identity_ok is False:
        yield at + "length is not 1 + sum of positions: do not trust acceptance"
    if counted is not None and counted.drafts is not None and 0 < counted.drafts < FEW_DRAFTS:
        yield at + f"only {counted.drafts} drafts: positions are known to about ±{_pp(counted.drafts)} points"


def _pp(drafts: int) -> str:
    """Half a 95 % interval of a share near one half, in percentage points."""
    return f"{98 / max(1, drafts) ** 0.5:.1f}"
