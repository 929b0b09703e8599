"""All reading rules, and which of them a line is meant by."""

import re
from collections.abc import Iterator

from collectors.reading.log.lines import Line
from collectors.reading.log.rules.patterns import ByNeedle, compiled
from collectors.reading.log.rules.rule import Rule
from collectors.reading.log.rules.sglang import SGLANG
from collectors.reading.log.rules.vllm_serving import SERVING
from collectors.reading.log.rules.vllm_start import START

RULES: tuple[Rule, ...] = START + SERVING + SGLANG
_BY_NEEDLE = ByNeedle((rule.needle, rule) for rule in RULES)


_BANNERS = tuple(rule for rule in RULES if rule.starts)


def meant(line: Line) -> Iterator[tuple[Rule, "re.Match[str]"]]:
    """The rules that `line` is meant by, with what they read in it."""
    for rule in _BY_NEEDLE.of(line.msg):
        match = _read(rule, line)
        if match is not None:
            yield rule, match


def is_banner(line: Line) -> bool:
    return any(rule.needle in line.msg and _read(rule, line) for rule in _BANNERS)


def _read(rule: Rule, line: Line) -> "re.Match[str] | None":
    return compiled(rule.pattern).search(line.msg) if not rule.heads or line.head in rule.heads else None
