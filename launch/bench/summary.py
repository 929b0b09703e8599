"""A result as lines for people. Pure: the demo's closing summary and the screen use the same ones."""

from collections.abc import Callable, Iterator, Sequence

from collectors.reading.acceptance import Figures
from collectors.reading.verdict import Verdict
from launch.bench.result import Level, OwnResult, Result, Spread, loads_of

DASH = "—"
ABREAST = 4  # loads beside each other; more stand below
BUILT_IN = (
    "tok/s: generated tokens by the client's clock, ± 95 % by bootstrap over requests. step: mean time",
    "between chunks, one engine step's tokens each. From the server's counters: acceptance = accepted of",
    "drafted tokens, ± 95 % binomial, too narrow since tokens of a draft depend on each other; length = tokens",
    "a step with the bonus token = 1 + accepted/drafts = 1 + sum of positions (counted from 0).",
)
COMMAND = (
    "server's counters: from before the command to after it; tok/s over the time in which requests ran, known to",
    "± the time between two readings. Beside them the command's own figures, over its own window. acceptance =",
    "accepted of drafted tokens; length = tokens a step with the bonus token = 1 + accepted/drafts = 1 + sum of",
    "positions (counted from 0).",
)


def lines(result: Result) -> list[str]:
    """Title, table, notes, definitions."""
    head = [_title(result), ""]
    definitions = COMMAND if result.kind == "command" else BUILT_IN
    if result.kind == "command":
        body = _command(result)
    else:
        loads = zip(result.levels, loads_of(result), strict=True)
        columns = [_column(level, load.name, _long(result)) for level, load in loads]
        body = []
        for first in range(0, len(columns), ABREAST):
            body += [*([""] if body else []), *_table([_labels(result), *columns[first : first + ABREAST]])]
    said = [line for verdict in result.verdicts for line in told(verdict)]
    tail = [*said, *(f"note: {note}" for note in result.notes)]
    return [*head, *body, *([""] if tail else []), *tail, "", *definitions]


_SIGN = {"good": "✓", "bad": "✗", "unsure": "~", "unknown": "?"}


def told(verdict: Verdict, whose: str = "") -> Iterator[str]:
    """A verdict, its evidence, and what to do next."""
    yield f"{_SIGN[verdict.tone]} {whose}{verdict.sentence}"
    yield from (f"    {evidence}" for evidence in verdict.evidence)
    if verdict.next:
        yield f"    try: {verdict.next}"


def _title(result: Result) -> str:
    what = (
        " ".join(result.command) if result.command else f"{result.api} requests, {result.max_tokens} tokens"
    )
    parts = [f"bench {result.id}", result.model or result.url, what]
    return " · ".join(parts) + (" · PARTIAL" if result.partial else "")


def _positions(result: Result) -> int:
    counted = [*(level.counters for level in result.levels), result.counters, result.own]
    return max((len(c.per_position) for c in counted if c is not None and c.per_position), default=0)


def _labels(result: Result) -> list[str]:
    rows = [
        "load",
        *(["prompt tokens"] if _long(result) else []),
        "requests",
        "tok/s",
        "time to first token",
        "step",
        "acceptance",
        "length",
        "drafts",
    ]
    return rows + [f"position {n}" for n in range(_positions(result))]


def _long(result: Result) -> bool:
    return any(level.context for level in result.levels)


def _column(level: Level, name: str, long: bool) -> list[str]:
    limited = level.generator is not None and level.generator.limited
    failed = f" ({level.failed} failed)" if level.failed else ""
    rate = "≥ " * limited + figure(level.tok_s, "{:.1f}") + _interval(level)
    return [
        name,
        *([figure(level.prompt_tokens, "{:,.0f}")] if long else []),
        f"{level.completed}{failed}",
        rate,
        _ms(level.ttft),
        _ms(level.step),
        *_acceptance(level),
    ]


def _acceptance(level: Level) -> list[str]:
    rate, *rest = speculation(level.counters)
    ends = level.acceptance_ci95
    return [rate + (f" ± {(ends[1] - ends[0]) / 2 * 100:.1f}" if ends else ""), *rest]


def speculation(counted: Figures | None) -> list[str]:
    """acceptance, length, drafts, then one cell for each position."""
    if counted is None:
        return [DASH] * 3
    cells = [
        percent(counted.acceptance_rate),
        figure(counted.mean_length, "{:.2f}"),
        figure(counted.drafts, "{:,}"),
    ]
    return cells + [percent(share) for share in counted.per_position or ()]


def _command(result: Result) -> list[str]:
    counted, own = result.counters, result.own
    rows = [
        "",
        "tok/s",
        "measured over",
        "requests",
        "time to first token",
        "step",
        "acceptance",
        "length",
        "drafts",
    ]
    ours = [
        "server's counters",
        *([DASH] * 5 if counted is None else _counted(counted)),
        *speculation(counted),
    ]
    columns = [rows + [f"position {n}" for n in range(_positions(result))], ours]
    if own is not None:
        columns.append(_own(own))
    return _table(columns)


def _counted(counted: Figures) -> list[str]:
    return [
        figure(counted.tok_s, "{:.1f}"),
        f"{counted.active_s:.1f} s busy (± {counted.resolution_s or 0:.1f} s)",
        figure(counted.requests_finished, "{}"),
        milliseconds(counted.ttft_mean_s),
        milliseconds(counted.step_s),
    ]


def _own(own: OwnResult) -> list[str]:
    return [
        own.kind,
        figure(own.tok_s, "{:.1f}"),
        figure(own.seconds, "{:.1f} s"),
        figure(own.completed, "{}"),
        milliseconds(own.mean_ttft_s),
        milliseconds(own.mean_step_s),
        percent(own.acceptance_rate),
        figure(own.mean_length, "{:.2f}"),
        figure(own.drafts, "{:,}"),
        *[percent(share) for share in own.per_position or ()],
    ]


def _table(columns: Sequence[Sequence[str]]) -> list[str]:
    height = max(len(column) for column in columns)
    filled = [[*column, *[DASH] * (height - len(column))] for column in columns]
    widths = [max(map(len, column)) for column in filled]
    aligned: list[Callable[[str, int], str]] = [str.ljust, *[str.rjust] * (len(filled) - 1)]
    placed = list(zip(aligned, filled, widths, strict=True))
    return [
        "  ".join(align(cells[row], width) for align, cells, width in placed).rstrip()
        for row in range(height)
    ]


def _interval(level: Level) -> str:
    if level.tok_s_ci95 is None:
        return ""
    low, high = level.tok_s_ci95
    return f" ± {(high - low) / 2:.1f}"


def _ms(times: Spread | None) -> str:
    return milliseconds(times.mean if times else None)


def milliseconds(seconds: float | None) -> str:
    if seconds is None:
        return DASH
    return f"{seconds * 1000:.2f} ms" if seconds < 0.1 else f"{seconds * 1000:.0f} ms"


def percent(share: float | None) -> str:
    return DASH if share is None else f"{share * 100:.1f} %"


def figure(value: float | None, form: str) -> str:
    return DASH if value is None else form.format(value)
