"""What the log says: LogState and `read`, which brings it up to date with more bytes.

Inside `read` a chunk is worked through with a plain mutable reader and frozen again at its end, so a 60 MB log costs
its hits and not its lines; the result is the same whatever the chunks (tests/test_one_state.py).
"""

from msgspec import Struct

from collectors.reading.events import Log


class Bar(Struct, frozen=True):
    """One progress bar, the last seen of its loader and model; `done` never goes back."""

    label: str  # as printed: "Loading safetensors checkpoint shards"
    kind: str  # "weights", "graphs", "autotune", "compile", "other"
    model: str  # "target", "drafter" or "" where that has no meaning
    done: float
    total: float | None
    unit: str = "shards"  # "shards", "tensors", "bytes", "graphs", …
    t0: float = 0.0  # first seen
    t: float = 0.0  # last changed
    printed_eta_s: float | None = None
    track: tuple[tuple[float, float], ...] = ()  # (t, done), thinned to 64 points: the pace


class Step(Struct, frozen=True):
    """One stretch of a start, in the order met. `name` is the fine step, `phase` the contract's word for it.

    names: start, config, distributed, weights, post (after 100 %), drafter, compile, profile, kv, graphs, api,
    ready, serving, shutdown; phase: starting, loading, compiling, capturing, ready, serving, stopped, failed.
    """

    name: str
    phase: str
    t0: float
    t1: float | None = None  # None: the running one
    wall0: str | None = None  # "12-01 05:17:09" as the log printed it; None: no stamp near
    wall1: str | None = None
    detail: str = ""


class Problem(Struct, frozen=True):
    """What the user is shown: echoes of one failure are one problem; the same line from N ranks has count N."""

    severity: str  # "error", "warning"
    rule: str
    line: str
    lineno: int
    offset: int
    t: float
    count: int = 1
    processes: tuple[str, ...] = ()
    advice: str | None = None


class Cause(Struct, frozen=True):
    """The one log line that names why the server died."""

    line: str
    lineno: int
    offset: int
    process: str | None
    summary: str
    hint: str | None
    rule: str | None
    at: float


class Spec(Struct, frozen=True):
    """The last speculative-decoding figures that the log printed (explain-schema `spec`)."""

    drafted: int | None = None
    accepted: int | None = None
    rate: float | None = None
    printed_rate: float | None = None
    mean_length: float | None = None
    per_position: tuple[float, ...] | None = None


class LogState(Struct, frozen=True):
    size: int = 0  # bytes read
    lines: int = 0  # lines ended by "\n"
    last_t: float | None = None  # when the last bytes came
    engine: str | None = None
    engine_version: str | None = None
    model: str | None = None
    drafter: str | None = None
    speculative: str | None = None  # method: "eagle3", "ngram", …
    parallel: dict[str, int] = {}  # {"TP": 8}
    phase: str = "starting"
    steps: tuple[Step, ...] = ()
    bars: tuple[Bar, ...] = ()
    ready: bool = False
    ready_line: str | None = None
    ready_t: float | None = None
    stopping_t: float | None = None  # the log says an orderly stop began
    failed_t: float | None = None
    cause: Cause | None = None
    cause_in_view: bool = True
    problems: tuple[Problem, ...] = ()  # at most 200; more are counted
    problems_dropped: int = 0
    hidden_lines: int = 0
    hidden_by_rule: dict[str, int] = {}
    spec: Spec | None = None
    gen_tok_s: float | None = None
    running: int | None = None
    waiting: int | None = None
    memory_gib: dict[str, float] = {}
    checkpoint_gib: float | None = None
    filesystem: str | None = None
    ranks: dict[str, int] = {}  # process label -> pid, as prefixes name them
    patches: dict[str, dict[str, int]] = {}  # patch id -> {status: processes}


def read(state: LogState, event: Log) -> LogState:
    raise NotImplementedError
