"""The demo's closing summary: the load, the figures of both servers side by side, what speculation bought."""

from collections.abc import Callable, Iterator
from textwrap import wrap

from msgspec import structs

from collectors.reading.acceptance import Figures
from collectors.reading.state import State
from collectors.reading.timeline import spans
from collectors.reading.verdict import Gain, Measured, gain, verdict
from launch.bench.measured import measured
from launch.bench.result import Level, Result
from launch.bench.summary import told
from launch.demo.serve import K
from launch.figures import DASH, duration, percent

LABEL, COLUMN = 24, 18

Cell = Callable[[Level, Figures], str]


def lines(state: State, found: Result, base: Result | None) -> Iterator[str]:
    """`state` of the run with the drafter; `found` and `base`: the same benchmark with and without it."""
    yield from load(state)
    yield ""
    yield row("", [f"{level.concurrency} at a time" for level in found.levels])
    yield row("tok/s", [_number(level.tok_s, "{:.1f}") for level in found.levels])
    judged = _judged(found, base) if base is not None else []
    if base is not None:
        yield row("  without drafter", [_number(other.tok_s, "{:.1f}") for _, other, _ in judged])
        yield row("  speed-up", [_speed_up(won) for _, _, won in judged])
    for label, cell in ROWS:
        yield row(label, [cell(level, level.counters) if level.counters else DASH for level in found.levels])
    yield ""
    for it, other, _ in judged:
        for line in told(structs.replace(verdict(it, other), evidence=())):  # the table above is the evidence
            yield from wrap(line, 80, subsequent_indent="  ")
    yield f"mean length: accepted draft tokens a step and the target's own one; {K + 1} at most."
    yield "position i: share of the drafts whose token i was accepted, counted from 0."
    yield from (f"note: {note}" for note in found.notes)
    yield "A tiny made-up model on a CPU shows what is measured, not what a GPU gains."


def load(state: State) -> Iterator[str]:
    """The phases of the start with their durations, and when it was ready."""
    yield f"ready after {duration(ready_after(state))}"
    for step, t0, t1 in spans(state):
        if step.name in ("ready", "serving", "shutdown"):
            break
        took = None if t1 is None else t1 - t0
        yield row(f"  {step.name}", [_number(took, "{:.1f} s")])


def ready_after(state: State) -> float | None:
    return state.log.ready_t if state.log.ready_t is not None else state.life.first_healthy_t


def _judged(found: Result, base: Result) -> list[tuple[Measured, Measured, Gain]]:
    """Each load with the same one without the drafter; one that was not measured there has no figures."""
    plain = {(it.concurrency, it.temperature, it.context): it for it in measured(base)}
    pairs = [
        (it, plain.get((it.concurrency, it.temperature, it.context), Measured())) for it in measured(found)
    ]
    return [(it, other, gain(it, other)) for it, other in pairs]


def _speed_up(won: Gain) -> str:
    if won.speedup is None:
        return DASH
    ends = won.speedup_ci
    return f"{won.speedup:.2f}×" + (f" ±{(ends[1] - ends[0]) / 2:.2f}" if ends else "")


def row(label: str, cells: list[str]) -> str:
    return (label.ljust(LABEL) + "".join(cell.rjust(COLUMN) for cell in cells)).rstrip()


def _number(value: float | None, form: str) -> str:
    return DASH if value is None else form.format(value)


def _ms(seconds: float | None) -> str:
    return DASH if seconds is None else f"{seconds * 1000:.1f} ms"


def _sample(_: Level, figures: Figures) -> str:
    return DASH if figures.draft_tokens is None else f"of {figures.draft_tokens:,} drafted"


def _position(i: int) -> Cell:
    def cell(_: Level, figures: Figures) -> str:
        positions = figures.per_position
        return percent(positions[i]) if positions and i < len(positions) else DASH

    return cell


ROWS: tuple[tuple[str, Cell], ...] = (
    ("acceptance rate", lambda _, figures: percent(figures.acceptance_rate)),
    ("", _sample),
    *((f"  position {i}", _position(i)) for i in range(K)),
    ("mean length", lambda _, figures: _number(figures.mean_length, "{:.2f}")),
    ("step time", lambda _, figures: _ms(figures.step_s)),
    ("time to first token", lambda level, _: _ms(level.ttft.mean if level.ttft else None)),
    ("requests failed", lambda level, _: f"{level.failed} of {level.planned}"),
)
