"""State -> the public reading: what `explain`, `status`, `wait` and hooks print (docs/explain-schema.md)."""

from typing import Any

from msgspec import Struct, field

from collectors.reading.state import State


class Report(Struct, frozen=True, kw_only=True):
    """The explain object, version 1. Unknown is null, never 0; fields are added, never renamed."""

    v: int = 1
    """version of this object"""
    engine: str | None = None
    """`vllm`, `sglang` or null: which engine wrote the log"""
    engine_version: str | None = None
    """as its banner gives it; never read from advice texts"""
    phase: str = "starting"
    """`starting`, `loading`, `compiling` (torch.compile, profiling, kernel JIT), `capturing` (CUDA graphs,
    autotuner), `ready`, `serving`, `stopped` (orderly end), `failed`
    """
    stalled: dict[str, Any] | None = None
    """`{"since_s": number or null, "evidence": [str]}`, beside the phase that it is stuck in"""
    ready: bool = False
    """requests can be answered"""
    ready_line: str | None = None
    """the line that proves it"""
    progress: dict[str, Any] | None = None
    """the last bar of the running phase: `{"label", "done", "total", "eta_s"}`; a finished one stays until
    the next phase begins
    """
    timeline: list[dict[str, Any]] = []
    """`{"phase", "started_at", "seconds", "detail"}` in order, of the last run in the log; `started_at` is
    an ISO time or null
    """
    root_cause: dict[str, Any] | None = None
    """`{"line", "lineno", "process", "summary", "hint"}`: the one log line that names the cause, counted
    from 1; null when nothing failed or the cause is not in view
    """
    cause_in_view: bool = True
    """false when it failed but the log holds only an echo or a cut traceback"""
    problems: list[dict[str, Any]] = []
    """what the user is shown as problems: `{"severity", "line", "lineno", "count", "processes"}`; echoes
    of one failure are one item
    """
    hidden: dict[str, Any] = field(default_factory=lambda: {"lines": 0, "by_rule": {}})
    """`{"lines": int, "by_rule": {rule id: count}}`: what the noise rules hid"""
    spec: dict[str, Any] | None = None
    """the last speculative-decoding figures printed: `drafted`, `accepted` (tokens), `rate`
    (accepted/drafted as a fraction), `printed_rate` (as printed), `mean_length` (bonus token included),
    `per_position` (fractions)
    """
    gen_tok_s: float | None = None
    """the last printed generation throughput"""
    memory_gib: dict[str, float] = {}
    """figures that the log prints: `model_weights`, `kv_available`, `kv_needed`, `cuda_graphs`, …"""


def phase(state: State) -> str:
    """The contract's word for where the run stands: its log, its health, its exit and who asked, together."""
    raise NotImplementedError


def report(state: State) -> Report:
    raise NotImplementedError
