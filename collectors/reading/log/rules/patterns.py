"""The rules' patterns, compiled when one is first tried."""

import re
from functools import cache


@cache
def compiled(pattern: str, flags: int = 0) -> "re.Pattern[str]":
    """All 300 of them take 60 ms to compile, and a look at a run needs few."""
    return re.compile(pattern, flags)
