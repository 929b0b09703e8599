"""The one search that finds, in a block of a log, the lines that need a look: the needles of all rules at once."""

import re
from collections.abc import Iterable
from functools import cache

from collectors.reading.log.lines import BAR_MARKS
from collectors.reading.log.rules.ends import FATAL, READY, STOPPING
from collectors.reading.log.rules.noise import NOISE
from collectors.reading.log.rules.patterns import ByNeedle
from collectors.reading.log.rules.story import HANG, WORDS
from collectors.reading.log.rules.table import RULES

# Of tracebacks, of the records that hold them, and of lines that no logger wrote (outside.py): the finder must see
# them too. What the tables name comes from the tables.
_OF_NO_TABLE = (
    "Error",
    "ERROR",
    "CRITICAL",
    "Exception",
    "Traceback",
    'File "',
    "Value error, ",
    "OutOfResources",
    ": error: ",
    "errno: 98",
    "exited with code ",
    "Killed",
    "Bus error",
    "Illegal instruction",
    "Terminated",
    "Shutting down",
    "never retrieved",
    "Logging error",
    "Failed to load plugin",
)
FAILURES = tuple(
    dict.fromkeys((*_OF_NO_TABLE, *(end.needle for end in FATAL), *STOPPING, *READY, *WORDS, HANG))
)
_OF_FAILURES = ByNeedle((needle, needle) for needle in FAILURES)


@cache
def any_rule() -> "re.Pattern[bytes]":
    """Where in a block something stands that a rule of any kind looks for."""
    return re.compile(_trie({*(r.needle for r in RULES), *(n.needle for n in NOISE), *FAILURES, *BAR_MARKS}))


def of_failures(text: str) -> bool:
    """Whether something stands in a line that the story of a failure is made of."""
    return bool(_OF_FAILURES.of(text))


_Node = dict[int, "_Node"]


def _trie(needles: Iterable[str]) -> bytes:
    """A pattern that matches any of the literals, branching by one byte at a time: its cost grows with their
    length, not their number (250 needles: 12 times as fast as a flat alternation)."""
    root: _Node = {}
    for needle in needles:
        node = root
        for byte in needle.encode():
            node = node.setdefault(byte, {})
        node[_END] = {}
    return _branch(root)


_END = -1  # no byte


def _branch(node: _Node) -> bytes:
    if _END in node:
        return b""
    arms = [re.escape(bytes([byte])) + _branch(child) for byte, child in node.items()]
    return arms[0] if len(arms) == 1 else b"(?:" + b"|".join(arms) + b")"
