"""All reading rules, and which of them a line is meant by."""

import re
from collections.abc import Iterator, Sequence

from collectors.reading.log.lines import Line
from collectors.reading.log.rules.patterns import compiled
from collectors.reading.log.rules.rule import Rule
from collectors.reading.log.rules.sglang import SGLANG
from collectors.reading.log.rules.vllm_serving import SERVING
from collectors.reading.log.rules.vllm_start import START

RULES: tuple[Rule, ...] = START + SERVING + SGLANG
_BANNERS = tuple(rule for rule in RULES if rule.starts)


def meant(rules: Sequence[Rule], line: Line) -> Iterator[tuple[Rule, "re.Match[str]"]]:
    """Those of `rules` that `line` is meant by, with what they read in it."""
    msg, head = line.msg, line.head
    for rule in rules:
        if rule.needle in msg and (not rule.heads or head in rule.heads):
            match = compiled(rule.pattern).search(msg)
            if match is not None:
                yield rule, match


def is_banner(line: Line) -> bool:
    return any(meant(_BANNERS, line))
