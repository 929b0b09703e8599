"""Bytes of a day's record, by the sources' own rules of what changed, on a fake clock."""

import random
from collections.abc import Callable

import pytest

from collectors.reading.events import AnyEvent, Gpu, GpuSample, HostSample, Proc, Tick
from collectors.record import wire
from collectors.record.cadence import DAY_S, Cadence
from collectors.sources import gpu, host
from collectors.sources.metrics import SeriesTable, samples
from tests.run_folders import RECORDINGS

LOAD_S, BENCH_S = 1800.0, 1800.0
EACH = 20  # samples between two that are really encoded: the others are as large as the one before


class Day:
    """One engine or eight on 8 GPUs: a load of 30 minutes, a benchmark of 30, and then what `busy` says."""

    def __init__(self, engines: int, busy: Callable[[float], bool]) -> None:
        self.random = random.Random(7)
        self.busy = busy
        self.engines = engines
        pages = [
            (RECORDINGS / f"cpu/metrics/12-eagle3-eager.{p}.prom").read_text() for p in ("before", "during")
        ]
        before, during = map(samples, pages)
        self.page = {
            name.replace('engine="0"', f'engine="{engine}"'): value
            for engine in range(engines)
            for name, value in during.items()
        }
        self.moving = [
            n
            for n in self.page
            if before.get(n.replace(_engine(n), '"0"')) != during[n.replace(_engine(n), '"0"')]
        ]
        self.table = SeriesTable()
        self.gpus: dict[int, Gpu] = {}
        self.procs: dict[int, Proc] = {}

    def bytes(self) -> tuple[int, int]:
        """(bytes, lines) of the day."""
        cadence = Cadence(0.0, self.engines)
        spent = count = size = taken = 0
        due = t = 0.0
        while t < DAY_S:
            spent += len(wire.encode(wire.entry_of(Tick(t=t))))
            count += 1
            if t >= due:
                loading = t < LOAD_S + BENCH_S
                if taken % EACH == 0:
                    facts = self.samples(t, loading or self.busy(t))
                    size = sum(len(wire.encode(wire.entry_of(fact))) for fact in facts)
                taken += 1
                spent += size
                count += 3
                due = t + cadence.interval(t, spent, urgent=loading, busy=loading or self.busy(t))
            t += 1.0
        return spent, count

    def samples(self, t: float, busy: bool) -> list[AnyEvent]:
        draw = self.random.randint
        gpus = {
            i: Gpu(131_000, draw(80, 99) if busy else 0, draw(500, 700) if busy else 78, 60) for i in range(8)
        }
        changed = {i: g for i, g in gpus.items() if gpu._differs(self.gpus.get(i), g)}
        self.gpus.update(changed)
        cpu = t if busy else 0.0
        procs = {
            1000 + i: Proc(f"VLLM::Worker_TP{i}", "R", 9000, cpu, 10**12, 10**12 + int(cpu * 1e6))
            for i in range(11)
        }
        moved = {pid: p for pid, p in procs.items() if host._differs(self.procs.get(pid), p)}
        self.procs.update(moved)
        if busy:
            for name in self.moving:
                self.page[name] += draw(1, 900) if self.page[name].is_integer() else self.random.random()
        metrics = self.table.changes(t, self.page, 4, exact=False) if t > LOAD_S else ()
        return [GpuSample(t=t, gpus=changed), HostSample(t=t, procs=moved), *metrics]


def _engine(name: str) -> str:
    return name.split("engine=", 1)[1].split(",")[0].rstrip("}") if "engine=" in name else '"0"'


@pytest.mark.parametrize(("engines", "limit_mb"), [(1, 60), (8, 200)])
def test_a_day_under_load_stays_in_its_bytes(engines: int, limit_mb: int) -> None:
    spent, lines = Day(engines, busy=lambda _t: True).bytes()
    assert spent < limit_mb * 1e6
    assert lines > DAY_S, "and says something each second"


def test_an_idle_day_costs_little() -> None:
    spent, _lines = Day(1, busy=lambda _t: False).bytes()
    assert spent < 12e6


def test_a_load_is_never_slowed() -> None:
    cadence = Cadence(0.0)
    assert cadence.interval(1.0, 10**9, urgent=True, busy=True) == 1.0


def test_what_was_saved_is_spent_again() -> None:
    cadence = Cadence(0.0)
    assert cadence.interval(0.0, 0, urgent=False, busy=True) == 1.0
    assert cadence.interval(1.0, 10**8, urgent=False, busy=True) > 5.0
    assert cadence.interval(DAY_S, 10**8, urgent=False, busy=True) == 1.0
