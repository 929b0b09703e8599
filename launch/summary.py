"""One reading of a run: the object that `status --json` prints, and the same in a few lines."""

from collections.abc import Iterator
from typing import Any

from msgspec import structs

from collectors.reading.eta import arrival
from collectors.reading.report import Report, conclusion, phase, report
from collectors.reading.state import State
from collectors.reading.timeline import spans
from collectors.record.folder import RunFolder
from collectors.record.follow import STALE_S, Follower
from launch import figures

__all__ = ["Status", "cause", "coming", "lines", "lives", "phase", "progress", "read", "standing", "status"]

CAUGHT_UP_S = 5.0  # of a foreign run: within it the log's past is read
ENGINE_NAMES = {"vllm": "vLLM", "sglang": "SGLang"}


class Status(Report, frozen=True, kw_only=True):
    """The explain object and what only a run has."""

    run: dict[str, Any]
    """`{"id", "name", "folder"}`"""
    host: str
    """the host that the run was started on"""
    live: bool | None
    """true: the server is watched; false: it is gone; null: nothing watches it any more, so nobody knows"""
    age_s: float | None
    """seconds since the recorder's last line; more than 5: it is gone or stopped"""
    exit: dict[str, Any] | None
    """`{"code", "signal", "reason"}` once the server is gone; null where nobody could reap it"""
    gpus: list[dict[str, Any]]
    """per GPU `{"index", "name", "used_mib", "total_mib", "util_pct", "power_w", "temp_c"}`"""


def lives(run: Follower) -> bool | None:
    """Whether the server of the run lives, as far as a flock can tell; None: nobody watches it."""
    if run.ended:
        return False
    return True if run.folder.recorder_lives() or run.folder.keeper_lives() else None


def status(run: Follower) -> Status:
    info = run.folder.info()
    age = None if run.ended else run.age()
    return Status(
        **structs.asdict(report(run.state)),
        run={"id": run.folder.id, "name": info.facts.name, "folder": str(run.folder.path)},
        host=info.host,
        live=lives(run),
        age_s=None if age is None else round(age, 1),
        exit=_exit(run.state),
        gpus=_gpus(run.state),
    )


def read(folder: RunFolder) -> Follower:
    """The run as its folder says now, read to the end."""
    run = Follower(folder)
    run.advance()
    return run


def lines(run: Follower, now: Status) -> Iterator[str]:
    """For a person: who, where it stands, how far, memory, speculation, what went wrong. 3–9 lines."""
    state = run.state
    engine = " ".join(filter(None, (ENGINE_NAMES.get(now.engine or "", now.engine), now.engine_version)))
    yield " · ".join(
        filter(None, (now.run["name"], engine, state.log.model, now.run["id"], f"on {now.host}"))
    )
    yield standing(state, now)
    if now.stalled is not None:
        evidence = "; ".join(now.stalled.get("evidence", ()))
        yield f"stalled for {figures.duration(now.stalled.get('since_s'))}: {evidence}"
    if not now.ready and now.live is not False:
        yield from filter(None, (progress(now), coming(state)))
    if now.gpus:
        yield _memory(now.gpus)
    if now.spec is not None:
        yield _speculation(now.spec)
    yield from cause(now)
    yield from beside(now)
    if now.live is None:
        yield "nothing records this run any more; `specwatch attach --no-screen` goes on with it"
    elif now.live and now.age_s is not None and now.age_s > STALE_S:
        yield f"the recorder has been silent for {figures.duration(now.age_s)}"


def standing(state: State, now: Status) -> str:
    """`loading for 7:21, started 7:42 ago`"""
    ran = f"{'watched' if state.run.foreign else 'ran'} {figures.duration(state.t)}"
    if now.live is not False:
        ran = (
            f"watched for {figures.duration(state.t)}"
            if state.run.foreign
            else f"started {figures.duration(state.t)} ago"
        )
    begun = _begun(state, now)
    since = f" for {figures.duration(max(0.0, state.t - begun))}" if begun is not None and now.live else ""
    ended = ""
    if now.exit is not None:
        code, signal = now.exit["code"], now.exit["signal"]
        how = f"signal {signal}" if signal is not None else None if code is None else f"exit code {code}"
        ended = f", {how or now.exit['reason'] or 'exit code unknown'}"
    return f"{now.phase}{since}, {ran}{ended}"


def _begun(state: State, now: Status) -> float | None:
    """Since when it stands where it does. What a foreign log said before we came has no time of ours."""
    if now.phase == "failed":
        return conclusion(state).failed_t
    running = [t0 for _, t0, t1 in spans(state) if t1 is None]
    return running[-1] if running and not (state.run.foreign and running[-1] < CAUGHT_UP_S) else None


def progress(now: Report) -> str | None:
    """`Loading safetensors checkpoint shards 31/64 (48 %), about 12 min left`; None without a bar."""
    if (bar := now.progress) is None:
        return None
    text = f"{bar['label']} {figures.number(bar['done'])}"
    if bar.get("total"):
        text += f"/{figures.number(bar['total'])} ({bar['done'] / bar['total'] * 100:.0f} %)"
    if bar.get("eta_s") is not None:
        text += f", about {figures.about(bar['eta_s'])} left of this step"
    return text


def coming(state: State) -> str | None:
    """`ready in about 14 min (median of 3 earlier starts, ±2 min)`; None where nothing tells."""
    found = arrival(state)
    if found.late is not None:
        runs = "the one earlier start" if found.n == 1 else f"any of {found.n} earlier starts"
        return f"this step has had {figures.about(found.late)} more than in {runs}"
    if found.seconds is None or found.source == "bar":  # the bar's own line says that already
        return None
    until = f"{found.of} {'in' if found.of == 'ready' else 'done in'} about {figures.about(found.seconds)}"
    if found.source == "history":
        spread = "" if found.spread is None else f", ±{figures.about(found.spread)}"
        return f"{until} (median of {found.n} earlier start{'s' * (found.n > 1)}{spread})"
    return f"{until} (by bytes read)"


def cause(now: Report) -> Iterator[str]:
    """What went wrong and what to do; nothing when it did not."""
    if now.root_cause is not None:
        found = now.root_cause
        yield f"cause: {found['summary']}"
        if found.get("hint"):
            yield f"try: {found['hint']}"
        if found.get("lineno") is not None:  # a death that no line tells of has none
            yield f"line {found['lineno']:,}: {found['line']}"
    elif now.phase == "failed":
        worst = next((problem for problem in now.problems if problem["severity"] == "error"), None)
        nearest = f"; nearest to it: {worst['line']}" if worst and worst["line"] else ""
        yield f"cause: not in the log{nearest}"


def beside(now: Report) -> Iterator[str]:
    """What no line of the log tells: patches that failed or never ran, what doctor warned of, a stranger's socket."""
    told = now.root_cause["line"] if now.root_cause is not None else None
    for problem in now.problems:
        if problem["lineno"] is None and problem["line"] != told:
            sign = "✗" if problem["severity"] == "error" else "!"
            yield f"{sign} {problem['line']}" + (f": {problem['advice']}" if problem["advice"] else "")


def _memory(gpus: list[dict[str, Any]]) -> str:
    used = " ".join(
        figures.DASH if gpu["used_mib"] is None else f"{gpu['used_mib'] / 1024:.1f}" for gpu in gpus
    )
    totals = {gpu["total_mib"] for gpu in gpus}
    of = f" of {totals.pop() / 1024:.0f}" if len(totals) == 1 and None not in totals else ""
    names = {gpu["name"] for gpu in gpus if gpu["name"]}
    return f"{len(gpus)} × {', '.join(sorted(names)) or 'GPU'}: {used}{of} GiB used"


def _speculation(spec: dict[str, Any]) -> str:
    drafted = spec.get("drafted")
    sample = f" of {drafted:,} drafted tokens" if drafted is not None else ""
    text = f"acceptance {figures.percent(spec.get('rate'))}{sample}, as the log printed last"
    if spec.get("mean_length") is not None:
        text += f", mean length {spec['mean_length']:.2f} (bonus token included)"
    if spec.get("per_position"):
        text += ", by position " + " ".join(f"{value * 100:.1f}" for value in spec["per_position"]) + " %"
    return text


def _exit(state: State) -> dict[str, Any] | None:
    gone = state.life.exit
    return None if gone is None else {"code": gone.code, "signal": gone.signal, "reason": gone.reason or None}


def _gpus(state: State) -> list[dict[str, Any]]:
    """Those the server may see; all of the box's where that is not known."""
    wanted = state.run.gpus_of_run
    names, totals = state.run.gpu_names, state.run.gpu_total_mib
    return [
        {
            "index": index,
            "name": names[index] if index < len(names) else None,
            "used_mib": gpu.used_mib,
            "total_mib": totals[index] if index < len(totals) else None,
            "util_pct": gpu.util_pct,
            "power_w": gpu.power_w,
            "temp_c": gpu.temp_c,
        }
        for index, gpu in sorted(state.gpus.last.items())
        if wanted is None or index in wanted
    ]
