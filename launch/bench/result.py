"""bench-ID.json: what a benchmark found. Version 1; fields are added, never renamed; unknown is null."""

from typing import Any

from msgspec import Struct

from collectors.reading.acceptance import Figures
from collectors.reading.verdict import Verdict

VERSION = 1


class Spread(Struct, frozen=True, kw_only=True):
    """Of one client-side time over the level's successful requests, in seconds."""

    mean: float
    p50: float
    p90: float
    p99: float
    n: int


class Generator(Struct, frozen=True, kw_only=True):
    """How hard our own side worked: when it was the limit, the figures are not the server's."""

    cpu_share: float  # of one core, over the level
    lag_p95_s: float  # how late the event loop woke
    limited: bool
    why: str = ""


class Foreign(Struct, frozen=True, kw_only=True):
    """What the server counted that was not ours. None: the counters do not say."""

    requests: int | None
    tokens: int | None


class Load(Struct, frozen=True, kw_only=True):
    """What is asked of the server at one level."""

    concurrency: int
    temperature: float = 0.0
    context: int = 0  # tokens of plain text before each prompt, about

    @property
    def name(self) -> str:
        """c8, c8 T1, c8 +4000."""
        hot = f" T{self.temperature:g}" if self.temperature else ""
        return f"c{self.concurrency}{hot}" + (f" +{self.context}" if self.context else "")


class Level(Struct, frozen=True, kw_only=True):
    """One level of load. `seconds`: from the first request sent to the last token; `tok_s` is over it."""

    concurrency: int
    temperature: float | None = None  # None: an older result, whose own temperature is that of all levels
    context: int | None = None  # tokens asked for before each prompt
    prompt_tokens: float | None = None  # of a request, the mean by the server's count
    planned: int
    completed: int
    failed: int
    errors: dict[str, int] = {}  # what went wrong -> how often
    cut: str | None = None  # "interrupted" or "max-time": ended early; what was measured stands
    began: float | None = None  # wall clock, seconds since the epoch
    seconds: float | None = None
    output_tokens: int = 0
    tok_s: float | None = None
    tok_s_ci95: tuple[float, float] | None = None  # bootstrap over requests
    request_s: float | None = None
    ttft: Spread | None = None
    step: Spread | None = None  # between chunks: with speculation one chunk is one step's tokens
    e2e: Spread | None = None
    counters: Figures | None = None  # the server's own, from reads with nothing running before and after
    acceptance_ci95: tuple[float, float] | None = (
        None  # binomial, too narrow: tokens of a draft are not independent
    )
    still: bool = True  # the counters stood still at both edges
    foreign: Foreign | None = None
    generator: Generator | None = None


class OwnResult(Struct, frozen=True, kw_only=True):
    """What the wrapped command left: its own file, its own window and words."""

    file: str
    kind: str  # "vllm bench serve", "sglang"
    completed: int | None = None
    failed: int | None = None
    seconds: float | None = None
    tok_s: float | None = None
    request_s: float | None = None
    concurrency: int | None = None
    acceptance_rate: float | None = None  # a fraction
    mean_length: float | None = None
    mean_ttft_s: float | None = None
    mean_step_s: float | None = None
    median_step_s: float | None = None
    mean_tpot_s: float | None = None
    model: str | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    drafts: int | None = None
    draft_tokens: int | None = None
    accepted: int | None = None
    per_position: tuple[float, ...] | None = None  # fractions
    request_rate: str | None = None  # "inf": as fast as the concurrency lets them
    tok_s_ci95: tuple[float, float] | None = (
        None  # bootstrap over requests, where the file holds each of them
    )


class Result(Struct, frozen=True, kw_only=True):
    v: int = VERSION
    id: str
    label: str = ""
    kind: str  # "built-in" or "command"
    run: str | None = None
    url: str
    model: str | None = None
    api: str | None = None  # "chat" or "completions"
    started: float  # wall clock, seconds since the epoch
    prompts: dict[str, Any] | None = None  # source, sha256, count
    nonce: str | None = None
    max_tokens: int | None = None
    temperature: float | None = None  # None: it was varied
    ignore_eos: bool | None = None
    levels: tuple[Level, ...] = ()
    partial: bool = False
    command: tuple[str, ...] | None = None
    exit_code: int | None = None
    counters: Figures | None = None  # command: between the marks around it
    own: OwnResult | None = None
    verdicts: tuple[
        Verdict, ...
    ] = ()  # what temperature and context do to acceptance, where they were varied
    notes: tuple[str, ...] = ()  # what a reader must know before trusting a number


def loads_of(result: Result) -> tuple[Load, ...]:
    """What each level was asked; of older results too."""
    return tuple(
        Load(
            concurrency=level.concurrency,
            temperature=(level.temperature if level.temperature is not None else result.temperature) or 0.0,
            context=level.context or 0,
        )
        for level in result.levels
    )
