"""One concurrency level: so many requests at a time until all are done, with the counters read around it."""

import asyncio
import contextlib
import time
from collections import Counter
from collections.abc import Callable, Iterator
from statistics import fmean

import httpx
from msgspec import Struct, structs

from collectors.reading.acceptance import Figures
from launch.bench.client import Plan, Sample, send
from launch.bench.edges import Counters
from launch.bench.generator import Watch
from launch.bench.marks import Marks
from launch.bench.result import Foreign, Level, Load
from launch.bench.statistics import binomial_ci95, spread, throughput_ci95


class Stop:
    """Why the benchmark ends early: a Ctrl-C, or the time that --max-time gave."""

    def __init__(self, max_time: float | None) -> None:
        self._asked = asyncio.Event()
        self._deadline = None if max_time is None else time.monotonic() + max_time
        self.reason: str | None = None

    def interrupt(self) -> None:
        self.reason = "interrupted"
        self._asked.set()

    async def wait(self) -> None:
        left = None if self._deadline is None else max(0.0, self._deadline - time.monotonic())
        try:
            async with asyncio.timeout(left):
                await self._asked.wait()
        except TimeoutError:
            self.reason = self.reason or "max-time"


class Progress(Struct, frozen=True, kw_only=True):
    """How far a level is, told once a second."""

    name: str  # the load's: c8
    concurrency: int
    done: int
    total: int
    failed: int
    tok_s: float | None
    left_s: float | None


Tell = Callable[[Progress], None]


async def run(
    client: httpx.AsyncClient,
    counters: Counters,
    plan: Plan,
    texts: list[str],
    load: Load,
    stop: Stop,
    marks: Marks,
    tell: Tell,
) -> Level:
    """Sends every text once. Ends early, with what was measured, when `stop` says so."""
    before = await counters.edge()
    plan = structs.replace(plan, temperature=load.temperature)
    await marks.begin(**structs.asdict(load), total=len(texts), max_tokens=plan.max_tokens)
    samples: list[Sample] = []
    wall, began = time.time(), time.perf_counter()
    reading = asyncio.create_task(counters.keep_reading())
    telling = asyncio.create_task(_tell(samples, load, len(texts), began, marks, tell))
    watch = Watch()
    async with watch:
        ended = await _drive(client, plan, iter(texts), load.concurrency, samples, stop)
    for task in (reading, telling):
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task
    after = await counters.edge()
    level = _level(samples, load, len(texts), ended - began, counters.figures(before, after))
    level = _with(level, stop.reason, wall, before.still and after.still, watch)
    marks.end(completed=level.completed, failed=level.failed, tok_s=level.tok_s, cut=level.cut)
    return level


async def _drive(
    client: httpx.AsyncClient,
    plan: Plan,
    texts: Iterator[str],
    concurrency: int,
    samples: list[Sample],
    stop: Stop,
) -> float:
    """When the last sample came (or the stop)."""
    last = time.perf_counter()

    async def worker() -> None:
        nonlocal last
        for text in texts:
            samples.append(await send(client, plan, text))
            last = time.perf_counter()

    work = asyncio.gather(*(worker() for _ in range(concurrency)))
    stopping = asyncio.ensure_future(stop.wait())
    await asyncio.wait((work, stopping), return_when=asyncio.FIRST_COMPLETED)
    stopping.cancel()
    if not work.done():
        work.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await work
    return last


async def _tell(
    samples: list[Sample], load: Load, total: int, began: float, marks: Marks, tell: Tell
) -> None:
    while True:
        await asyncio.sleep(1.0)
        spent, done = time.perf_counter() - began, len(samples)
        now = Progress(
            name=load.name,
            concurrency=load.concurrency,
            done=done,
            total=total,
            failed=sum(s.error is not None for s in samples),
            tok_s=sum(s.tokens for s in samples) / spent if done else None,
            left_s=spent / done * (total - done) if done else None,
        )
        tell(now)
        marks.progress(
            concurrency=load.concurrency,
            done=done,
            total=total,
            failed=now.failed,
            tok_s=now.tok_s,
            left_s=now.left_s,
        )


def _level(samples: list[Sample], load: Load, planned: int, seconds: float, counted: Figures | None) -> Level:
    good = [s for s in samples if s.error is None]
    tokens = sum(s.tokens for s in good)
    tok_s = tokens / seconds if good and seconds > 0 else None
    return Level(
        concurrency=load.concurrency,
        temperature=load.temperature,
        context=load.context,
        prompt_tokens=_mean([s.prompt_tokens for s in good if s.prompt_tokens is not None]),
        planned=planned,
        completed=len(good),
        failed=len(samples) - len(good),
        errors=dict(Counter(s.error for s in samples if s.error is not None).most_common(5)),
        seconds=seconds if good else None,
        output_tokens=tokens,
        tok_s=tok_s,
        tok_s_ci95=throughput_ci95([(s.tokens, s.seconds) for s in good], tok_s) if tok_s else None,
        request_s=len(good) / seconds if good and seconds > 0 else None,
        ttft=spread([s.ttft_s for s in good if s.ttft_s is not None]),
        step=spread([step for s in good for step in s.steps_s]),
        e2e=spread([s.seconds for s in good]),
        counters=counted,
        acceptance_ci95=_acceptance_ci95(counted),
        foreign=_foreign(counted, len(good), tokens),
    )


def _mean(values: list[int]) -> float | None:
    return fmean(values) if values else None


def _acceptance_ci95(counted: Figures | None) -> tuple[float, float] | None:
    if counted is None or counted.accepted is None or not counted.draft_tokens:
        return None
    return binomial_ci95(counted.accepted, counted.draft_tokens)


def _foreign(counted: Figures | None, completed: int, tokens: int) -> Foreign | None:
    if counted is None or counted.generated is None:
        return None
    finished = counted.requests_finished
    return Foreign(
        requests=None if finished is None else finished - completed, tokens=counted.generated - tokens
    )


def _with(level: Level, cut: str | None, wall: float, still: bool, watch: Watch) -> Level:
    return structs.replace(level, cut=cut, began=wall, still=still, generator=watch.verdict())
