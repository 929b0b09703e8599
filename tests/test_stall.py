"""A stall is told from evidence only: what stands still is seen to, and what is merely silent is left alone."""

from collections.abc import Callable

import pytest
from msgspec import structs

from collectors.reading.events import (
    AnyEvent,
    Box,
    Gpu,
    GpuSample,
    Health,
    HostSample,
    Log,
    Proc,
    Reaped,
    RunFacts,
    Source,
    Started,
    Tick,
)
from collectors.reading.hosts import HostState, read
from collectors.reading.stall import Stalled, stalled
from collectors.reading.state import State, step

BANNER = (
    "(APIServer pid=1) INFO 12-01 03:25:00 [startup.py:40] vLLM server version 0.32.0, serving model m/K\n"
)
WEIGHTS = "(Worker_TP0 pid=10) INFO 12-01 03:25:30 [gpu_model_runner.py:4125] Starting to load model m/K...\n"
CAPTURES = "Capturing CUDA graphs (decode, FULL):   2%|1         | 1/51 [00:10<08:20, 10.00s/it]\n"
READY = "(APIServer pid=1) INFO:     Application startup complete.\n"
QUEUE = (
    "(EngineCore pid=2) INFO 08-15 11:16:19 [shm_broadcast.py:705] No available shared memory broadcast block found "
    "in 60 seconds. This typically happens when some processes are hanging or doing some time-consuming work\n"
)
MIB = 1 << 20


def shards(done: int, elapsed: int, total: int = 64) -> str:
    clock = f"{elapsed // 60:02d}:{elapsed % 60:02d}"
    percent = f"{done * 100 // total:3d}%"
    return f"Loading safetensors checkpoint shards: {percent} Completed | {done}/{total} [{clock}<?, ?it/s]\n"


class Run:
    """A run as the recorder would write it: sources send what changed, ticks come each second."""

    def __init__(self, *, foreign: bool = False) -> None:
        self.state = step(State(), Started(t=0.0, run=RunFacts(engine="vllm", foreign=foreign)))

    def add(self, *events: AnyEvent) -> "Run":
        for event in events:
            self.state = step(self.state, event)
        return self

    def says(self, t: float, *texts: str) -> "Run":
        for text in texts:
            self.add(Log(t=t, offset=self.state.log.size, data=text.encode()))
        return self

    def until(self, t: float, each: Callable[[float], list[AnyEvent]] = lambda t: []) -> list[float]:
        """Seconds go by; the times at which it was called stalled."""
        found = []
        for second in range(int(self.state.t) + 1, int(t) + 1):
            self.add(Tick(t=float(second)), *each(float(second)))
            if self.now is not None:
                found.append(float(second))
        return found

    @property
    def now(self) -> Stalled | None:
        return stalled(self.state)


def host(t: float, **titles: Proc) -> HostSample:
    pids = {"core": 2, "TP0": 10, "TP1": 11, "TP2": 12, "TP3": 13, "TP4": 14, "TP5": 15, "TP6": 16, "TP7": 17}
    return HostSample(t=t, procs={pids[name]: proc for name, proc in titles.items()})


def worker(rank: int, **fields: object) -> Proc:
    return structs.replace(Proc(title=f"VLLM::Worker_TP{rank}", state="S", rss_mib=3000), **fields)


def loading(t: float = 30.0) -> Run:
    """One worker that has read 4 of 64 shards, 5 s each."""
    run = Run().says(1.0, BANNER).says(t, WEIGHTS)
    for n in range(5):
        run.says(t + 5 * n, shards(n, 5 * n))
        run.add(host(t + 5 * n, TP0=worker(0, cpu_s=10.0 + n, rchar=n * 5000 * MIB)))
    return run


# -- what is a stall


def test_a_bar_that_stopped_with_nothing_going_on() -> None:
    """Sources send changes only: an idle tree sends nothing at all, and the ticks go on."""
    found = loading().until(200.0)
    assert found[0] == 110.0  # 60 s after the last shard: ten times its pace is less
    stuck = loading().until(200.0), loading()
    run = stuck[1]
    run.until(120.0)
    assert run.now is not None
    assert run.now.since_s == 70.0
    text = "; ".join(run.now.evidence)
    assert "used no CPU and read nothing for 70 s" in text
    assert "shards stands at 4 of 64, 5.0 s each before" in text


def test_a_slow_bar_is_given_ten_times_its_pace() -> None:
    run = Run().says(1.0, BANNER).says(30.0, WEIGHTS)
    for n in range(4):
        run.says(30.0 + 30 * n, shards(n, 30 * n)).add(host(30.0 + 30 * n, TP0=worker(0, cpu_s=5.0 + n)))
    assert run.until(419.0) == []
    assert run.until(421.0) == [420.0, 421.0]


def test_trickles_of_polls_and_logs_are_no_work() -> None:
    def trickle(t: float) -> list[AnyEvent]:
        if t % 15:
            return []
        return [
            host(t, TP0=worker(0, cpu_s=14.0 + 0.012 * (t - 50), rchar=20_000 * MIB + int(t - 50) * 20_000))
        ]

    run = loading()
    run.until(80.0, trickle)
    assert run.until(130.0, trickle)[0] <= 115.0


def test_still_gpus_are_part_of_the_evidence() -> None:
    run = loading().add(
        GpuSample(t=49.0, gpus={0: Gpu(used_mib=30_000, util_pct=0), 1: Gpu(used_mib=30_000, util_pct=0)})
    )
    run.until(115.0)
    assert run.now is not None
    assert "no GPU's memory grew" in run.now.evidence


def test_a_start_without_a_bar_waits_longer() -> None:
    run = Run().says(1.0, BANNER).add(host(2.0, core=Proc(title="VLLM::EngineCore", cpu_s=1.0)))
    assert run.until(181.0) == []
    assert run.until(183.0) == [182.0, 183.0]


def test_a_full_queue_is_a_stall_when_it_serves() -> None:
    run = Run().says(1.0, BANNER, READY)
    for minute in range(1, 4):
        run.says(60.0 * minute, QUEUE)
    assert run.now is None
    run.says(240.0, QUEUE)
    assert run.now is not None
    assert "4 minutes" in run.now.evidence[0]


# -- what is none


def test_silence_alone_is_none() -> None:
    """A saved log, or a server of which only the log is seen."""
    assert Run().says(1.0, BANNER).says(30.0, WEIGHTS, shards(1, 5), shards(2, 10)).until(4000.0) == []


def test_a_silent_warm_up_of_621_s_works() -> None:
    def compiles(t: float) -> list[AnyEvent]:
        return [host(t, TP0=worker(0, cpu_s=14.0 + 0.9 * t, rchar=20_000 * MIB))]

    assert loading().until(700.0, compiles) == []


def test_a_silent_warm_up_with_a_full_queue_works() -> None:
    def compiles(t: float) -> list[AnyEvent]:
        return [host(t, TP0=worker(0, cpu_s=14.0 + 0.9 * t, rchar=20_000 * MIB))]

    run = loading()
    for minute in range(2, 12):
        assert run.until(60.0 * minute, compiles) == []
        run.says(60.0 * minute + 0.5, QUEUE)
    assert run.now is None


def test_36_minutes_of_capture_are_none() -> None:
    def captures(t: float) -> list[AnyEvent]:
        return [host(t, TP0=worker(0, cpu_s=14.0 + 1.0 * t))]

    assert loading().says(60.0, CAPTURES).until(60.0 + 36 * 60, captures) == []


def test_30_s_a_shard_through_a_mapped_file_are_none() -> None:
    """As recorded in cpu/22 but slower: rchar stands still, the CPU is all but idle, read_bytes and RSS grow."""

    def reads(t: float) -> list[AnyEvent]:
        return [
            host(
                t,
                TP0=worker(
                    0, cpu_s=14.0 + 0.02 * t, rchar=171 * MIB, read_bytes=int(t) * 20 * MIB, state="D"
                ),
            )
        ]

    assert Run().says(1.0, BANNER).says(30.0, WEIGHTS, shards(1, 30)).until(2700.0, reads) == []


def test_a_network_file_system_counts_only_in_the_memory() -> None:
    def reads(t: float) -> list[AnyEvent]:
        return [host(t, TP0=worker(0, cpu_s=14.0 + 0.02 * t, rchar=171 * MIB, rss_mib=3000 + 5 * int(t)))]

    assert Run().says(1.0, BANNER).says(30.0, WEIGHTS, shards(1, 30)).until(1000.0, reads) == []


def test_growing_gpu_memory_is_movement() -> None:
    def grows(t: float) -> list[AnyEvent]:
        return [GpuSample(t=t, gpus={0: Gpu(used_mib=1000 + int(t), util_pct=0)})]

    assert loading().until(900.0, grows) == []


def test_a_busy_gpu_is_movement() -> None:
    run = loading().add(GpuSample(t=50.0, gpus={0: Gpu(used_mib=1000, util_pct=100)}))
    assert run.until(900.0) == []


def test_a_bar_that_moves_speaks_against_it() -> None:
    """A loader that sleeps between shards (cpu/60): idle, and on its way."""
    run = loading()
    for n in range(5, 20):
        assert run.until(50.0 + 20 * (n - 4)) == []
        run.says(50.0 + 20 * (n - 4), shards(n, 20 + 20 * (n - 4)))


@pytest.mark.parametrize(
    "end",
    [
        Health(t=51.0, status=200, owner="same"),
        Health(t=51.0, status=200, owner="unknown"),
        Reaped(t=51.0, signal=9),
    ],
)
def test_what_need_not_move(end: AnyEvent) -> None:
    assert loading().add(end).until(400.0) == []


def test_another_servers_health_says_nothing_of_this_one() -> None:
    assert loading().add(Health(t=51.0, status=200, owner="other")).until(400.0) != []


def test_a_source_that_is_away_proves_nothing() -> None:
    run = loading().add(Source(t=50.0, source="host", error="no /proc"))
    assert run.until(400.0) == []
    assert run.add(Source(t=400.0, source="host")).until(401.0) == [401.0]


# -- a rank that stopped while others go on


def ranks(count: int, stopped: dict[int, float], pace: float = 0.8) -> Callable[[float], list[AnyEvent]]:
    """`count` workers that read and compute each second, but for those `stopped` since a time."""

    def each(t: float) -> list[AnyEvent]:
        going = {
            f"TP{n}": worker(
                n, cpu_s=round(pace * t, 1), rchar=int(t) * 200 * MIB, rss_mib=3000 + 20 * int(t)
            )
            for n in range(count)
            if t <= stopped.get(n, t)
        }
        return [host(t, **going)]

    return each


@pytest.mark.parametrize("count", [2, 8])
def test_a_rank_that_stopped_is_named_by_its_cpu(count: int) -> None:
    run = Run().says(1.0, BANNER).says(30.0, WEIGHTS, shards(1, 10))
    assert run.until(159.0, ranks(count, {1: 100.0})) == []
    run.until(200.0, ranks(count, {1: 100.0}))
    assert run.now is not None
    assert run.now.ranks == ("TP1",)
    assert run.now.since_s == 100.0
    assert run.now.evidence == (
        "TP1 (pid 11) has used no CPU and read nothing for 100 s while the other ranks go on",
    )


def test_a_rank_that_somebody_stopped_is_said_to_be() -> None:
    run = Run().says(1.0, BANNER).says(30.0, WEIGHTS, shards(1, 10))
    run.until(100.0, ranks(4, {3: 100.0}))
    run.add(host(100.5, TP3=worker(3, cpu_s=80.0, rchar=100 * 200 * MIB, rss_mib=5000, state="T")))
    run.until(200.0, ranks(4, {3: 100.0}))
    assert run.now is not None
    assert "SIGSTOP" in run.now.evidence[0]


def test_ranks_that_wait_for_one_that_works_are_none() -> None:
    """One rank builds a kernel, the others wait for its baton."""
    waiting = dict.fromkeys(range(1, 8), 40.0)
    assert Run().says(1.0, BANNER).says(30.0, WEIGHTS).until(900.0, ranks(8, waiting)) == []


def test_a_rank_that_is_done_first_waits_for_the_others() -> None:
    run = Run().says(1.0, BANNER).says(30.0, WEIGHTS, shards(1, 10))
    assert run.until(110.0, ranks(4, {2: 100.0})) == []
    slow = ranks(4, {2: 100.0}, pace=0.1)

    def crawls(t: float) -> list[AnyEvent]:
        event = slow(t)[0]
        assert isinstance(event, HostSample)
        procs = {
            pid: structs.replace(p, rchar=110 * 200 * MIB, rss_mib=5200, cpu_s=88.0 + 0.1 * (t - 110))
            for pid, p in event.procs.items()
        }
        return [structs.replace(event, procs=procs)]

    assert run.until(300.0, crawls) == []


@pytest.mark.parametrize(("count", "named"), [(8, ("TP5",)), (2, ())])
def test_while_graphs_are_captured_a_minority_has_five_minutes(count: int, named: tuple[str, ...]) -> None:
    """Of two, one that works and one that waits are no evidence."""
    run = Run().says(1.0, BANNER).says(30.0, WEIGHTS).says(60.0, CAPTURES)
    stopped = {min(5, count - 1): 100.0}
    assert run.until(399.0, ranks(count, stopped)) == []
    run.until(410.0, ranks(count, stopped))
    assert (run.now.ranks if run.now else ()) == named


def test_engine_cores_wait_while_their_workers_load() -> None:
    def each(t: float) -> list[AnyEvent]:
        procs = {n: Proc(title=f"VLLM::Worker_DP{n}_TP0", cpu_s=t) for n in range(4)}
        cores = {90 + n: Proc(title=f"VLLM::EngineCore_DP{n}", cpu_s=1.0) for n in range(2)} if t < 33 else {}
        return [HostSample(t=t, procs={**procs, **cores})]

    assert Run().says(1.0, BANNER).says(30.0, WEIGHTS).until(600.0, each) == []


def test_a_gpu_that_stays_behind_names_its_rank() -> None:
    def grows(t: float) -> list[AnyEvent]:
        used = {n: Gpu(used_mib=int(min(t, 120 if n == 7 else t) * 300), power_w=int(t)) for n in range(8)}
        return [GpuSample(t=t, gpus=used)]

    run = Run().says(1.0, BANNER).says(30.0, WEIGHTS, shards(1, 10))
    run.add(host(30.0, **{f"TP{n}": worker(n, gpus=(n,)) for n in range(8)}))
    assert run.until(179.0, grows) == []
    run.until(300.0, grows)
    assert run.now is not None
    assert run.now.ranks == ("TP7",)
    assert run.now.since_s == 179.0
    assert run.now.evidence[0].startswith("GPU 7 (TP7) stands at 35.2 GiB while the others grow past 87.")


def test_gpus_of_another_job_are_not_looked_at() -> None:
    def grows(t: float) -> list[AnyEvent]:
        return [GpuSample(t=t, gpus={n: Gpu(used_mib=int(t * 300) if n < 4 else 20) for n in range(8)})]

    run = Run().says(1.0, BANNER).says(30.0, WEIGHTS, shards(1, 10))
    run.add(Started(t=30.0, run=RunFacts(gpus_of_run=(0, 1, 2, 3))))
    assert run.until(300.0, grows) == []


# -- the history it stands on


def test_when_a_process_last_worked() -> None:
    state = read(HostState(), host(0.0, TP0=worker(0, cpu_s=1.0)))
    assert state.worked == 0.0
    state = read(state, host(30.0, TP0=worker(0, cpu_s=1.3)))
    assert state.worked == 0.0  # 0.01 cores
    state = read(state, host(31.0, TP0=worker(0, cpu_s=1.9)))
    assert state.worked == 31.0  # half a second's work in one second
    state = read(state, HostSample(t=50.0, gone=(10,)))
    assert (state.work, state.worked) == ({}, 50.0)  # it ended then: it had run until then


def test_fast_samples_do_not_make_a_clock_tick_into_work() -> None:
    """10 samples a second: 0.01 s of CPU in one of them would be 0.1 cores."""
    state = read(HostState(), host(0.0, TP0=worker(0, cpu_s=1.0)))
    for n in range(1, 300):
        state = read(state, host(n / 10, TP0=worker(0, cpu_s=round(1.0 + 0.01 * (n // 10), 2))))
    assert state.worked == 0.0


def test_a_pid_that_comes_again_is_another_process() -> None:
    state = read(HostState(), host(0.0, TP0=worker(0, cpu_s=9.0)))
    state = read(state, host(40.0, TP0=worker(0, cpu_s=0.1)))
    assert state.worked == 40.0


def test_the_history_is_bounded_by_the_living_processes() -> None:
    state = HostState()
    for n in range(500):
        state = read(
            state, HostSample(t=float(n), procs={n: Proc(title="python")}, gone=(n - 1,) if n else ())
        )
    assert len(state.work) == len(state.procs) == 1
    assert state.box == Box()
