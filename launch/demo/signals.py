"""What asks the demo to end: its servers end first, and a second asking does not stop that half-way."""

import contextlib
import signal
import sys
from collections.abc import Iterator
from types import FrameType
from typing import Any

ASKING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@contextlib.contextmanager
def leaving() -> Iterator[None]:
    """SIGTERM and a hang-up end the block as Ctrl-C does; under nohup a hang-up means nothing."""
    numbers = [n for n in (signal.SIGTERM, signal.SIGHUP) if signal.getsignal(n) is not signal.SIG_IGN]

    def leave(number: int, _: FrameType | None) -> None:
        for other in numbers:  # a closed terminal hangs up twice: the kernel says it, and the shell
            signal.signal(other, signal.SIG_IGN)
        sys.exit(128 + number)

    with _handled(dict.fromkeys(numbers, leave)):
        yield


@contextlib.contextmanager
def held() -> Iterator[None]:
    """What comes meanwhile is done afterwards."""
    came: list[int] = []
    with _handled(dict.fromkeys(ASKING, lambda number, _: came.append(number))):
        yield
    for number in came[:1]:
        signal.raise_signal(number)


@contextlib.contextmanager
def ignored() -> Iterator[None]:
    """Here and in the commands started meanwhile, which inherit it."""
    with _handled(dict.fromkeys(ASKING, signal.SIG_IGN)):
        yield


@contextlib.contextmanager
def _handled(handlers: dict[signal.Signals, Any]) -> Iterator[None]:
    before = {number: signal.signal(number, handler) for number, handler in handlers.items()}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
