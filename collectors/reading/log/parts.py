"""What a LogState is made of: bars, steps, problems, the cause, the last speculative figures."""

from msgspec import Struct


class Bar(Struct, frozen=True):
    """One progress bar, the last seen of its loader and model; `done` never goes back."""

    label: str  # as printed: "Loading safetensors checkpoint shards"
    kind: str  # "weights", "graphs", "autotune", "compile", "download", "other"
    model: str  # "target", "drafter" or "" where that has no meaning
    done: float
    total: float | None
    unit: str = "shards"  # "shards", "tensors", "bytes", "graphs", …
    t0: float = 0.0  # first seen
    t: float = 0.0  # last changed
    elapsed_s: float | None = None  # the bar's own clock
    printed_eta_s: float | None = None
    track: tuple[
        tuple[float, float], ...
    ] = ()  # (seconds since its start, done), thinned to 64 points: the pace


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
    """The last speculative-decoding figures that the log printed (`spec` of docs/json.md)."""

    drafted: int | None = None
    accepted: int | None = None
    rate: float | None = None
    printed_rate: float | None = None
    mean_length: float | None = None
    per_position: tuple[float, ...] | None = None
