"""A line of record.jsonl <-> events.

`{"t": 12.3, "log": [0, 512]}`: `t` and one or more facts seen at that instant, under their own names. Unknown
names are passed over, so that an older reader reads a newer record as far as it can.
"""

from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import msgspec

from collectors.reading import events as ev


class Entry(msgspec.Struct, omit_defaults=True, kw_only=True):
    """One line. The order of the fields is the order in which a line's facts are read."""

    t: float
    run: ev.RunFacts | None = None
    clock: float | None = None
    log: tuple[int, int] | None = None
    gpu: dict[int, ev.Gpu] | None = None
    gpu_error: str | None = None
    host: dict[int, ev.Proc] | None = None
    gone: tuple[int, ...] = ()
    box: ev.Box | None = None
    series: tuple[int, tuple[str, ...]] | None = None
    metrics: dict[int, float] | None = None
    metrics_gone: tuple[int, ...] = ()
    metrics_error: str | None = None
    took_ms: int | None = None
    exact: bool = False
    health: dict[str, Any] | None = None
    request: dict[str, Any] | None = None
    inbox: str = ""  # the request's file, so that a recorder killed before removing it does not repeat it
    source: tuple[str, str | None] | None = None
    broken_files: tuple[str, ...] = ()
    tick: bool = False
    reaped: dict[str, Any] | None = None
    exit: dict[str, Any] | None = None


_decoder = msgspec.json.Decoder(Entry)
_encoder = msgspec.json.Encoder()


def decode(line: bytes) -> Entry:
    """Raises msgspec.MsgspecError on a damaged line, also where the damage is within a fact."""
    try:
        entry = _decoder.decode(line)
    except RecursionError as error:
        raise msgspec.DecodeError("nested without end") from error
    for fields, kind in _kinds(entry):
        if fields is not None:
            _event(entry.t, fields, kind)
    if entry.log is not None and not 0 <= entry.log[0] <= entry.log[1]:
        raise msgspec.ValidationError("`log` is no range of bytes")
    return entry


def _kinds(entry: Entry) -> tuple[tuple[dict[str, Any] | None, type[ev.Event]], ...]:
    """The facts whose fields stand as they are in the event."""
    return (
        (entry.health, ev.Health),
        (entry.request, ev.Request),
        (entry.reaped, ev.Reaped),
        (entry.exit, ev.Exit),
    )


def encode(entry: Entry) -> bytes:
    return _encoder.encode(entry) + b"\n"


def entry_of(event: ev.AnyEvent) -> Entry:
    """The line that an event is written as; Log's bytes stay in server.log, the line holds their place."""
    t = round(event.t, 3)
    match event:
        case ev.Started(run=run):
            return Entry(t=t, run=run)
        case ev.Log(offset=offset, data=data):
            return Entry(t=t, log=(offset, offset + len(data)))
        case ev.GpuSample(gpus=gpus, error=error):
            return Entry(t=t, gpu_error=error) if error is not None else Entry(t=t, gpu=gpus)
        case ev.HostSample(procs=procs, gone=gone, box=box):
            return Entry(t=t, host=procs, gone=gone, box=box)
        case ev.Series(start=start, names=names):
            return Entry(t=t, series=(start, names))
        case ev.Metrics():
            return Entry(
                t=t,
                metrics=event.values,
                metrics_gone=event.gone,
                metrics_error=event.error,
                took_ms=event.took_ms,
                exact=event.exact,
            )
        case ev.Health():
            return Entry(t=t, health=_fields(event))
        case ev.Request():
            return Entry(t=t, request=_fields(event))
        case ev.Reaped():
            return Entry(t=t, reaped=_fields(event))
        case ev.Exit():
            return Entry(t=t, exit=_fields(event))
        case ev.Clock(wall=wall):
            return Entry(t=t, clock=wall)
        case ev.Source(source=source, error=error):
            return Entry(t=t, source=(source, error))
        case ev.BrokenFiles(files=files):
            return Entry(t=t, broken_files=files)
        case ev.Tick():
            return Entry(t=t, tick=True)


def events_of(entry: Entry, log_bytes: Callable[[int, int], bytes]) -> Iterator[ev.AnyEvent]:
    """The events of a line; `log_bytes(from, to)` fetches what the line only points to."""
    t = entry.t
    if entry.run is not None:
        yield ev.Started(t=t, run=entry.run)
    if entry.clock is not None:
        yield ev.Clock(t=t, wall=entry.clock)
    if entry.log is not None:
        yield ev.Log(t=t, offset=entry.log[0], data=log_bytes(*entry.log))
    if entry.gpu is not None:
        yield ev.GpuSample(t=t, gpus=entry.gpu)
    if entry.gpu_error is not None:
        yield ev.GpuSample(t=t, error=entry.gpu_error)
    if entry.host is not None or entry.gone or entry.box is not None:
        yield ev.HostSample(t=t, procs=entry.host or {}, gone=entry.gone, box=entry.box)
    if entry.series is not None:
        yield ev.Series(t=t, start=entry.series[0], names=entry.series[1])
    if entry.metrics is not None:
        yield ev.Metrics(
            t=t,
            values=entry.metrics,
            gone=entry.metrics_gone,
            error=entry.metrics_error,
            took_ms=entry.took_ms,
            exact=entry.exact,
        )
    if entry.health is not None:
        yield _event(t, entry.health, ev.Health)
    if entry.request is not None:
        yield _event(t, entry.request, ev.Request)
    if entry.source is not None:
        yield ev.Source(t=t, source=entry.source[0], error=entry.source[1])
    if entry.broken_files:
        yield ev.BrokenFiles(t=t, files=entry.broken_files)
    if entry.tick:
        yield ev.Tick(t=t)
    if entry.reaped is not None:
        yield _event(t, entry.reaped, ev.Reaped)
    if entry.exit is not None:
        yield _event(t, entry.exit, ev.Exit)


_E = TypeVar("_E", bound=ev.Event)


def _event(t: float, fields: dict[str, Any], kind: type[_E]) -> _E:
    return msgspec.convert({"t": t, **fields}, type=kind)


def _fields(event: ev.Event) -> dict[str, Any]:
    return {k: v for k, v in msgspec.structs.asdict(event).items() if k != "t"}
