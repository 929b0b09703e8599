"""All reading rules, and their patterns compiled once."""

import re

from collectors.reading.log.lines import Line
from collectors.reading.log.rules.rule import Rule
from collectors.reading.log.rules.sglang import SGLANG
from collectors.reading.log.rules.vllm_serving import SERVING
from collectors.reading.log.rules.vllm_start import START

RULES: tuple[Rule, ...] = START + SERVING + SGLANG
COMPILED = tuple((rule.needle, rule.heads, re.compile(rule.pattern), rule.effect) for rule in RULES)
BANNERS = tuple((rule.needle, rule.heads, re.compile(rule.pattern)) for rule in RULES if rule.starts)


def is_banner(line: Line) -> bool:
    return any(
        n in line.msg and (not h or line.head in h) and p.search(line.msg) is not None for n, h, p in BANNERS
    )
