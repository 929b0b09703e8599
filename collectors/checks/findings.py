"""What doctor says (its JSON contract, version 1)."""

from collections.abc import Callable

from msgspec import Struct

from collectors.checks.pair import Pair

ERROR, WARNING, INFO = "error", "warning", "info"


class Trouble(Struct, frozen=True):
    """One fault as a check sees it: the two values, why they matter with the evidence, and what to do."""

    severity: str
    found: str
    expected: str
    why: str
    fix: str


class Finding(Struct, frozen=True):
    id: str
    severity: str
    found: str
    expected: str
    why: str
    fix: str


class Diagnosis(Struct, frozen=True):
    """`passed` names the checks that applied and found nothing; a check that cannot apply stands in neither list."""

    v: int
    findings: tuple[Finding, ...]
    passed: tuple[str, ...]
    engine: str
    engine_version: str
    runner: str | None = None  # vLLM's model runner that was supposed: it decides which layer ids are read
    captures: str | None = (
        None  # "this engine will capture layers …"; None: the drafter takes no hidden states
    )


class NotApplicable(Exception):
    """Raised by a check that has nothing to check here."""


class Check(Struct, frozen=True):
    """One row of the table: `unless` names checks whose finding already explains what this one would see."""

    id: str
    run: Callable[[Pair], list[Trouble]]
    unless: tuple[str, ...] = ()
