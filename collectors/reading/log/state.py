"""What the log says, as far as it was read: LogState. `reader.read` brings it up to date with more bytes.

The State of a run holds one; it is the same whatever the chunks the bytes came in (tests/test_log_reader.py).
"""

from msgspec import Struct

from collectors.reading.events import UserNoise
from collectors.reading.log.parts import Bar, Cause, Problem, Spec, Step
from collectors.reading.log.suspects import Suspects

__all__ = ["Bar", "Cause", "LogState", "Problem", "Spec", "Step", "Tail"]


class Tail(Struct, frozen=True):
    """The line that has not ended yet: its first bytes, where it begins, and how long it is so far."""

    data: bytes = b""
    offset: int = 0
    length: int = 0


class LogState(Struct, frozen=True):
    size: int = 0  # bytes read
    lines: int = 0  # lines ended by "\n"
    last_t: float | None = None  # when the last bytes came
    tail: Tail = Tail()
    stamp: str | None = None  # the last time of day that a head printed
    held: tuple[str, int] | None = None  # a figures line that a paste broke: its text, its number
    echoing: bool = False  # a request is being printed whose prompt has several lines
    engine: str | None = None
    engine_version: str | None = None
    model: str | None = None
    drafter: str | None = None
    speculative: str | None = None  # method: "eagle3", "ngram", …
    draft_tokens: int | None = None  # SGLang's num_draft_tokens: one more than drafts a step
    parallel: dict[str, int] = {}  # {"TP": 8}
    phase: str = "starting"
    begun: bool = False  # a start banner is in view, so a ready line must be too before it is ready
    steps: tuple[Step, ...] = ()
    bars: tuple[Bar, ...] = ()
    drafting: bool = False  # the weights now being read are the drafter's
    ready: bool = False
    ready_line: str | None = None
    ready_t: float | None = None
    stopping_t: float | None = None  # the log says an orderly stop began
    failed_t: float | None = None
    cause: Cause | None = None  # this and its neighbours: filled for showing, by report.told
    cause_in_view: bool = True
    suspects: Suspects = Suspects()  # what the cause is concluded from
    problems: tuple[Problem, ...] = ()  # at most 200; more are counted
    problems_dropped: int = 0
    hidden_lines: int = 0
    hidden_by_rule: dict[str, int] = {}
    noise: tuple[UserNoise, ...] = ()  # what the user mutes beside it
    spec: Spec | None = None
    gen_tok_s: float | None = None
    running: int | None = None
    waiting: int | None = None
    memory_gib: dict[str, float] = {}
    checkpoint_gib: float | None = None
    filesystem: str | None = None
    ranks: dict[str, int] = {}  # process label -> pid, as prefixes name them
    patches: dict[str, dict[str, str]] = {}  # patch -> {pid: its last status}; patches.counts counts them
