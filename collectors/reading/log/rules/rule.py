"""The shape of a reading rule and of a noise rule.

To add a rule: one row in the module of its theme. Its needle selects the line, its pattern reads it, its effect says
what it does to the reading; its examples are run as tests.
"""

import re
from collections.abc import Callable

from msgspec import Struct

from collectors.reading.log.lines import Line
from collectors.reading.log.state import LogState

Effect = Callable[[LogState, Line, "re.Match[str]"], LogState]


class Rule(Struct, frozen=True):
    """`needle` stands in every line meant; `pattern` is tried on its `msg`; `heads`: whose records may say it."""

    id: str
    needle: str
    pattern: str
    effect: Effect
    examples: tuple[str, ...]
    heads: tuple[str, ...] = ()  # () is any; "" is a line without a head
    starts: bool = False  # a start's banner: what an earlier run in the same file did is forgotten


class Noise(Struct, frozen=True):
    """A line that an expert does not look at, and why. `unless`: a word of the model's name that makes it matter."""

    id: str
    needle: str
    pattern: str
    reason: str
    examples: tuple[str, ...]
    unless: str | None = None
