"""The newest lines of the log, with what the filters hide counted above them."""

from tui import format as fmt
from tui.rows import Row, Span, cut, left, right
from tui.view import LogLine, View

_LEVELS = {"error": "bad", "warning": "warn"}


def logtail(view: View, width: int, height: int) -> list[Row]:
    """`height` rows: a rule with the counts, then the newest lines that are no noise."""
    if height < 1:
        return []
    rows = [_rule(view, width)]
    lines = view.tail[-(height - 1) :] if height > 1 else ()
    return rows + [line_row(line, width) for line in lines]


def _rule(view: View, width: int) -> Row:
    log = view.state.log
    errors = sum(p.count for p in log.problems if p.severity == "error")
    warnings = sum(p.count for p in log.problems if p.severity == "warning")
    counts: list[Span] = [
        (f" {fmt.count(log.hidden_lines)} hidden as noise", "muted"),
        (f" · {fmt.count(errors)} error{'' if errors == 1 else 's'}", "bad" if errors else "muted"),
        (f" · {fmt.count(warnings)} warning{'' if warnings == 1 else 's'} ", "warn" if warnings else "muted"),
    ]
    size = sum(len(text) for text, _ in counts)
    if width < size + 12:
        return ((left(" log ", width), "muted"),)
    return ((" ─ ", "faint"), ("log ", "muted"), ("─" * (width - 8 - size), "faint"), *counts, ("─", "faint"))


def line_row(line: LogLine, width: int, *, search: str = "") -> Row:
    """Clock, process, level and text on one row; matches of `search` stand out."""
    style = "faint" if line.hidden else _LEVELS.get(line.level, "plain")
    times = f" ×{line.count}" if line.count > 1 else ""
    process = 8 if width < 120 else 14
    head: list[Span] = [(f" {right(line.clock, 8)} ", "muted"), (left(line.process, process) + " ", "muted")]
    if width < 50:
        head = [(" ", "plain")]
    room = width - sum(len(text) for text, _ in head) - len(times)
    text = cut(line.text, room)
    body = _matched(text, search, style) if search else [(text, style)]
    return (*head, *body, (times, "muted"))


def _matched(text: str, search: str, style: str) -> list[Span]:
    spans: list[Span] = []
    low, wanted, at = text.lower(), search.lower(), 0
    if len(low) != len(text):  # some letters grow when lowered: then only exact case is found
        low, wanted = text, search
    while (found := low.find(wanted, at)) >= 0:
        spans += [(text[at:found], style), (text[found : found + len(wanted)], "match")]
        at = found + len(wanted)
    return [span for span in [*spans, (text[at:], style)] if span[0]]
