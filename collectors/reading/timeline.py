"""The steps of a run in time: from when to when, by the run's own clock, or by what a saved log printed."""

from collections.abc import Iterator
from typing import Any, NamedTuple

from collectors.reading import stamps
from collectors.reading.log.parts import Step
from collectors.reading.state import State


class Span(NamedTuple):
    """A step with its times; `t1` None: it is the running one."""

    step: Step
    t0: float
    t1: float | None


def spans(state: State) -> Iterator[Span]:
    """What we launched begins with the silence before its first line (6-19 s on the recordings): the start's own."""
    for place, step in enumerate(state.log.steps):
        ours = place == 0 and state.wall0 is not None and not state.run.foreign
        yield Span(step, 0.0 if ours else step.t0, step.t1)


def timeline(state: State, year: int | None = None) -> list[dict[str, Any]]:
    """The rows of the public reading. A run that was watched has its own clock; a saved log has what it printed."""
    watched = state.wall0 is not None
    rows = []
    for step, t0, t1 in spans(state):
        if watched:
            begun = stamps.iso((state.wall0 or 0.0) + t0)
            took: float | None = (state.t if t1 is None else t1) - t0
        else:
            begun = stamps.printed(step.wall0, year) or ""
            took = stamps.between(step.wall0, step.wall1 if t1 is not None else state.log.stamp)
        rows.append({"phase": step.phase, "step": step.name, "started_at": begun or None, "clock": step.wall0,
                     "seconds": None if took is None else round(took, 1), "detail": step.detail})  # fmt: skip
    return rows
