"""States made by hand for the tests of panels and screens: a load on eight GPUs, a failure, a quiet start."""

from collectors.reading.events import Exit, Gpu, PastRun, Proc, RunFacts
from collectors.reading.gpus import GpuState
from collectors.reading.hosts import HostState, Work
from collectors.reading.life import LifeState
from collectors.reading.log.state import Bar, Cause, LogState, Problem, Step
from collectors.reading.series import Ring
from collectors.reading.state import State
from tui.view import LogLine, View

FACTS = RunFacts(
    id="20261201-074144-kimi",
    name="kimi-eagle3",
    engine="vllm",
    shard_bytes=(8_547_000_000,) * 64,
    filesystem="ext4",
    gpu_names=("NVIDIA H200",) * 8,
    gpu_total_mib=(143_771,) * 8,
    history=(
        PastRun(
            {"start": 20.0, "weights": 770.0, "drafter": 6.0, "compile": 65.0, "graphs": 48.0},
            total=930.0,
            when="2026-11-30",
        ),
    ),
)


def ring(*points: tuple[float, float | None]) -> Ring:
    made = Ring(240)
    for t, value in points:
        made = made.add(t, value)
    return made


def loading(t: float = 462.0, gpus: int = 8) -> State:
    """31 of 64 shards on eight GPUs, the last of which lags behind."""
    used = {i: 69_800 if i < 7 else 42_000 for i in range(gpus)}
    return State(
        t=t,
        run=FACTS,
        wall0=1_796_110_442.0,
        log=LogState(
            size=9_000,
            lines=1_650,
            engine="vllm",
            engine_version="0.16.0",
            speculative="eagle3",
            parallel={"TP": 8},
            phase="loading",
            steps=(
                Step("start", "starting", 0.0, 21.0),
                Step("weights", "loading", 21.0),
            ),
            bars=(
                Bar("Loading safetensors checkpoint shards", "weights", "target", 31, 64, t0=21.0, t=460.0),
                Bar("Loading safetensors checkpoint shards", "weights", "drafter", 0, 1, t0=21.0, t=460.0),
            ),
            problems=(
                Problem(
                    "warning", "prefetch", "Auto-prefetch is disabled", 40, 4000, 30.0,
                    advice="auto-prefetch is off on ext4: --safetensors-load-strategy prefetch",
                ),
            ),
            hidden_lines=1_204,
        ),
        gpus=GpuState(
            last={i: Gpu(mib, 0, 120 + i, 38) for i, mib in used.items()},
            memory={
                i: ring((t - 30, mib - (2_253 if i < 7 else 1_075)), (t, mib)) for i, mib in used.items()
            },
            t=t,
        ),
        hosts=HostState(
            procs={100: Proc("VLLM::Worker_TP0", "D"), 101: Proc("VLLM::Worker_TP1", "R")},
            work={pid: Work(t, t, Proc()) for pid in (100, 101)},
            cpu=ring((t - 10, 100.0), (t, 108.0)),
            read=ring((t - 10, 0), (t, 7_100_000_000)),
            rchar=ring((t - 10, 0), (t, 8_068_000_000)),
            t=t,
        ),
    )  # fmt: skip


def failed() -> State:
    """Dead for want of KV cache, with an echo and an exit code."""
    line = (
        "ValueError: To serve at least one request with the model's max seq len (262144), (18.35 GiB KV cache is "
        "needed, which is larger than the available KV cache memory (8.72 GiB)."
    )
    cause = Cause(
        line=line,
        lineno=1482,
        offset=90_000,
        process="EngineCore",
        summary="The KV cache is too small for one request of 262144 tokens: 18.35 GiB needed, 8.72 GiB free.",
        hint="set --max-model-len 121840 or less, or raise --gpu-memory-utilization",
        rule="kv-cache-too-small",
        at=782.0,
    )
    return State(
        t=783.0,
        run=FACTS,
        log=LogState(
            size=99_000,
            lines=1_655,
            engine="vllm",
            engine_version="0.16.0",
            phase="failed",
            failed_t=782.0,
            cause=cause,
            steps=(
                Step("start", "starting", 0.0, 21.0),
                Step("weights", "loading", 21.0, 715.0),
                Step("compile", "compiling", 715.0, 780.0),
                Step("kv", "compiling", 780.0, 782.0),
            ),
            problems=(
                Problem("error", "kv-cache-too-small", line, 1482, 90_000, 782.0, processes=("EngineCore",)),
                Problem(
                    "error",
                    "core-wrapper",
                    "RuntimeError: Engine core initialization failed.",
                    1655,
                    98_000,
                    782.5,
                ),
            ),
        ),
        life=LifeState(exit=Exit(t=783.0, code=1)),
    )


def view_of(state: State, phase: str | None = None, **more: object) -> View:
    return View(state=state, phase=phase or state.log.phase, t=state.t, name=state.run.name, **more)  # type: ignore[arg-type]


TAIL = (
    LogLine(0, "07:41:44", "TP0", "", "Loading safetensors checkpoint shards:  47% Completed | 30/64"),
    LogLine(1, "07:41:57", "TP0", "", "Loading safetensors checkpoint shards:  48% Completed | 31/64"),
    LogLine(
        2,
        "07:41:57",
        "TP3",
        "warning",
        "Using default MoE config. Performance might be sub-optimal!",
        count=8,
    ),
)
