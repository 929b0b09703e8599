"""Which rule mutes a line, for the counts of the reading and for the views that leave such lines out."""

import re

from msgspec import Struct

from collectors.reading.log.bars import frame_of
from collectors.reading.log.lines import Line
from collectors.reading.log.rules.noise import NOISE

_COMPILED = tuple(
    (n.id, n.needle, re.compile(n.pattern), re.compile(n.unless, re.IGNORECASE) if n.unless else None)
    for n in NOISE
)
ACCESS = "access"
BARS = "bars"


class UserNoise(Struct, frozen=True):
    """A `[[noise]]` row of the user's config. The pattern is searched in the line as shown."""

    id: str
    pattern: str
    reason: str = ""


def muted_by(line: Line, model: str | None = None, users: tuple[UserNoise, ...] = ()) -> str | None:
    """The id of the rule that mutes `line`, None for one to be shown. Bars are shown as bars, and answered requests
    as figures: their lines are muted too."""
    msg = line.msg
    for rule in users:
        if re.search(rule.pattern, line.text):
            return rule.id
    if line.head == "uvicorn" and ' - "' in msg and " HTTP/" in msg:
        return ACCESS
    for rule_id, needle, pattern, unless in _COMPILED:
        if needle in msg and pattern.search(msg) and not (unless and model and unless.search(model)):
            return rule_id
    if ("%|" in msg or "% Completed |" in msg) and frame_of(line.text) is not None:
        return BARS
    return None
