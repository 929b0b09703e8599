"""Lanes: the recorder's endless tasks. One that fails says so in the record and is tried again."""

import asyncio
import sys
import traceback
from collections.abc import Awaitable, Callable, Mapping

from collectors.reading.events import Source
from collectors.record.clock import RunClock
from collectors.record.writer import RecordWriter

RETRY_S = 5.0

Body = Callable[[], Awaitable[float]]  # one turn; gives the seconds until the next


class Lanes:
    def __init__(self, writer: RecordWriter, clock: RunClock) -> None:
        self._writer = writer
        self._clock = clock
        self._tasks: list[asyncio.Task[None]] = []
        self._troubles = dict(writer.state.life.sources)

    def start(self, bodies: Mapping[str, Body]) -> None:
        self._tasks = [asyncio.create_task(self._run(name, body)) for name, body in bodies.items()]

    async def stop(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def trouble(self, source: str, text: str | None) -> None:
        """Record a source's trouble, or its end, when it changes."""
        if self._troubles.get(source) == text:
            return
        if self._writer.write(Source(t=self._clock(), source=source, error=text)):
            if text is None:
                self._troubles.pop(source)
            else:
                self._troubles[source] = text

    async def _run(self, name: str, body: Body) -> None:
        while True:
            try:
                pause = await body()
                self.trouble(name, None)
            except Exception as error:  # a source's failure is a fact, not the recorder's end
                traceback.print_exc(file=sys.stderr)
                self.trouble(name, f"{type(error).__name__}: {error}")
                pause = RETRY_S
            await asyncio.sleep(pause)
