"""Which rule mutes a line, for the counts of the reading and for the views that leave such lines out."""

import re

from collectors.reading.events import UserNoise
from collectors.reading.log.bars import frame_of
from collectors.reading.log.lines import Line
from collectors.reading.log.rules.noise import NOISE
from collectors.reading.log.rules.patterns import ByNeedle, compiled
from collectors.reading.log.rules.rule import Noise

ACCESS = "access"
BARS = "bars"
_BY_NEEDLE = ByNeedle((rule.needle, rule) for rule in NOISE)


def muted_by(line: Line, model: str | None = None, users: tuple[UserNoise, ...] = ()) -> str | None:
    """The id of the rule that mutes `line`, None for one to be shown. Bars are shown as bars, and answered requests
    as figures: their lines are muted too."""
    msg = line.msg
    if line.head == "uvicorn" and ' - "' in msg and " HTTP/" in msg:
        return ACCESS
    for rule in _BY_NEEDLE.of(msg):
        if compiled(rule.pattern).search(msg) and not _matters(rule, model):
            return rule.id
    if frame_of(line.text) is not None:
        return BARS
    # Last, so that what is skimmed (skim.py) counts the same with rules of the user's as without.
    return next((rule.id for rule in users if compiled(rule.pattern).search(line.text)), None)


def _matters(rule: Noise, model: str | None) -> bool:
    return bool(rule.unless and model and re.search(rule.unless, model, re.IGNORECASE))
