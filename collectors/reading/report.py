"""State -> the public reading: what `explain`, `status`, `wait` and hooks print (docs/explain-schema.md)."""

from typing import Any

from msgspec import Struct, field

from collectors.reading.state import State


class Report(Struct, frozen=True, kw_only=True):
    """The explain object, version 1. Unknown is null, never 0; fields are added, never renamed."""

    v: int = 1
    engine: str | None = None
    engine_version: str | None = None
    phase: str = "starting"
    stalled: dict[str, Any] | None = None
    ready: bool = False
    ready_line: str | None = None
    progress: dict[str, Any] | None = None
    timeline: list[dict[str, Any]] = []
    root_cause: dict[str, Any] | None = None
    cause_in_view: bool = True
    problems: list[dict[str, Any]] = []
    hidden: dict[str, Any] = field(default_factory=lambda: {"lines": 0, "by_rule": {}})
    spec: dict[str, Any] | None = None
    gen_tok_s: float | None = None
    memory_gib: dict[str, float] = {}


def phase(state: State) -> str:
    """The contract's word for where the run stands: its log, its health, its exit and who asked, together."""
    raise NotImplementedError


def report(state: State) -> Report:
    raise NotImplementedError
