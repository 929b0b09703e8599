"""What speculation does: acceptance rate with its sample, mean acceptance length, and each position."""

from collectors.reading import serving
from collectors.reading.acceptance import Figures
from collectors.reading.log.state import Spec
from collectors.reading.serving import Benchmark
from tui import format as fmt
from tui import versus
from tui.chosen import Chosen, chosen, running, short
from tui.rows import Row, Span, bar, fit, left, right
from tui.view import View

FEW = 300  # drafted tokens: below this one standard error of the rate is more than about 3 points
SIDE = 30  # cells of the table of windows at the right


def acceptance(view: View, width: int, limit: int = 8) -> list[Row]:
    """Rate, length, positions; beside them the windows that were measured before, where there is room."""
    side = windows(view, limit) if width >= 78 else []
    room = width - SIDE if side else width
    found = chosen(view)
    rows = _figures(view, found, room, limit) if found is not None else _without(view, room)
    height = max(len(rows), len(side))
    rows += [()] * (height - len(rows))
    if not side:
        return rows
    side += [()] * (height - len(side))
    return [(*fit(line, room), *end) for line, end in zip(rows, side, strict=True)]


def _without(view: View, width: int) -> list[Row]:
    """No counters yet or none at all: then what the log printed."""
    spec = view.state.log.spec
    if spec is not None:
        return _from_log(spec, width)
    if not view.state.log.ready and not view.ended:
        return [((" no figures yet: the server is not ready", "muted"),)]
    if view.state.serving.page_t is None:
        return [((" no figures: /metrics has not been read and the log prints none", "muted"),)]
    return [((" idle: no request has run yet", "muted"),)]


def _from_log(spec: Spec, width: int) -> list[Row]:
    sample = f"of {fmt.count(spec.drafted)} drafted · " if spec.drafted is not None else ""
    rows: list[Row] = [
        ((" acceptance  ", "muted"), (right(fmt.percent(spec.rate), 8), "strong"),
         (f"   {sample}as the log printed last", "muted")),
        ((" mean length ", "muted"), (right(_length(spec.mean_length), 8), "strong"),
         ("   bonus token included", "muted")),
    ]  # fmt: skip
    return rows + positions(spec.per_position, None, width, 8)


def _figures(view: View, found: Chosen, width: int, limit: int) -> list[Row]:
    figures = found.figures
    if serving.speculates(view.state.serving) is False:
        return [(("  no speculation: this server drafts nothing", "muted"),), _words(found, width)]
    few = 0 < (figures.draft_tokens or 0) < FEW
    head: list[Row] = [
        (
            (" acceptance  ", "muted"),
            (right(fmt.percent(figures.acceptance_rate), 8), "strong"),
            (
                f"   of {fmt.count(figures.draft_tokens)} drafted"
                if figures.draft_tokens
                else "   nothing drafted yet",
                "muted",
            ),
            (" (few)" if few else "", "warn"),
        ),
        ((" mean length ", "muted"), (right(_length(figures.mean_length), 8), "strong"), *_most(figures)),
    ]
    if running(view.state.serving) is None or view.ended:  # the benchmark's own bar says which window it is
        head.append(((f" {found.words}", "muted"),))
    return head[:2] + positions(figures.per_position, figures.conditional, width, limit - 3) + head[2:]


def _words(found: Chosen, width: int) -> Row:
    return fit(((f"  {found.words}", "muted"),), width)


def _length(value: float | None) -> str:
    return fmt.DASH if value is None else f"{value:.2f}"


def _most(figures: Figures) -> tuple[Span, ...]:
    most = (
        round(figures.draft_tokens / figures.drafts) + 1 if figures.draft_tokens and figures.drafts else None
    )
    at_most = f"   of {most}, bonus token included" if most else "   bonus token included"
    return ((at_most, "muted"),)


def positions(
    rates: tuple[float, ...] | None,
    conditional: tuple[float | None, ...] | None,
    width: int,
    limit: int,
) -> list[Row]:
    """A bar each, in more columns when there are more positions than rows; they count from 0, as vLLM's."""
    if not rates or limit < 1:
        return []
    columns = max(1, -(-len(rates) // limit))
    height = -(-len(rates) // columns)
    cell = width // columns
    given = columns == 1 and width >= 46 and conditional is not None
    cells = [
        _position(i, rate, conditional[i] if given and conditional else None, cell, given and i > 0)
        for i, rate in enumerate(rates)
    ]
    return [tuple(span for part in cells[y::height] for span in part) for y in range(height)]


def _position(index: int, rate: float, given: float | None, cell: int, said: bool) -> list[Span]:
    head = f" pos {index:<2}"
    tail = right(fmt.percent(rate), 8)
    after = f" · {fmt.percent(given)} if {index - 1} was" if said else ""
    space = 17 if cell >= 46 else 0
    return [
        (head, "muted"),
        *bar(rate, max(3, cell - len(head) - len(tail) - space - 1), "accepted"),
        (tail, "plain"),
        (left(after, space + 1), "muted"),
    ]


def windows(view: View, limit: int) -> list[Row]:
    """The benchmarks that ended, newest last: tok/s, acceptance, and the speed-up over a baseline, else the length."""
    state = view.state.serving
    ended = [b for b in state.benchmarks if b.end_t is not None][-(limit - 1) :]
    if not ended:
        return []
    last = "×base" if any(versus.cell(view.versus, bench) for bench in ended) else "len"
    rows: list[Row] = [
        (
            (" │ ", "faint"),
            (left("bench", 6) + right("tok/s", 6) + right("accept", 8) + right(last, 6), "muted"),
        )
    ]
    for bench in ended:
        found = serving.benchmark(state, bench.id)
        tok_s = fmt.number(_tok_s(bench, found))
        rate = fmt.percent(found.acceptance_rate) if found else fmt.DASH
        beside = versus.cell(view.versus, bench)
        if last == "len":
            end: Span = (right(_length(found.mean_length if found else None), 6), "plain")
        else:
            end = _gain(beside.gain.speedup if beside is not None and beside.gain is not None else None)
        rows.append(
            (
                (" │ ", "faint"),
                (left(short(bench.label, 6), 6), "plain"),
                (right(tok_s, 6), "strong"),
                (right(rate, 8), "plain"),
                end,
            )
        )
    return rows


def _tok_s(bench: Benchmark, found: Figures | None) -> float | None:
    """The benchmark's own figure, by its client's clock, as `bench` and `compare` print it; else the counters'."""
    own = bench.result.get("tok_s")
    if isinstance(own, int | float) and not isinstance(own, bool):
        return float(own)
    return found.tok_s if found is not None else None


def _gain(speedup: float | None) -> Span:
    if speedup is None:
        return right(fmt.DASH, 6), "muted"
    return right(f"{speedup:.2f}×", 6), "good" if speedup > 1 else "bad"
