"""The recorder of one run: owns the sources and the record, runs the reducer, keeps the checkpoint.

One asyncio loop merges; what blocks (NVML, /proc) runs in one thread each. A source that fails is a fact in
the record and is tried again; nothing that a source does ends the recorder.
"""

import asyncio
import contextlib
import signal
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from collectors.reading.events import BrokenFiles, Clock, Exit, GpuSample, HostSample, Request, Started, Tick
from collectors.record import autopsy, inbox
from collectors.record.announce import Announcer, OnChange
from collectors.record.cadence import Cadence
from collectors.record.checkpoint import EVERY_S
from collectors.record.clock import ANCHOR_EVERY_S, RunClock, wall
from collectors.record.ending import Ending
from collectors.record.folder import RunFolder, RunInfo, hold
from collectors.record.index import LogIndex
from collectors.record.lanes import Lanes
from collectors.record.leader import leader
from collectors.record.served import Served
from collectors.record.writer import RecordWriter
from collectors.sources.foreign import ForeignLog
from collectors.sources.gpu import GpuSource
from collectors.sources.host import HostSource
from collectors.sources.tree import Tree, stat
from collectors.sources.wake import QUIET_S, Wake

POLL_S = 0.1
INBOX_S = 0.2
LAST_SAMPLE_S = 2.0
CHECKPOINT_BYTES = 32 * 1024  # a checkpoint is only worth its writing after this much of the record …
CHECKPOINT_IDLE_S = 300.0  # … or this long


class Recorder:
    """`on_change` is called with "ready", "failed" or "stalled" and the report, when the run became that."""

    def __init__(self, folder: RunFolder, on_change: OnChange | None = None) -> None:
        self.folder = folder
        self.info = folder.info()
        self.writer = RecordWriter(folder)
        state = self.writer.state
        self.clock = RunClock(self.info, state.t, state.wall0)
        self.tree = Tree(self.info.facts.id, _roots(folder, self.info), leader(folder, self.info))
        self._gpu = GpuSource(self.clock, self.info.facts.gpus_of_run)
        self._host = HostSource(self.clock, self.tree)
        self._index = LogIndex(folder, self.writer, self.clock)
        source = self.info.log_source
        self._foreign = ForeignLog(source, folder.server_log) if source else None
        self._served: Served | None = None
        self._benches: set[str] = set()
        self._cadence = Cadence(self.clock())
        self._threads = {name: ThreadPoolExecutor(1, name) for name in ("gpu", "host")}
        self._lanes = Lanes(self.writer, self.clock)
        self._announcer = Announcer(folder, self.info, on_change, state)
        self._failed_at: float | None = None
        self._checkpointed = (self.clock(), 0)

    async def run(self) -> None:
        """Until the run is over (Exit is written) or SIGTERM asks us to leave (the record goes on later)."""
        if self.writer.ended:
            return
        loop = asyncio.get_running_loop()
        self._wake = Wake(self.folder.server_log, lambda: loop.call_soon_threadsafe(self._woken))
        self._begin()
        leave = asyncio.Event()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, leave.set)
        ending = Ending(
            self.folder, self.info, self.writer, self.clock, self.tree, self._index, self._foreign
        )
        over = asyncio.create_task(ending.wait())
        left = asyncio.create_task(leave.wait())
        bodies = {
            "log": self._follow_log,
            "recorder": self._beat,
            "inbox": self._take_requests,
            "gpu": self._sample_gpus,
            "host": self._sample_host,
            "metrics": self._ask_server,
        }
        self._lanes.start(bodies)
        await asyncio.wait((over, left), return_when=asyncio.FIRST_COMPLETED)
        left.cancel()
        await self._lanes.stop()
        if over.done():
            await self._finish(over.result())
        over.cancel()
        await self._leave()

    def _begin(self) -> None:
        t = self.clock()
        if self.writer.state.t == 0.0 and self.writer.state.wall0 is None:
            self.writer.write(Started(t=0.0, run=self.info.facts))
        self.writer.write(Clock(t=t, wall=wall()))
        self._anchored = t
        if self._foreign is not None:
            self._foreign.start()
        if self.info.url is not None:
            self._served = Served(self.info.url, self.writer, self.clock, self.tree, self._interval)
        self._tell()

    async def _follow_log(self) -> float:
        while self._index.step():
            self._tell()
            await asyncio.sleep(0)  # a foreign log of 60 MB is read at once: let the others have their turns
        if self._foreign is not None:
            self._lanes.trouble("log source", self._foreign.trouble)
        if self.clock() - self._index.grew > QUIET_S:
            self._wake.arm()
        return POLL_S

    def _woken(self) -> None:
        """A quiet log began to grow: what there is now; the rest comes with the next turn."""
        self._wake.disarm()
        if self._index.step():
            self._tell()

    async def _beat(self) -> float:
        t = self.clock()
        if t - self._anchored >= ANCHOR_EVERY_S:
            self.writer.write(Clock(t=t, wall=wall()))
            self._anchored = t
        written = self.writer.write(Tick(t=t))
        if not written and self._failed_at is None:
            self._failed_at = t
        if written and self._failed_at is not None:
            gap, self._failed_at = t - self._failed_at, None
            self._forget()
            text = f"the record could not be written for {gap:.0f} s: samples of that time are missing"
            self.writer.write(Request(t=t, kind="note", id="recorder", label=text))
        self._tell()
        then, size = self._checkpointed
        grown = self.writer.written - size
        if t - then >= CHECKPOINT_IDLE_S or (t - then >= EVERY_S and grown >= CHECKPOINT_BYTES):
            self.writer.save_checkpoint()
            self._checkpointed = (t, self.writer.written)
        return 1.0 - (self.clock() - t)

    async def _take_requests(self) -> float:
        for path in inbox.waiting(self.folder):
            if path.name in self.writer.inbox_taken:
                path.unlink(missing_ok=True)
                continue
            asked = inbox.read(path)
            if isinstance(asked, str):
                text = f"a request that cannot be read was dropped: {asked}"
                asked = inbox.Asked(kind="note", id="recorder", label=text)
            scraped = await self._served.exact() if self._served else ()
            t = scraped[-1].t if scraped else self.clock()
            request = Request(t=t, kind=asked.kind, id=asked.id, label=asked.label, data=asked.data)
            if not self.writer.write(*scraped, request, inbox=path.name):
                return 1.0  # it stays in the inbox until it can be recorded
            self.writer.inbox_taken.add(path.name)
            path.unlink(missing_ok=True)
            if asked.kind in ("bench_begin", "bench_progress"):
                self._benches.add(asked.id)
            elif asked.kind == "bench_end":
                self._benches.discard(asked.id)
            self._tell()
        return INBOX_S

    async def _sample_gpus(self) -> float:
        sample = await self._in_thread("gpu", lambda: self._gpu.sample(pcie=not self._ready()))
        if sample is not None and not self.writer.write(sample):
            self._gpu.forget()
        return self._interval()

    async def _sample_host(self) -> float:
        sample = await self._in_thread("host", lambda: self._host.sample(self._gpu.holders))
        if sample is not None and not self.writer.write(sample):
            self._host.forget()
        return self._interval()

    async def _ask_server(self) -> float:
        if self._served is None:
            return 60.0
        pause = await self._served.step()
        self._cadence.engines = self._served.metrics.table.engines
        self._tell()
        return pause

    async def _in_thread(
        self, name: str, work: Callable[[], GpuSample | HostSample | None]
    ) -> GpuSample | HostSample | None:
        return await asyncio.get_running_loop().run_in_executor(self._threads[name], work)

    def _interval(self) -> float:
        moves = self._served is not None and self._served.moves
        busy = moves or self.clock() - self._index.grew < 10.0
        urgent = not self._ready() or bool(self._benches)
        return self._cadence.interval(self.clock(), self.writer.written, urgent=urgent, busy=busy)

    def _ready(self) -> bool:
        return self.writer.state.log.ready or (self._served is not None and self._served.up)

    def _forget(self) -> None:
        """What was written last is no longer known to be in the record: the next samples are whole."""
        self._gpu.forget()
        self._host.forget()
        if self._served is not None:
            self._served.metrics.forget()

    def _tell(self) -> None:
        self._announcer.see(self.writer.state, self._ready())

    async def _finish(self, last: Exit) -> None:
        """What the end left behind, the last bytes of the log, then Exit: however long the disk stays full."""
        with contextlib.suppress(Exception):  # a driver that hangs must not hold the end up
            async with asyncio.timeout(LAST_SAMPLE_S):
                await self._sample_host()
                await self._sample_gpus()
        self._index.drain()
        broken = await asyncio.to_thread(autopsy.broken_files, self.writer.state)
        if broken:
            self.writer.write(BrokenFiles(t=self.clock(), files=broken))
        while not self.writer.write(
            Exit(t=self.clock(), code=last.code, signal=last.signal, reason=last.reason)
        ):
            await asyncio.sleep(1.0)
            self._index.drain()
        self._tell()

    async def _leave(self) -> None:
        self._wake.stop()
        if self._foreign is not None:
            self._foreign.stop()
        if self._served is not None:
            await self._served.close()
        self.writer.save_checkpoint()
        self.writer.close()
        for pool in self._threads.values():
            pool.shutdown(wait=False, cancel_futures=True)
        self._gpu.close()


def record(folder: RunFolder, on_change: OnChange | None = None) -> bool:
    """Record the run in this process. True: it is over, or another recorder is at it; False: told to leave."""
    if hold(folder.recorder_lock) is None:
        return True
    recorder = Recorder(folder, on_change)
    asyncio.run(recorder.run())
    return recorder.writer.ended


def _roots(folder: RunFolder, info: RunInfo) -> tuple[int, ...]:
    """The server's first process, where it is known: the keeper's child, or what the user attached to."""
    if info.foreign_pid is not None:
        return (info.foreign_pid,)
    first = leader(folder, info)
    found = stat(first.pid) if first else None
    return (first.pid,) if first and found is not None and found.start == first.start else ()
