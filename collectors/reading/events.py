"""The facts that a run is made of. Each carries `t`: seconds since the run's start on CLOCK_BOOTTIME.

Sources state facts only ("the file grew by these bytes", "this counter reads 17"); every interpretation is
`state.step`'s, so that a better rule improves old records too.
"""

from typing import Any

from msgspec import Struct


class Gpu(Struct, frozen=True, array_like=True):
    """One GPU at one instant. None: the driver does not say."""

    used_mib: int | None = None
    util_pct: int | None = None
    power_w: int | None = None
    temp_c: int | None = None
    pcie_rx_mb_s: int | None = None  # taken in turns over the GPUs (21 ms a reading): None is "not this time"
    pcie_tx_mb_s: int | None = None


class Proc(Struct, frozen=True, array_like=True):
    """One process of the server's tree at one instant; `cpu_s`, `read_bytes`, `rchar` are totals since its start."""

    title: str = ""  # the process title, as setproctitle left it: "VLLM::Worker_TP0"; else the command's name
    state: str = ""  # R, S, D, Z, …
    rss_mib: int = 0
    cpu_s: float = 0.0
    read_bytes: int | None = None  # from storage; None where /proc/PID/io is closed to us
    rchar: int | None = None  # read by any way, page cache included
    gpus: tuple[int, ...] = ()  # indexes of the GPUs on which NVML names this pid


class Box(Struct, frozen=True, array_like=True):
    """The host or, where there is one, the container's memory limits."""

    mem_total_mib: int | None = None
    mem_available_mib: int | None = None
    oom_kills: int | None = None  # cgroup memory.events oom_kill: a total
    load1: float | None = None


class RunFacts(Struct, frozen=True):
    """What `launch` or `attach` knew when it began (the part of run.json that reading needs)."""

    id: str = ""
    name: str = ""
    argv: tuple[str, ...] = ()
    foreign: bool = False  # no keeper of ours: nobody will tell us the exit code
    engine: str | None = None
    model_path: str | None = None
    drafter_path: str | None = None
    shard_bytes: tuple[int, ...] = ()  # sizes of the target's shard files, in index order
    drafter_bytes: tuple[int, ...] = ()
    filesystem: str | None = None
    gpu_names: tuple[str, ...] = ()
    gpu_total_mib: tuple[int, ...] = ()
    gpus_of_run: tuple[int, ...] | None = None  # those the server may see (CUDA_VISIBLE_DEVICES); None: all
    patches: tuple[str, ...] = ()
    advice: tuple[str, ...] = ()  # what doctor warned of before the start
    history: tuple[
        "PastRun", ...
    ] = ()  # earlier runs of the same key, newest last: the arrival estimate's source
    noise: tuple["UserNoise", ...] = ()


class UserNoise(Struct, frozen=True):
    """A `[[noise]]` row of the user's config. The pattern is searched in the line as shown."""

    id: str
    pattern: str
    reason: str = ""


class PastRun(Struct, frozen=True):
    """The step durations of one earlier ready run of the same key (timings.jsonl)."""

    steps: dict[str, float]  # step name -> seconds
    total: float
    cold: bool | None = None  # read from storage (True) or from the page cache (False)
    when: str = ""  # ISO date, for showing


class Event(Struct, frozen=True, kw_only=True):
    t: float


class Started(Event, frozen=True, kw_only=True):
    """Always the first event."""

    run: RunFacts


class Log(Event, frozen=True, kw_only=True):
    """Bytes [offset, offset + len(data)) of server.log, seen at `t`."""

    offset: int
    data: bytes


class GpuSample(Event, frozen=True, kw_only=True):
    """Only the GPUs whose reading changed; `error`: why NVML gives nothing at all."""

    gpus: dict[int, Gpu] = {}
    error: str | None = None


class HostSample(Event, frozen=True, kw_only=True):
    """Only the processes that changed; `gone` pids left. `box` when it changed."""

    procs: dict[int, Proc] = {}
    gone: tuple[int, ...] = ()
    box: Box | None = None


class Series(Event, frozen=True, kw_only=True):
    """Names the metric series from number `start` on, e.g. `vllm:generation_tokens_total{engine="0"}`."""

    start: int
    names: tuple[str, ...]


class Metrics(Event, frozen=True, kw_only=True):
    """One scrape: the series whose value changed, by number; `gone` ones left the page. `error`: it failed."""

    values: dict[int, float] = {}
    gone: tuple[int, ...] = ()
    error: str | None = None
    took_ms: int | None = None
    exact: bool = False  # asked for at a mark or a benchmark's edge, not by the clock


class Health(Event, frozen=True, kw_only=True):
    """`/health` when its answer changed. status None: refused or silent (`error` says which)."""

    status: int | None = None
    owner: str = "unknown"  # whose socket answers: "same" (this run's tree), "other", "unknown"
    owner_pid: int | None = None
    error: str | None = None


class Request(Event, frozen=True, kw_only=True):
    """What a front end asked for through the inbox. The exact scrape of that instant stands right before it.

    kind: "mark", "bench_begin", "bench_progress", "bench_end", "stop", "note".
    """

    kind: str
    id: str = ""  # pairs a benchmark's begin, progress and end
    label: str = ""
    data: dict[str, Any] = {}


class Clock(Event, frozen=True, kw_only=True):
    """Anchors `t` to wall-clock seconds since the epoch (only ever for showing)."""

    wall: float


class Tick(Event, frozen=True, kw_only=True):
    """Time passed: one a second, so that silence too is in the record."""


class Source(Event, frozen=True, kw_only=True):
    """A source of facts changed its state: "log", "gpu", "host", "metrics", "recorder"; error None: it is well."""

    source: str
    error: str | None = None


class BrokenFiles(Event, frozen=True, kw_only=True):
    """The weight files that cannot be what they claim, one sentence each: looked at once reading them failed."""

    files: tuple[str, ...]


class Reaped(Event, frozen=True, kw_only=True):
    """The server's own process ended and was reaped; others of its tree may live on and write. Exit follows."""

    code: int | None = None
    signal: int | None = None


class Exit(Event, frozen=True, kw_only=True):
    """The server is gone; always last. code and signal are None when nobody could reap it (foreign, keeper killed)."""

    code: int | None = None
    signal: int | None = None
    reason: str = ""  # why the code is unknown


AnyEvent = (
    Started
    | Log
    | GpuSample
    | HostSample
    | Series
    | Metrics
    | Health
    | Request
    | Clock
    | Tick
    | Source
    | BrokenFiles
    | Reaped
    | Exit
)
