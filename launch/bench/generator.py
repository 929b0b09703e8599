"""Watches our own side while it makes load: CPU share and how late the event loop wakes."""

import asyncio
import time

from launch.bench.result import Generator

BEAT_S = 0.05
MOST_CPU = 0.85  # of one core; tests/bench_generator.py shows what a saturated one delivers
MOST_LAG_S = 0.05  # ten of a fast server's steps


class Watch:
    """`async with Watch() as watch: …; watch.verdict()`."""

    def __init__(self) -> None:
        self._late: list[float] = []

    async def __aenter__(self) -> "Watch":
        self._cpu, self._began = time.process_time(), time.perf_counter()
        self._task = asyncio.create_task(self._beat())
        return self

    async def __aexit__(self, *_: object) -> None:
        self._cpu, self._began = time.process_time() - self._cpu, time.perf_counter() - self._began
        self._task.cancel()

    async def _beat(self) -> None:
        while True:
            due = time.perf_counter() + BEAT_S
            await asyncio.sleep(BEAT_S)
            self._late.append(time.perf_counter() - due)

    def verdict(self) -> Generator:
        share = self._cpu / self._began if self._began > 0 else 0.0
        late = sorted(self._late)
        lag = late[min(len(late) - 1, round(0.95 * len(late)))] if late else 0.0
        return judged(share, lag)


def judged(cpu_share: float, lag_p95_s: float) -> Generator:
    """Whether the generator was the limit."""
    why = ""
    if cpu_share >= MOST_CPU:
        why = f"the load generator used {cpu_share:.0%} of a core: the server may do more than this"
    elif lag_p95_s >= MOST_LAG_S:
        why = f"the load generator woke {lag_p95_s * 1000:.0f} ms late: short of CPU, its times are too long"
    return Generator(cpu_share=round(cpu_share, 3), lag_p95_s=round(lag_p95_s, 4), limited=bool(why), why=why)
