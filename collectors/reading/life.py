"""Whether the server lives, answers, was asked to stop: what is known from outside its log."""

from msgspec import Struct, structs

from collectors.reading.events import BrokenFiles, Exit, Health, Metrics, Reaped, Request, Series, Source


class LifeState(Struct, frozen=True):
    health: int | None = None
    health_t: float | None = None
    first_healthy_t: float | None = None  # /health was 200, whoever answered
    owner: str = "unknown"  # whose socket answers: "same", "other", "unknown"
    owner_pid: int | None = None
    metrics_error: str | None = None
    stop_asked_t: float | None = None
    stop_asked_by: str | None = None
    reaped: Reaped | None = None  # the server's own process is gone, perhaps not yet all of its tree
    exit: Exit | None = None
    sources: dict[str, str] = {}  # source -> its trouble, only while it has one
    broken_files: tuple[str, ...] = ()
    notes: tuple[tuple[float, str], ...] = ()  # newest 50


def read(
    state: LifeState, event: Health | Source | BrokenFiles | Reaped | Exit | Metrics | Series | Request
) -> LifeState:
    match event:
        case Health():
            healthy = event.status == 200 and state.first_healthy_t is None
            return structs.replace(
                state,
                health=event.status,
                health_t=event.t,
                first_healthy_t=event.t if healthy else state.first_healthy_t,
                owner=event.owner,
                owner_pid=event.owner_pid,
            )
        case Source():
            sources = {k: v for k, v in state.sources.items() if k != event.source}
            if event.error is not None:
                sources[event.source] = event.error
            return structs.replace(state, sources=sources)
        case BrokenFiles(files=files):
            return structs.replace(state, broken_files=files)
        case Reaped():
            return structs.replace(state, reaped=event)
        case Exit():
            return structs.replace(state, exit=event)
        case Metrics():
            if event.error == state.metrics_error:
                return state
            return structs.replace(state, metrics_error=event.error)
        case Request(kind="stop"):
            return structs.replace(state, stop_asked_t=event.t, stop_asked_by=event.label or None)
        case Request(kind="note"):
            return structs.replace(state, notes=(*state.notes, (event.t, event.label))[-50:])
        case _:
            return state
