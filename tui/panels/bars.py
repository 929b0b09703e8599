"""One progress bar per loader and model, and when the server will be ready."""

from collectors.reading.eta import Arrival
from collectors.reading.log.state import Bar
from tui import format as fmt
from tui.rows import Row, clean, cut, left, line_bar, right, width_of
from tui.view import View

_NAMES = {("weights", "target"): "weights", ("weights", "drafter"): "drafter", ("graphs", ""): "graphs"}
_UNITS = {"bytes": 1e9}


def bars(view: View, width: int, limit: int = 4) -> list[Row]:
    """Newest bars win when there are more than `limit`; the arrival stands at the right of the first two."""
    beside = arrival(view)
    room = max((width_of(line) for line in beside), default=0)
    if width < 60:
        room = 0
    shown = view.state.log.bars[-limit:]
    rows = [_bar(bar, width - room - (2 if room else 0)) for bar in shown]
    if not rows:
        rows = [((" waiting for the first progress bar", "muted"),)] if not view.ended else []
    if not room:
        return rows + beside
    blank: Row = ()
    rows += [blank] * (len(beside) - len(rows))
    return [
        (*_filled(line, width - room), *end)
        for line, end in zip(rows, beside + [blank] * (len(rows) - len(beside)), strict=True)
    ]


def _filled(line: Row, width: int) -> Row:
    return (*line, (" " * max(0, width - width_of(line)), "plain"))


def _bar(bar: Bar, width: int) -> Row:
    name = _NAMES.get((bar.kind, bar.model)) or (bar.model if bar.model == "drafter" else bar.kind)
    if name == "other":
        name = bar.label
    whole = bar.total is not None and bar.done >= bar.total
    fraction = bar.done / bar.total if bar.total else None
    head = f" {left(clean(name), 9)}{right(_amount(bar), 9)} "
    tail = f" {right(fmt.percent(fraction, 0), 5)}"
    style = "good" if whole else "fill"
    middle = line_bar(fraction, max(4, width - len(head) - len(tail)), "accepted" if whole else "fill")
    return ((head, "plain"), *middle, (tail, style if whole else "strong"))


def _amount(bar: Bar) -> str:
    if bar.unit == "bytes":
        return fmt.size(bar.done)
    total = fmt.number(bar.total) if bar.total is not None else "?"
    return f"{fmt.number(bar.done)}/{total}"


def arrival(view: View) -> list[Row]:
    """`ready in ~14 min` and where that comes from, two rows; none when nothing honest can be said."""
    if view.state.log.ready or view.ended or view.arrival is None:
        return []
    found: Arrival = view.arrival
    if found.late is not None:
        ever = "before" if found.n == 1 else f"in {found.n} runs"
        return [
            (("late by ", "muted"), (f"{fmt.duration(found.late)} ", "warn")),
            ((f"longer than {ever} ", "muted"),),
        ]
    if found.seconds is None:
        return []
    basis = {"bytes": "by bytes read", "bar": "by the bar's pace"}.get(found.source or "", "")
    if found.source == "history":
        spread = f"±{fmt.about(found.spread)}, " if found.spread else ""
        basis = f"{spread}{found.n} run{'' if found.n == 1 else 's'} here"
    return [
        (
            (f"{found.of}{'' if found.of == 'ready' else ' done'} in ", "muted"),
            (f"~{fmt.about(found.seconds)} ", "strong"),
        ),
        ((cut(basis, 24) + " ", "muted"),),
    ]
