"""The phases of the start: what each took, and what it took the last time."""

from typing import NamedTuple

from collectors.reading.timeline import spans
from tui import format as fmt
from tui.rows import Row, Span, clean, left, right
from tui.view import View

# Fine steps by their short names; those that belong to serving and stopping are no part of a start.
NAMES = {
    "start": "start",
    "config": "config",
    "distributed": "processes",
    "weights": "weights",
    "post": "settle",
    "drafter": "drafter",
    "compile": "compile",
    "profile": "profile",
    "kv": "KV cache",
    "graphs": "graphs",
    "api": "API",
}
CELL = 26


def phases(view: View, width: int, limit: int = 3) -> list[Row]:
    """A header and at most `limit` rows, filled column by column."""
    entries = _entries(view)
    if not entries:
        return []
    known = any(entry.last is not None for entry in entries)
    columns = max(1, min(width // CELL, -(-len(entries) // 2)))
    while columns > 1 and (columns - 1) * limit >= len(entries) and -(-len(entries) // (columns - 1)) <= 2:
        columns -= 1
    height = min(limit, -(-len(entries) // columns))
    if len(entries) > columns * height:
        entries = _most_telling(entries, columns * height)
    cell = min(width // columns, 34)
    rows = [_joined([_head(cell, known)] * columns)]
    for y in range(height):
        rows.append(_joined([_entry(e, cell, known) for e in entries[y::height]]))
    return rows


class Entry(NamedTuple):
    """A row of the table: `took` so far, `last` the last time, in seconds."""

    name: str
    took: float | None
    last: float | None
    sign: str


def _entries(view: View) -> list[Entry]:
    log, history = view.state.log, view.state.run.history
    last = history[-1].steps if history else {}
    now = view.state.life.exit.t if view.state.life.exit else view.t
    took: dict[str, float] = {}
    signs: dict[str, str] = {}
    for step, t0, t1 in spans(view.state):
        if step.name not in NAMES:
            continue
        end = t1 if t1 is not None else now
        took[step.name] = took.get(step.name, 0.0) + max(0.0, end - t0)
        broke = log.failed_t is not None and (step.t1 is None or step.t1 >= log.failed_t)
        signs[step.name] = "✗" if broke else "✓" if step.t1 is not None else "▸"
    if log.ready:
        signs = dict.fromkeys(signs, "✓")
    names = list(took) + [name for name in last if name not in took and name in NAMES]
    entries = [Entry(name, took.get(name), last.get(name), signs.get(name, "·")) for name in names]
    if log.ready_t is not None or history:
        total = history[-1].total if history else None
        sign = "✓" if log.ready_t is not None else "·"
        entries.append(Entry("ready", log.ready_t, total, sign))
    return entries


def _most_telling(entries: list[Entry], room: int) -> list[Entry]:
    """The running one, the end and the longest stay; the shortest go first."""

    def weight(entry: Entry) -> float:
        if entry.sign in "▸✗" or entry.name == "ready":
            return float("inf")
        return max(entry.took or 0.0, entry.last or 0.0)

    kept = sorted(entries, key=weight, reverse=True)[:room]
    return [entry for entry in entries if entry in kept]


def _head(cell: int, known: bool) -> list[Span]:
    return [
        (
            " "
            + left("phase", 11)
            + right("took", 6)
            + (right("last", 7) if known else " " * 7)
            + " " * (cell - 25),
            "muted",
        )
    ]


def _entry(entry: Entry, cell: int, known: bool) -> list[Span]:
    style = {"✓": "good", "▸": "accent", "✗": "bad"}.get(entry.sign, "faint")
    name = NAMES.get(entry.name, entry.name)
    return [
        (f" {entry.sign} ", style),
        (
            left(clean(name), 9),
            "strong" if entry.sign == "▸" else "plain" if entry.took is not None else "muted",
        ),
        (right(fmt.duration(entry.took), 6), "strong" if entry.sign == "▸" else "plain"),
        (right(fmt.duration(entry.last) if known else "", 7) + " " * (cell - 25), "muted"),
    ]


def _joined(cells: list[list[Span]]) -> Row:
    return tuple(span for cell in cells for span in cell)
