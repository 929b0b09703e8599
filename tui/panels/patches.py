"""The patches of this launch: what became of them, in how many processes; and what doctor warned of before it."""

from collections.abc import Iterator

from collectors.reading import patches as reading
from tui.rows import Row, Span, clean, cut, width_of, wrap
from tui.view import View

# The worst first. "armed" beside another word is a process that never imports the model: no news.
_STYLES = {
    "failed": "bad",
    "skipped": "bad",
    "applied": "good",
    "already": "good",
    "native": "plain",
    "absent": "muted",
    "armed": "muted",
}


def patches(view: View, width: int, limit: int = 3) -> list[Row]:
    """A row of what the processes said; below it, up to `limit` rows in all, what is wrong."""
    groups = list(_groups(view))
    if not groups:
        return []
    row = _row(groups, named=True)
    if width_of(row) > width:
        row = _row([(name, _news(found)) for name, found in groups], named=False)
    rows = [row]
    for problem in view.state.log.problems:
        if problem.rule.startswith("patch-"):
            text = clean(f"{problem.line}: {problem.advice}" if problem.advice else problem.line)
            for n, line in enumerate(wrap(text, width - 4, 2)):
                rows.append(((" ✗ " if n == 0 else "   ", "bad"), (line, "bad" if n == 0 else "plain")))
    return rows[:limit]


Parts = dict[str, int]  # name of a patch's part -> processes


def _groups(view: View) -> Iterator[tuple[str, dict[str, Parts]]]:
    """Each wanted patch with status -> its parts."""
    counts, wanted = reading.counts(view.state.log), view.state.run.patches
    for name in wanted or counts:
        found: dict[str, Parts] = {}
        for patch, statuses in counts.items():
            if patch != name and not patch.startswith(name + "."):
                continue
            for status, processes in statuses.items():
                if status != "armed" or len(statuses) == 1:
                    found.setdefault(status, {})[patch.removeprefix(name + ".")] = processes
        yield name, found


def _news(found: dict[str, Parts]) -> dict[str, Parts]:
    """Without the parts that only wait for a model that nobody imported, where another did something."""
    return {status: parts for status, parts in found.items() if status != "armed"} or found


def _row(groups: list[tuple[str, dict[str, Parts]]], *, named: bool) -> Row:
    spans: list[Span] = [(" patches  ", "muted")]
    for n, (name, found) in enumerate(groups):
        short = name.rpartition("/")[2] if name.endswith(".py") else name
        spans.append((f"{' · ' if n else ''}{clean(short)} ", "strong"))
        if not found:
            spans.append(("not heard of yet", "muted"))
        order = sorted(found, key=lambda status: [*_STYLES, status].index(status))
        for i, status in enumerate(order):
            spans.append((f"{', ' if i else ''}{clean(status)}", _STYLES.get(status, "warn")))
            spans.append((_where(found[status], name, named, first=i == 0), "plain"))
    return tuple(spans)


def _where(parts: Parts, name: str, named: bool, *, first: bool) -> str:
    """` in 9–10 processes (4 parts)`, or with the parts' names where there is room."""
    fewest, most = min(parts.values()), max(parts.values())
    count = f"{fewest}" if fewest == most else f"{fewest}–{most}"
    unit = (" process" if count == "1" else " processes") if first else ""
    if set(parts) == {name}:
        return f" in {count}{unit}"
    if not named:
        return f" in {count}{unit} ({len(parts)} part{'s' * (len(parts) > 1)})"
    if fewest == most:
        return f" in {count}{unit} ({clean(', '.join(parts))})"
    return f" in {count}{unit} ({clean(', '.join(f'{part} {n}' for part, n in parts.items()))})"


def doctored(view: View, width: int, limit: int = 1) -> list[Row]:
    """The warnings that doctor had before the start, one row each; the last row says how many more there are."""
    said = [problem.line for problem in view.state.log.problems if problem.rule == "doctor"]
    rows: list[Row] = []
    for n, line in enumerate(said[:limit]):
        more = f" (+{len(said) - limit})" if n == limit - 1 and len(said) > limit else ""
        rows.append(((" ! ", "warn"), (cut(clean(line), width - 4 - len(more)), "plain"), (more, "muted")))
    return rows
