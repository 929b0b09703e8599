"""How the server does: step time, time to first token, KV cache, queue; and how far a benchmark is."""

from collectors.reading import serving
from tui import format as fmt
from tui.chosen import chosen, running, short
from tui.rows import Row, Span, line_bar
from tui.view import View


def server(view: View, width: int) -> list[Row]:
    """One row of figures; those that do not fit are left out, the most telling ones stand first."""
    state = view.state
    found = chosen(view)
    figures = found.figures if found else None
    kv = serving.gauge(state.serving, "kv_used")
    runs, waits = (serving.gauge(state.serving, name) for name in ("running", "waiting"))
    facts = [
        ("tok/s", fmt.number(figures.tok_s if figures else state.log.gen_tok_s)),
        ("step", fmt.milliseconds(figures.step_s if figures else None)),
        ("TTFT", fmt.milliseconds(figures.ttft_mean_s if figures else None)),
        ("KV", fmt.percent(kv, 0)),
        ("running", fmt.number(runs if runs is not None else state.log.running)),
        ("waiting", fmt.number(waits if waits is not None else state.log.waiting)),
        ("finished", fmt.count(figures.requests_finished if figures else None)),
    ]
    spans: list[Span] = [(" ", "plain")]
    room = width - 2
    for name, value in facts:
        size = len(name) + len(value) + 3
        if size > room:
            break
        room -= size
        spans += [(f"{name} ", "muted"), (value, "strong"), ("  ", "plain")]
    return [tuple(spans)]


def progress(view: View, width: int) -> list[Row]:
    """The running benchmark's bar; no row when none runs."""
    bench = running(view.state.serving)
    if bench is None or view.ended:
        return []
    done, total = (_number(bench.progress.get(name)) for name in ("done", "total"))
    if total is None:
        total = _number(bench.plan.get("total"))
    spent = fmt.duration(view.t - bench.t)
    left_s = _number(bench.progress.get("left_s"))
    fraction = done / total if done is not None and total else None
    if fraction is None:
        return [((f" bench {short(bench.label)}", "accent"), (f"  for {spent}", "muted"))]
    head = f" bench {short(bench.label)}  {fmt.count(done)}/{fmt.count(total)} "
    tail = f" {spent}" + (f", ~{fmt.about(left_s)} left " if left_s is not None else " ")
    return [((head, "accent"), *line_bar(fraction, max(4, width - len(head) - len(tail))), (tail, "muted"))]


def _number(value: object) -> float | None:
    """Whatever a front end put into its request: only a number counts."""
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None
