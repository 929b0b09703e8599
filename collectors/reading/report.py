"""State -> the public reading: what `explain`, `status`, `wait` and hooks print (docs/json.md)."""

from collections.abc import Iterator
from typing import Any

from msgspec import Struct, field, structs

from collectors.reading import patches
from collectors.reading.eta import left_of
from collectors.reading.events import Exit
from collectors.reading.log.bars import shown
from collectors.reading.log.conclude import Conclusion, conclude
from collectors.reading.log.parts import Cause, Problem
from collectors.reading.log.reader import settled
from collectors.reading.log.state import LogState
from collectors.reading.stall import stalled
from collectors.reading.state import State
from collectors.reading.timeline import timeline
from collectors.redact import mask


class Report(Struct, frozen=True, kw_only=True):
    """The explain object, version 1. Unknown is null, never 0; fields are added, never renamed."""

    v: int = 1
    """version of this object"""
    engine: str | None = None
    """`vllm`, `sglang` or null: which engine wrote the log"""
    engine_version: str | None = None
    """as its banner gives it; never read from advice texts"""
    phase: str = "starting"
    """`starting`, `loading`, `compiling` (torch.compile, profiling, kernel JIT), `capturing` (CUDA graphs,
    autotuner), `ready`, `serving`, `stopped` (orderly end), `failed`
    """
    stalled: dict[str, Any] | None = None
    """`{"since_s": number or null, "evidence": [str]}`, beside the phase that it is stuck in"""
    ready: bool = False
    """requests can be answered"""
    ready_line: str | None = None
    """the line that proves it"""
    progress: dict[str, Any] | None = None
    """the last bar of the running phase: `{"label", "done", "total", "eta_s", "model", "unit"}`; a finished one
    stays until the next phase begins; `model` is `target`, `drafter` or null, `unit` what is counted
    """
    timeline: list[dict[str, Any]] = []
    """`{"phase", "step", "started_at", "clock", "seconds", "detail"}` in order, of the last run in the log; a phase
    can have several steps; `started_at` is an ISO time or null, `clock` the stamp as the log printed it
    """
    root_cause: dict[str, Any] | None = None
    """`{"line", "lineno", "process", "summary", "hint"}`: the one log line that names the cause, counted
    from 1; null when nothing failed or the cause is not in view
    """
    cause_in_view: bool = True
    """false when it failed but the log holds only an echo or a cut traceback"""
    problems: list[dict[str, Any]] = []
    """what the user is shown as problems: `{"severity", "line", "lineno", "count", "processes", "rule", "advice"}`;
    echoes of one failure are one item
    """
    hidden: dict[str, Any] = field(default_factory=lambda: {"lines": 0, "by_rule": {}})
    """`{"lines": int, "by_rule": {rule id: count}}`: what the noise rules hid"""
    spec: dict[str, Any] | None = None
    """the last speculative-decoding figures printed: `drafted`, `accepted` (tokens), `rate`
    (accepted/drafted as a fraction), `printed_rate` (as printed), `mean_length` (bonus token included),
    `per_position` (fractions)
    """
    gen_tok_s: float | None = None
    """the last printed generation throughput"""
    memory_gib: dict[str, float] = {}
    """figures that the log prints: `model_weights`, `kv_available`, `kv_needed`, `cuda_graphs`, …"""
    patches: dict[str, dict[str, int]] = {}
    """patch -> status (`applied`, `native`, `armed`, `absent`, `failed`, …) -> number of processes"""


def phase(state: State) -> str:
    """The contract's word for where the run stands: its log, its health, its exit and who asked, together."""
    return _standing(state, settled(state.log), _conclusion(state, settled(state.log)))


def report(state: State, year: int | None = None) -> Report:
    """The whole reading. `year`: of the stamps of a saved log, which print none."""
    log = settled(state.log)
    state = structs.replace(state, log=log)
    found = _conclusion(state, log)
    now = _standing(state, log, found)
    up = now in ("ready", "serving")
    stuck = stalled(state) if now not in ("failed", "stopped") else None
    return Report(
        engine=log.engine or state.run.engine or _likely(log),
        engine_version=log.engine_version,
        phase=now,
        stalled={"since_s": stuck.since_s, "evidence": list(stuck.evidence)} if stuck else None,
        ready=up,
        ready_line=log.ready_line if up else None,
        progress=_progress(state, now),
        timeline=timeline(state, year),
        root_cause=_cause(found.cause),
        cause_in_view=found.in_view,
        problems=[_problem(p) for p in (*found.problems, *_around(state), *log.problems)],
        hidden={"lines": log.hidden_lines, "by_rule": log.hidden_by_rule},
        spec=structs.asdict(log.spec) if log.spec else None,
        gen_tok_s=log.gen_tok_s,
        memory_gib=log.memory_gib,
        patches=patches.counts(log),
    )


def _likely(log: LogState) -> str | None:
    """Of a log that is nothing but a loader's bars: the words are vLLM's, which SGLang took over. Of strangers' logs
    with such bars 85 % are vLLM's; a later word of SGLang's own tells otherwise."""
    return "vllm" if any(bar.kind in ("weights", "graphs") for bar in log.bars) else None


def conclusion(state: State) -> Conclusion:
    """Whether it failed, since when, of what, and the problems that tell it."""
    return _conclusion(state, settled(state.log))


def _conclusion(state: State, log: LogState) -> Conclusion:
    found = conclude(
        log.suspects,
        stopping=log.stopping_t is not None,
        gone=_gone(state),
        stop_asked=_asked(state, log),
        oom_kills=state.hosts.oom_kills,
        phase=log.phase,
    )
    return _naming(found, state.life.broken_files)


def _naming(found: Conclusion, files: tuple[str, ...]) -> Conclusion:
    """A cause that is a broken weight file, with the file's name, which the engines do not print."""
    if not files or found.cause is None or found.cause.rule not in BROKEN_WEIGHTS:
        return found
    hint = f"broken: {files[0]}{f' (and {len(files) - 1} more)' if len(files) > 1 else ''}; fetch it again"
    problems = [structs.replace(p, advice=hint) if p.rule in BROKEN_WEIGHTS else p for p in found.problems]
    return structs.replace(found, cause=structs.replace(found.cause, hint=hint), problems=tuple(problems))


# Rules whose line says that a weight file is broken, and not which one.
BROKEN_WEIGHTS = ("shard-truncated", "shard-garbled")


def _gone(state: State) -> Exit | None:
    """How and when the server's own process ended; others of its tree may live on. A lost exit code is Reaped's."""
    gone, reaped = state.life.exit, state.life.reaped
    if reaped is None:
        return gone
    known = gone if gone is not None and (gone.code, gone.signal) != (None, None) else reaped
    return Exit(t=reaped.t, code=known.code, signal=known.signal)


def _asked(state: State, log: LogState) -> bool:
    """Whether somebody wanted it to stop: through us, or by the signals of a stop. Not if it was dead by then."""
    asked, gone, fatal = state.life.stop_asked_t, _gone(state), log.suspects.fatal
    if asked is None and gone is not None and (gone.signal in _STOP_SIGNALS or gone.code in _STOP_CODES):
        asked = gone.t - _STOPPING_S
    dead = [end.t for end in (gone, fatal) if end is not None]
    return asked is not None and asked <= min(dead, default=asked) + _REQUEST_S


_STOP_SIGNALS = (2, 15)
_STOP_CODES = (130, 143)
_STOPPING_S = 30.0  # at most between a signal and the end: an orderly stop takes 0.3-2.6 s on the recordings
_REQUEST_S = 2.0  # the record may have a request after the first of its consequences


def _standing(state: State, log: LogState, found: Conclusion) -> str:
    life = state.life
    if found.failed:
        return "failed"
    if life.exit is not None or life.reaped is not None or log.stopping_t is not None:
        return "stopped"
    up = log.phase if log.phase in ("ready", "serving") else "ready"
    if life.health == 200 and life.owner == "other":
        return _before_ready(log)
    if log.ready:
        return up
    return "ready" if life.health == 200 else log.phase


def _before_ready(log: LogState) -> str:
    """Where a start stands whose port somebody else answers: never ready, whatever was said."""
    earlier = [step.phase for step in log.steps if step.phase not in ("ready", "serving")]
    return log.phase if not log.ready else (earlier[-1] if earlier else "starting")


def _sockets(state: State) -> tuple[Problem, ...]:
    """Who answers on our port, where that is not plainly this run."""
    life = state.life
    if life.health != 200:
        return ()
    at = life.health_t or 0.0
    if life.owner == "other":
        who = f"pid {life.owner_pid}" if life.owner_pid is not None else "another process"
        text = f"/health is answered by {who}, which is not of this run"
        advice = "an earlier server still holds the port: stop it, or choose another --port"
        return (Problem("error", "foreign-socket", text, 0, 0, at, advice=advice),)
    if life.owner == "unknown" and state.log.ready_t is None and _gone(state) is None:
        text = "/health answers, but nothing proves that this run answers it"
        return (Problem("warning", "unproven-socket", text, 0, 0, at),)
    return ()


def told(state: State) -> State:
    """For screens: the State with what is concluded from it written into its log part (cause, when, problems)."""
    found = conclusion(state)
    log = state.log
    problems = (*found.problems, *_around(state), *log.problems)
    if found.failed and log.cause is None:
        log = structs.replace(log, cause=found.cause, cause_in_view=found.in_view, failed_t=found.failed_t)
    return structs.replace(state, log=structs.replace(log, problems=problems))


def _around(state: State) -> Iterator[Problem]:
    """Troubles that no line of the log tells."""
    yield from _sockets(state)
    yield from patches.troubles(state)
    yield from _advice(state)


def _advice(state: State) -> Iterator[Problem]:
    """doctor's warnings from before the start."""
    for sentence in state.run.advice:
        yield Problem("warning", "doctor", sentence, 0, 0, 0.0)


def _progress(state: State, now: str) -> dict[str, Any] | None:
    bar = shown(state.log)
    if bar is None:
        return None
    left = None if now in ("failed", "stopped") else left_of(bar, state.t)
    return {"label": bar.label, "done": _whole(bar.done), "total": _whole(bar.total), "eta_s": _rounded(left),
            "model": bar.model or None, "unit": bar.unit}  # fmt: skip


def _whole(value: float | None) -> float | int | None:
    return int(value) if value is not None and value == int(value) else value


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 1)


def _cause(cause: Cause | None) -> dict[str, Any] | None:
    if cause is None:
        return None
    return {"line": mask(cause.line), "lineno": cause.lineno, "process": cause.process, "summary": cause.summary,
            "hint": cause.hint}  # fmt: skip


def _problem(problem: Problem) -> dict[str, Any]:
    return {"severity": problem.severity, "line": mask(problem.line), "lineno": problem.lineno or None,
            "count": problem.count, "processes": list(problem.processes), "rule": problem.rule,
            "advice": problem.advice}  # fmt: skip
