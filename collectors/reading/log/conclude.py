"""From what the log showed and how the process ended to whether it failed, and of what."""

from msgspec import Struct, structs

from collectors.reading import events
from collectors.reading.log.parts import Cause, Problem
from collectors.reading.log.rules.failure import SYMPTOMS
from collectors.reading.log.suspects import Fatal, Suspect, Suspects

_HANGING = 4  # minutes with nothing but a full queue's message; with less a first compile is normal
_HANGS = (
    "A worker has not read its queue for minutes, and nobody says anything else: it hangs or compiles.",
    "look what the workers do (py-spy dump --pid PID); if GPUs do not reach each other: NCCL_P2P_DISABLE=1",
)


class Conclusion(Struct, frozen=True):
    failed: bool
    failed_t: float | None
    cause: Cause | None  # may be given without a failure too: a server that hangs
    in_view: bool  # False: it failed, and the log holds only echoes, a cut traceback or a symptom
    problems: tuple[Problem, ...]


def conclude(
    suspects: Suspects,
    *,
    stopping: bool,
    gone: events.Exit | None = None,
    stop_asked: bool = False,
    oom_kills: int | None = None,
    phase: str = "starting",
) -> Conclusion:
    """Whether the server failed and of what.

    `stopping`: the log says that an orderly stop began; `stop_asked`: a front end asked for one; `oom_kills`:
    the container's counter since the start; `phase`: where the server stood when the last line came.
    """
    orderly = stopping or suspects.stopped or stop_asked or phase == "stopped"
    fatal = suspects.fatal
    if fatal is None and not orderly:
        fatal = _unwinding(suspects)
    if fatal is not None and (suspects.hard or not stop_asked):
        return _failed(suspects, fatal, fatal.t, oom_kills)
    if gone is not None and not orderly:
        return _failed(suspects, _ended(gone, oom_kills), gone.t, oom_kills)
    notes = tuple(suspects.notes.values())
    if suspects.hang is None or suspects.hang[1] < _HANGING:
        return Conclusion(False, None, None, True, notes)
    hung = structs.replace(suspects.hang[0], rule="worker-hangs", summary=_HANGS[0], hint=_HANGS[1])
    return Conclusion(False, None, _cause(hung, None), True, (*notes, _problem(hung, "warning")))


def _unwinding(suspects: Suspects) -> Fatal | None:
    """A traceback still being printed that began at the top of a process: that process is ending."""
    block = next((b for b in suspects.blocks if b.ends and not b.survived and b.exception is None), None)
    if block is None or (suspects.ready and block.process is None):
        return None
    return Fatal("traceback", block.line, block.lineno, block.offset, block.t, block.process)


def _ended(gone: events.Exit, oom_kills: int | None) -> Fatal:
    """The end itself as the line to show, where the log has no word about it."""
    if gone.signal is not None:
        how = f"the server was killed by signal {gone.signal}"
    elif gone.code is not None:
        how = f"the server ended by itself with exit code {gone.code}"
    else:
        how = f"the server is gone{': ' + gone.reason if gone.reason else ''}"
    if oom_kills:
        how += f"; the OOM killer of its container struck {oom_kills} times"
    return Fatal("ended", how, 0, 0, gone.t, None)


def _failed(suspects: Suspects, fatal: Fatal, since: float, oom_kills: int | None) -> Conclusion:
    best = max(suspects.suspects.values(), key=lambda s: (s.weight, s.depth, -s.lineno), default=None)
    plugins = (note for note in suspects.notes.values() if note.rule == "plugin-failed")
    survived = tuple(structs.replace(note, severity="warning") for note in plugins)
    if best is None:
        shown = Problem(
            severity="error",
            rule=fatal.rule,
            line=fatal.line[:2000],
            lineno=fatal.lineno,
            offset=fatal.offset,
            t=fatal.t,
            processes=(fatal.process,) if fatal.process else (),
            advice=_oom(oom_kills) if oom_kills else None,
        )
        return Conclusion(True, since, None, False, (shown, *survived))
    in_view = best.weight not in SYMPTOMS
    return Conclusion(True, since, _cause(best, oom_kills), in_view, (_problem(best, "error"), *survived))


def _cause(suspect: Suspect, oom_kills: int | None) -> Cause:
    hint, summary = suspect.hint, suspect.summary
    if oom_kills and suspect.rule in ("process-died", "killed-worker"):
        hint = _oom(oom_kills)
    name = suspect.process or ""
    if suspect.rule and any(char.isdigit() for char in name):
        others = f" and {len(suspect.ranks) - 1} more" if len(suspect.ranks) > 1 else ""
        summary = f"{name}{others}: {summary}"
    return Cause(
        line=suspect.line[:2000],
        lineno=suspect.lineno,
        offset=suspect.offset,
        process=suspect.process,
        summary=summary,
        hint=hint,
        rule=suspect.rule,
        at=suspect.t,
    )


def _oom(kills: int) -> str:
    return f"the OOM killer of its container struck {kills} times: raise the container's memory limit"


def _problem(suspect: Suspect, severity: str) -> Problem:
    """The one problem that a failure is told by, counted over the ranks that it befell."""
    return Problem(
        severity=severity,
        rule=suspect.rule or "exception",
        line=suspect.line[:2000],
        lineno=suspect.lineno,
        offset=suspect.offset,
        t=suspect.t,
        count=len(suspect.ranks),
        processes=tuple(dict.fromkeys(name for name, _ in suspect.ranks if name)),
        advice=suspect.hint,
    )
