"""The page of a failed run: the first cause, what to do, what followed, how far the start had come."""

from collectors.reading.log.state import Cause, Problem
from collectors.redact import mask
from tui import format as fmt
from tui.panels.activity import problems
from tui.panels.header import elapsed
from tui.panels.phases import phases
from tui.rows import Row, clean, wrap
from tui.view import View


def failure(view: View, width: int, height: int) -> list[Row]:
    """At most `height` rows, the most important ones first."""
    cause = view.state.log.cause
    rows: list[Row] = [()]
    rows += _cause(cause, width) if cause else _unnamed(view, width)
    rows += [(), *_then(view)]
    table = phases(view, width, 4)
    if table:
        rows += [(), *table]
    room = height - len(rows) - 2
    if room >= 2:
        others = problems(_others(view), width, room)
        if others:
            rows += [(), ((" what else the log says", "muted"),), *others]
    return rows[:height]


def _cause(cause: Cause, width: int) -> list[Row]:
    rows: list[Row] = [((f" {line}", "bad"),) for line in wrap(clean(cause.summary), width - 2, 4)]
    for n, line in enumerate(wrap(clean(cause.hint or ""), width - 9, 3)):
        rows.append((("   try  " if n == 0 else "        ", "accent"), (line, "strong")))
    where = (
        f" first cause{', ' + clean(cause.process) if cause.process else ''}, line {fmt.count(cause.lineno)}:"
    )
    rows.append(())
    rows.append(((where, "muted"),))
    rows += [((f"   {line}", "plain"),) for line in wrap(clean(mask(cause.line)), width - 4, 4)]
    return rows


def _unnamed(view: View, width: int) -> list[Row]:
    """Failed, and no line says why: then that is said, and what is known instead."""
    log = view.state.log
    if not log.cause_in_view:
        text = "The log holds only the echo of a failure; its first cause is not in view."
    else:
        text = "The server is gone and its log names no cause."
    rows: list[Row] = [((f" {line}", "bad"),) for line in wrap(text, width - 2)]
    gone = view.state.life.exit
    if gone is not None and gone.signal == 9:
        hint = "Killed from outside (signal 9): look for the kernel's out-of-memory killer, or who sent it."
        rows += [((f"   {line}", "plain"),) for line in wrap(hint, width - 4)]
    return rows


def _others(view: View) -> list[Problem]:
    """The problems that are not the cause: echoes of it, and what may have led there."""
    log = view.state.log
    return [p for p in log.problems if log.cause is None or p.lineno != log.cause.lineno]


def _then(view: View) -> list[Row]:
    rows: list[Row] = []
    rows.append(((f" {ending(view)}", "plain"),))
    for past in view.state.run.history[-1:]:
        rows.append(
            ((f" last good run: {clean(past.when)}, ready after {fmt.duration(past.total)}", "muted"),)
        )
    return rows


def ending(view: View) -> str:
    """How the server ended, in one sentence; "still running" is said when it does."""
    gone = view.state.life.exit
    if gone is None:
        return "the server's process is still there"
    after = f"after {fmt.duration(elapsed(view))}"
    if gone.code is not None:
        return f"exit code {gone.code} {after}"
    if gone.signal is not None:
        return f"killed by signal {gone.signal} {after}"
    return f"gone {after}; exit code unknown" + (f": {clean(gone.reason)}" if gone.reason else "")
