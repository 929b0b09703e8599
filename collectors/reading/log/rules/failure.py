"""The shape of one failure rule, and how a rule is tried on an exception's text."""

import math
import re
from collections.abc import Mapping

from msgspec import Struct

from collectors.reading.log.rules.patterns import compiled

# Weights: how much a line says about what to do. An echo (0) never is the cause.
ECHO = 0  # "See root cause above", a pipe that broke because its other end died
DEATH = 30  # a process ended and the log does not say why
GENERIC = 40  # an exception that no rule knows
SYMPTOM = 35  # says what failed, but the reason is printed elsewhere: the cause is not in view
TRACE = 29  # an echo that holds a trace of the reason, as an exit code
SYMPTOMS = (TRACE, SYMPTOM, SYMPTOM + 1)
HOLLOW = 25  # an exception whose message is on a line still to come
VAGUE = 60  # a known kind with several possible reasons
KNOWN = 80  # one reason, one cure


class Failure(Struct, frozen=True):
    """One kind of failure. `needle` (or any of several) is looked for first, `pattern` then names the facts.

    `say` is one plain sentence and `hint` what to do; both take the pattern's named groups, `{where}` (the
    stretch of the start in whose frames it happened) and `{share}` (free over total). `hints` overrides `hint`
    for one such stretch. What `unless` matches is not meant. `examples` are run as tests.
    """

    id: str
    needle: str | tuple[str, ...]
    pattern: str
    say: str
    examples: tuple[str, ...]
    hint: str | None = None
    hints: dict[str, str] = {}
    weight: int = KNOWN
    unless: str | None = None


class Found(Struct, frozen=True):
    """A rule that fits a text, with the sentences filled in."""

    rule: str
    weight: int
    summary: str
    hint: str | None


class Matcher:
    """Tries the rules in order: the first of the greatest weight wins. The caller cuts texts to 2,000."""

    def __init__(self, rules: tuple[Failure, ...]) -> None:
        self.rules = tuple(
            (rule, (rule.needle,) if isinstance(rule.needle, str) else rule.needle) for rule in rules
        )

    def find(self, text: str, where: str = "") -> Found | None:
        best: Found | None = None
        for rule, needles in self.rules:
            if best is not None and rule.weight <= best.weight:
                continue
            if not any(needle in text for needle in needles):
                continue
            match = compiled(rule.pattern, re.DOTALL).search(text)
            if match is None or (rule.unless and compiled(rule.unless).search(text)):
                continue
            best = _found(rule, match.groupdict(), where)
        return best


_GAP = re.compile(r" \((?: |by|of|and)*\)| (?=\))|(?<=\() | (?=[.,;](?: |$))|\.(?=\.$)")
_WHERE = {
    "load": " while loading the model",
    "profile": " while profiling memory",
    "compile": " while compiling",
    "capture": " while capturing CUDA graphs",
    "run": " while serving a request",
    "init": " while starting the GPU",
}


def _found(rule: Failure, groups: Mapping[str, str | None], where: str) -> Found:
    facts: dict[str, str] = {name: (value or "").strip() for name, value in groups.items()}
    facts["where"] = _WHERE.get(where, "")
    if "free" in facts and "total" in facts:
        facts["share"] = _share(facts["free"], facts["total"])
    hint = rule.hints.get(where, rule.hint)
    return Found(rule.id, rule.weight, _fill(rule.say, facts), hint and _fill(hint, facts))


def _fill(sentence: str, facts: Mapping[str, str]) -> str:
    """The sentence with its facts; a group that did not take part leaves no gap."""
    return _GAP.sub("", " ".join(sentence.format_map(facts).split()))


def _share(free: str, total: str) -> str:
    """The greatest two-digit fraction of `total` that `free` still holds."""
    try:
        return f"{math.floor(100 * float(free) / float(total)) / 100:.2f}"
    except (ValueError, ZeroDivisionError):
        return "that"
