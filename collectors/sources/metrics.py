"""/metrics once a second: what changed since the scrape before, series by number."""

import asyncio
import math
import time
from collections.abc import Callable, Mapping

from collectors.reading.events import Metrics, Series
from collectors.reading.exposition import NotMetrics, scan
from collectors.sources import http


class SeriesTable:
    """Numbers the series and keeps what was last handed on, so that a sample carries only what changed."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self._last: dict[str, float] = {}

    @property
    def engines(self) -> int:
        """How many engines the page names; at least 1."""
        return max(
            1, len({n.split('engine="', 1)[1].split('"', 1)[0] for n in self._numbers if 'engine="' in n})
        )

    def changes(
        self, t: float, page: Mapping[str, float], took_ms: int, *, exact: bool
    ) -> tuple[Series | Metrics, ...]:
        """The events of one scrape: new names first, where there are any."""
        now = {name: _rounded(value) for name, value in page.items() if math.isfinite(value)}
        new = tuple(name for name in now if name not in self._numbers)
        start = len(self._numbers)
        self._numbers.update({name: start + i for i, name in enumerate(new)})
        values = {self._numbers[n]: v for n, v in now.items() if self._last.get(n) != v}
        gone = tuple(self._numbers[n] for n in self._last if n not in now)
        self._last = now
        metrics = Metrics(t=t, values=values, gone=gone, took_ms=took_ms, exact=exact)
        return (Series(t=t, start=start, names=new), metrics) if new else (metrics,)


def _rounded(value: float) -> float:
    """Counters stay exact; a gauge's or a sum's digits beyond the ninth are noise that costs bytes."""
    return int(value) if value.is_integer() and abs(value) < 1 << 53 else float(f"{value:.9g}")


def samples(page: str) -> dict[str, float]:
    """The wanted series of a page; an empty one where it is no page of metrics."""
    try:
        return scan(page)
    except NotMetrics:
        return {}


class MetricsSource:
    """`scrape` gives the events of one scrape; a failure is Metrics(error=…)."""

    def __init__(self, url: str, clock: Callable[[], float]) -> None:
        self.table = SeriesTable()
        self._url = f"{url.rstrip('/')}/metrics"
        self._clock = clock
        self._client = http.client(url)
        self._one = asyncio.Lock()  # an exact scrape and the clock's do not share the connection's time

    async def scrape(self, *, exact: bool = False) -> tuple[Series | Metrics, ...]:
        async with self._one:
            began = time.monotonic()
            answer = await http.get(self._client, self._url)
            took = round((time.monotonic() - began) * 1000)
            t = self._clock()
            error = answer.error
            if error is None and answer.status != 200:
                error = f"HTTP {answer.status}"
            if error is None:
                try:
                    page = scan(answer.body.decode(errors="replace"))
                    return self.table.changes(t, page, took, exact=exact)
                except NotMetrics as problem:
                    error = str(problem)
            return (Metrics(t=t, error=error, took_ms=took, exact=exact),)

    def forget(self) -> None:
        """The next scrape names and gives everything again (Series from 0), after a loss or a restart."""
        self.table = SeriesTable()

    async def close(self) -> None:
        await self._client.aclose()
