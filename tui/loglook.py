"""One physical line of the log -> what the screen shows of it: stamp, process, level, inert text, noise or not."""

from collectors.reading.log.lines import Line, lines
from collectors.reading.log.noise import muted_by
from collectors.reading.log.state import LogState
from collectors.redact import mask
from tui.rows import clean
from tui.view import LogLine

_LEVELS = {"ERROR": "error", "CRITICAL": "error", "WARNING": "warning"}


def look(raw: bytes, offset: int, log: LogState) -> list[LogLine]:
    """Of the frames of a progress bar that overwrote each other only the last one. `log` knows what is noise here."""
    frames = [frame for frame in raw.split(b"\r") if frame.strip()]
    if not frames:
        return []
    return [_shown(line, log) for line in lines(frames[-1], 0, offset, 0.0) if line.msg.strip()]


def _shown(line: Line, log: LogState) -> LogLine:
    return LogLine(
        offset=line.offset,
        clock=line.wall[-8:] if line.wall else "",
        process=_process(line.process),
        level=_LEVELS.get(line.level or "", ""),
        text=clean(mask(line.msg.rstrip())),
        hidden=muted_by(line, log.model, log.noise) is not None,
    )


def _process(name: str | None) -> str:
    """`Worker_TP3_EP3` is TP3, `EngineCore_DP0` is Core DP0, `APIServer` is API."""
    if name is None:
        return ""
    short = name.removeprefix("VllmWorker").removeprefix("Worker").strip("_- ").replace("rank=", "W")
    short = f"W{short}" if short.isdigit() else short
    short = short.replace("EngineCore", "Core").replace("APIServer", "API").replace("_", " ")
    return clean(short or "Worker")
