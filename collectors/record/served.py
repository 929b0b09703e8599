"""The server's own answers: /health until it is ready, then /metrics, and /health again when that fails."""

from collections.abc import Callable

from collectors.reading.events import Metrics, Series
from collectors.record.clock import RunClock
from collectors.record.writer import RecordWriter
from collectors.sources.health import HealthSource
from collectors.sources.metrics import MetricsSource
from collectors.sources.tree import Tree

HEALTH_S = 1.0
OTHERS_S = 5.0  # another's server: seldom, an SGLang generates a token for each answer


class Served:
    """`step` asks once what is due and gives the seconds until the next time."""

    def __init__(
        self, url: str, writer: RecordWriter, clock: RunClock, tree: Tree, interval: Callable[[], float]
    ) -> None:
        self._writer = writer
        self._interval = interval
        self._health = HealthSource(url, clock, tree)
        self.metrics = MetricsSource(url, clock)
        self.moves = False  # the last scrape differed from the one before

    @property
    def up(self) -> bool:
        """Whether /metrics is ours to read: the server is ready, and no other's is known to answer."""
        life = self._writer.state.life
        return life.owner != "other" and (life.health == 200 or self._writer.state.log.ready)

    async def step(self) -> float:
        if self._writer.state.life.health != 200:
            await self._ask_health()  # also when the log says ready: whose socket answers is known only then
        if not self.up:
            return OTHERS_S if self._writer.state.life.owner == "other" else HEALTH_S
        if not await self._scrape():
            await self._ask_health()
            return HEALTH_S
        return self._interval()

    async def exact(self) -> tuple[Series | Metrics, ...]:
        """The scrape that stands right before a request in the record; nothing while the server is not up.

        The caller records it, or calls `metrics.forget` when it cannot.
        """
        return await self.metrics.scrape(exact=True) if self.up else ()

    async def _scrape(self) -> bool:
        """One scrape, recorded; False when it failed."""
        events = await self.metrics.scrape()
        if not self._writer.write(*events):
            self.metrics.forget()
        last = events[-1]
        assert isinstance(last, Metrics)
        self.moves = bool(last.values)
        return last.error is None

    async def close(self) -> None:
        await self._health.close()
        await self.metrics.close()

    async def _ask_health(self) -> None:
        event = await self._health.ask()
        if event is not None and not self._writer.write(event):
            self._health.forget()
