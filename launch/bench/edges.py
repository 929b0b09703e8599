"""The server's counters at a window's edges: read until they stand still with nothing running."""

import asyncio
import time

import msgspec

from collectors.reading import serving
from collectors.reading.acceptance import Figures, figures
from collectors.reading.events import Metrics, Series
from collectors.reading.serving import ServingState
from collectors.reading.windows import Totals
from collectors.sources.metrics import MetricsSource

PAUSE_S = 0.2
PATIENCE_S = 10.0
REGULAR_S = 1.0


class Edge(msgspec.Struct, frozen=True, kw_only=True):
    """`still`: two reads in a row were equal and nothing ran. `error`: why there are no counters."""

    totals: Totals
    still: bool
    error: str | None = None


class Counters:
    """The bench's own reading of /metrics, through the same reducer as the recorder's."""

    def __init__(self, url: str) -> None:
        began = time.monotonic()
        self._source = MetricsSource(url, lambda: time.monotonic() - began)
        self.state = ServingState()

    async def edge(self) -> Edge:
        """At most PATIENCE_S; a server with other people's traffic never stands still, which is said."""
        deadline = time.monotonic() + PATIENCE_S
        before: dict[int, float] | None = None
        while True:
            error = await self.read()
            now = self.state.totals.values
            ran = serving.gauge(self.state, "running") or serving.gauge(self.state, "waiting")
            still = error is None and before == now and not ran
            if still or error is not None or time.monotonic() > deadline:
                return Edge(totals=self.state.totals, still=still, error=error)
            before = now
            await asyncio.sleep(PAUSE_S)

    async def read(self) -> str | None:
        """One scrape; why it gave nothing, or None."""
        error = None
        for event in await self._source.scrape(exact=True):
            error = event.error if isinstance(event, Metrics) else error
            if isinstance(event, Series | Metrics):
                self.state = serving.read(self.state, event)
        return error

    async def keep_reading(self) -> None:
        """Once a second until cancelled: tells busy time and keeps resets from hiding between the edges."""
        while True:
            await asyncio.sleep(REGULAR_S)
            await self.read()

    def figures(self, begin: Edge, end: Edge) -> Figures | None:
        if begin.error is not None or end.error is not None or not self.state.names:
            return None
        return figures(begin.totals, end.totals, self.state.slots)

    async def close(self) -> None:
        await self._source.close()
