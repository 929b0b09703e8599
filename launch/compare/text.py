"""A comparison as lines for people (and as Markdown). Pure."""

from collections.abc import Callable, Iterator

from collectors.reading.verdict import Measured
from launch.bench.summary import DASH, figure, milliseconds, percent, told
from launch.compare.comparison import Cell, Comparison, Row

DEFINITIONS = (
    "speed-up: tok/s over the baseline's at the same load, ± 95 %. length: tokens a step, bonus token included",
    "= 1 + accepted/drafts. T_s/T_0: a step's time over a plain one's = the length from which speculation pays; —",
    "where other requests' prefill may stand in most of the steps (prompts longer than answers).",
)


def grid(comparison: Comparison) -> list[list[str]]:
    """Head and rows of the table; a row for each side and concurrency, the baseline's first."""
    positions = max((len(c.measured.per_position) for r in comparison.rows for c in r.cells), default=0)
    head = ["", "load", "tok/s", "speed-up", "acceptance", "length", "step", "T_s/T_0", "pays from"]
    rows = [head + [f"pos {i}" for i in range(positions)]]
    for row in comparison.rows:
        rows.append(_cells(comparison.baseline, row.baseline, None, positions))
        rows += [_cells(cell.side, cell.measured, cell, positions) for cell in row.cells]
    return rows


def _cells(name: str, it: Measured, cell: Cell | None, positions: int) -> list[str]:
    gained = cell.gain if cell else None
    even = gained.break_even_rate if gained else None
    return [
        name,
        it.name.removeprefix("c") if it.concurrency else DASH,
        figure(it.tok_s, "{:.1f}"),
        _speedup(cell),
        percent(it.rate),
        figure(it.length, "{:.2f}"),
        milliseconds(it.step_s),
        figure(gained.step_ratio if gained else None, "{:.3f}"),
        percent(even),
        *[percent(it.per_position[i]) if i < len(it.per_position) else DASH for i in range(positions)],
    ]


def _speedup(cell: Cell | None) -> str:
    if cell is None:
        return "1"
    if cell.gain is None or cell.gain.speedup is None:
        return DASH
    ends = cell.gain.speedup_ci
    return f"{cell.gain.speedup:.2f}×" + (f" ±{(ends[1] - ends[0]) / 2:.2f}" if ends else "")


def lines(comparison: Comparison) -> Iterator[str]:
    table = grid(comparison)
    widths = [max(len(row[i]) for row in table) for i in range(len(table[0]))]
    align: list[Callable[[str, int], str]] = [str.ljust, *[str.rjust] * (len(widths) - 1)]
    for row in table:
        yield "  ".join(a(text, w) for a, text, w in zip(align, row, widths, strict=True)).rstrip()
    yield ""
    for row_ in comparison.rows:
        yield from _verdicts(row_)
    yield from _varied(comparison)
    yield from _differences(comparison)
    yield from (f"! {warning}" for warning in comparison.warnings)
    yield from ("", *DEFINITIONS)


def _verdicts(row: Row) -> Iterator[str]:
    for cell in row.cells:
        if cell.verdict is not None:
            yield from told(cell.verdict, f"{cell.side}: ")


def _varied(comparison: Comparison) -> Iterator[str]:
    for side, said in comparison.varied.items():
        for verdict in said:
            yield from told(verdict, f"{side}: ")


def _differences(comparison: Comparison) -> Iterator[str]:
    for contrast in comparison.contrasts:
        for d in contrast.differences or ():
            yield f"· {contrast.side}: {d.what}: {d.a or DASH} -> {d.b or DASH}"


def markdown(comparison: Comparison) -> str:
    table = [[text.replace("|", "\\|") for text in row] for row in grid(comparison)]
    head, *rows = table
    body = ["| " + " | ".join(head) + " |", "|" + " --- |" * len(head)]
    body += ["| " + " | ".join(row) + " |" for row in rows]
    said = [f"* {line.strip()}" for row in comparison.rows for line in _verdicts(row)]
    said += [f"* {line.strip()}" for line in _varied(comparison)]
    said += [f"* {line}" for line in _differences(comparison)] + [f"* {w}" for w in comparison.warnings]
    return (
        "\n".join(
            [
                f"# {comparison.baseline} against {', '.join(comparison.sides)}",
                "",
                *body,
                "",
                *said,
                "",
                *DEFINITIONS,
            ]
        )
        + "\n"
    )
