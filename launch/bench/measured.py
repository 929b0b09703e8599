"""A result's levels as the verdicts take them: the client's tok/s, the server's own counts of drafts."""

from msgspec import structs

from collectors.reading.acceptance import Figures
from collectors.reading.gain import Measured
from launch.bench.result import Level, Load, OwnResult, Result, loads_of


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
        step_s=level.step.p50 if level.step is not None and load.concurrency > 1 else None,
        mixed=mixed(load.concurrency, level.prompt_tokens, level.output_tokens / level.completed),
        limited=level.generator is not None and level.generator.limited,
    )
    found = with_counters(found, level.counters)
    if found.step_s is None and level.step is not None:  # no counters: the client's own mean
        return structs.replace(found, step_s=level.step.mean)
    return found


def mixed(concurrency: int | None, prompt: float | None, answer: float | None) -> bool:
    """Whether other requests' prefill may stand in most of the steps, so that their median tells no step time.

    One request at a time has no others. Prompts shorter than the answers stand in few steps: in the H200 recordings
    (128 in, 256 out) the mean at concurrency 8 is 6.50 ms, the median 6.26.
    """
    if concurrency == 1:
        return False
    return prompt is not None and answer is not None and prompt > answer


def of_own(own: OwnResult, counted: Figures | None = None) -> Measured:
    """What a command said of its own window; of `counted` only what it does not say."""
    done = own.completed or 0
    prompt, answer = (
        None if n is None or not done else n / done for n in (own.input_tokens, own.output_tokens)
    )
    alone = own.concurrency == 1
    found = Measured(
        name=f"c{own.concurrency}" if own.concurrency else "",
        concurrency=own.concurrency,
        tok_s=own.tok_s,
        tok_s_ci=own.tok_s_ci95,
        drafts=own.drafts,
        draft_tokens=own.draft_tokens,
        accepted=own.accepted,
        per_position=own.per_position or (),
        stated_length=own.mean_length,
        step_s=own.mean_step_s if alone or own.median_step_s is None else own.median_step_s,
        mixed=mixed(own.concurrency, prompt, answer),
    )
    if own.drafts is None:
        return with_counters(found, counted)
    if not found.per_position and counted is not None and counted.per_position:
        # `vllm bench serve` of some versions counts drafts and leaves the positions out; the server counts both.
        return structs.replace(found, per_position=counted.per_position)
    return found


def with_counters(found: Measured, counted: Figures | None) -> Measured:
    """With what the server counted; what the client measured itself stays."""
    if counted is None:
        return found
    return structs.replace(
        found,
        tok_s=found.tok_s if found.tok_s is not None else counted.tok_s,
        drafts=counted.drafts,
        draft_tokens=counted.draft_tokens,
        accepted=counted.accepted,
        per_position=counted.per_position or (),
        step_s=found.step_s if found.step_s is not None else counted.step_s,
    )
