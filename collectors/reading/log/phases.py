"""The stretches of a start, in the only order they come, and what moves the reading from one to the next."""

from msgspec import structs

from collectors.reading.log.lines import Line
from collectors.reading.log.parts import Step
from collectors.reading.log.state import LogState

ORDER = (
    "start", "config", "distributed", "weights", "post", "drafter", "compile", "profile", "kv", "graphs", "api",
    "ready", "serving", "shutdown",
)  # fmt: skip
_RANK = {name: place for place, name in enumerate(ORDER)}
PHASE = {
    "start": "starting", "config": "starting", "distributed": "starting",
    "weights": "loading", "post": "loading", "drafter": "loading",
    "compile": "compiling", "profile": "compiling", "kv": "compiling", "graphs": "capturing",
    "ready": "ready", "serving": "serving", "shutdown": "stopped",
}  # fmt: skip


def enter(state: LogState, name: str, line: Line, detail: str = "") -> LogState:
    """Begins the step `name`, unless that or a later one was met: ranks say the same things at different times.

    A drafter may be loaded late: SGLang does so after it captured the target's graphs.
    """
    now = state.steps[-1] if state.steps else None
    if now is not None:
        late_drafter = name == "drafter" and _RANK[now.name] < _RANK["ready"]
        if now.name == name or (_RANK[name] < _RANK[now.name] and not late_drafter):
            return state
    ended = () if now is None else (structs.replace(now, t1=line.t, wall1=line.wall),)
    step = Step(name, PHASE.get(name) or state.phase, line.t, wall0=line.wall, detail=detail)
    return structs.replace(state, phase=step.phase, steps=(*state.steps[:-1], *ended, step))


def stamped(state: LogState, wall: str) -> LogState:
    """Gives a step that a line without a stamp began the first stamp after it."""
    if not state.steps or state.steps[-1].wall0 is not None:
        return state
    ended = tuple(structs.replace(s, wall1=s.wall1 or wall) for s in state.steps[-2:-1])
    return structs.replace(
        state, steps=(*state.steps[:-2], *ended, structs.replace(state.steps[-1], wall0=wall))
    )


def at_least(state: LogState, name: str) -> bool:
    return bool(state.steps) and _RANK[state.steps[-1].name] >= _RANK[name]
