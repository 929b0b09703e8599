"""What the server's processes do while the log is silent, and what to do about what is wrong."""

from collections.abc import Sequence

from collectors.reading.hosts import HostState
from collectors.reading.log.state import Problem
from collectors.reading.state import State
from collectors.redact import mask
from tui import format as fmt
from tui.rows import Row, Span, clean, cut, wrap
from tui.view import View

WINDOW_S = 15.0


def activity(view: View, width: int) -> list[Row]:
    """One row: bytes read, checkpoint, CPU, processes, host memory; what is unknown is left out."""
    facts = [fact for fact in _facts(view.state, view.t) if fact]
    if not facts:
        return []
    spans: list[Span] = [(" ", "plain")]
    room = width - 1
    for n, (name, value) in enumerate(facts):
        part = f"{' · ' if n else ''}{name} {value}".rstrip()
        if len(part) > room:
            break
        room -= len(part)
        spans += [(f"{' · ' if n else ''}{name} ", "muted"), (value, "plain")]
    return [tuple(spans)]


def _facts(state: State, now: float) -> list[tuple[str, str] | None]:
    host, since = state.hosts, now - WINDOW_S
    read, seen = host.read.slope(since), host.rchar.slope(since)
    cpu = host.cpu.slope(since)
    whole = sum(state.run.shard_bytes) or (state.log.checkpoint_gib or 0) * 2**30
    place = clean(state.run.filesystem or state.log.filesystem or "")
    box = host.box
    used = None
    if box.mem_total_mib and box.mem_available_mib is not None:
        used = f"{fmt.gib(box.mem_total_mib - box.mem_available_mib)} of {fmt.gib(box.mem_total_mib)} GiB"
    return [
        ("disk", f"{fmt.size(read)}/s") if read is not None else None,
        ("cache", _cached(read, seen)) if read is not None and seen is not None and seen > 1e6 else None,
        ("checkpoint", f"{fmt.size(whole)}{' on ' + place if place else ''}") if whole else None,
        ("CPU", f"{cpu * 100:.0f} % of a core") if cpu is not None else None,
        ("processes", _states(host)) if host.procs else None,
        ("RAM", used) if used else None,
    ]


def _cached(read: float, seen: float) -> str:
    """Share of the bytes that came out of the page cache: what was read without touching storage."""
    return fmt.percent(max(0.0, 1 - read / seen), 0)


def _states(host: HostState) -> str:
    waiting = sum(p.state == "D" for p in host.procs.values())
    return f"{len(host.procs)}" + (f", {waiting} waiting for I/O" if waiting else "")


def advice(view: View, width: int, limit: int = 2) -> list[Row]:
    """What the log's problems suggest to do, newest first, one row each; patches speak for themselves."""
    if view.ended:
        return []
    rows: list[Row] = []
    for problem in reversed(view.state.log.problems):
        if problem.advice and len(rows) < limit and not problem.rule.startswith("patch-"):
            style = "bad" if problem.severity == "error" else "warn"
            rows.append(((" ! ", style), (cut(clean(problem.advice), width - 4), "plain")))
    return rows


def problems(found: Sequence[Problem], width: int, limit: int) -> list[Row]:
    """At most `limit` rows, errors first: the sign, the line, how often."""
    ranked = sorted(found, key=lambda p: (p.severity != "error", -p.t))
    rows: list[Row] = []
    for problem in ranked:
        rows += _problem(problem, width)
    return rows[:limit]


def _problem(problem: Problem, width: int) -> list[Row]:
    sign, style = ("✗", "bad") if problem.severity == "error" else ("!", "warn")
    times = f" ×{problem.count}" if problem.count > 1 else ""
    first, *rest = wrap(clean(mask(problem.line)), width - 4 - len(times), 2) or [""]
    rows: list[Row] = [((f" {sign} ", style), (first, "plain"), (times, "muted"))]
    return rows + [((f"   {line}", "plain"),) for line in rest]
