"""Python tracebacks in a log, line by line: what belongs to one, who wrote it, and which line is its exception.

One block is one process's traceback. Blocks of several ranks may be printed through each other, so each is kept
under its writer's key: process, pid and, for records of a logger, the source line that stands in every head.
"""

import re

from msgspec import Struct, structs

from collectors.reading.log.lines import Line
from collectors.reading.log.rules.failures import ENGINE_FILES, WHERE

TRACEBACK = "Traceback (most recent call last)"
# Printed before an un-headed traceback by asyncio, threading, logging and uvicorn: the process goes on.
_SURVIVED = (
    "Exception in ASGI application",
    "Exception ignored in",
    "Exception in thread",
    "Exception in callback",
    "exception was never retrieved",
    "--- Logging error ---",
)
_PROCESS = re.compile(r"^Process \S+:\s*$")
_FRAME = re.compile(r'^\s*(?:[|+-]+\s*)*File "(?P<file>[^"]{1,400})", line \d+, in (?P<func>\S{1,100})')
_CHAIN = re.compile(r"^(?:During handling of the above exception|The above exception was the direct cause)")
_NAME = r"(?:[A-Za-z_]\w*\.){0,12}[A-Za-z_]\w{0,80}"
_SUFFIX = r"(?:Error|Exception|Exit|Interrupt|Timeout|Refused|Died|OutOfResources|Group|Again|Warning)"
# With a traceback open above it any dotted or capitalised name will do; alone it must look like an exception.
_IN_BLOCK = re.compile(rf"^(?:{_NAME}{_SUFFIX}(?:\(\w+\))?\s*$|(?:{_NAME}\.)?[A-Z]\w*(?:\(\w+\))?:(?:\s|$)|{_NAME}\.\w+: )")
_ALONE = re.compile(rf"^{_NAME}(?:Error|Exception|OutOfResources)(?:\(\w+\))?: \S")
# Frames at the very top of a main program or of a child process: what is raised through them ends it.
_TOPS = frozenset(("<module>", "_run_module_as_main", "_bootstrap", "spawn_main"))
TAIL = 8  # lines after the exception that may belong to its message
_PATIENCE = 400  # lines of others that a block outlives: eight ranks print through each other

Key = tuple[str | None, int | None, str]


class Block(Struct, frozen=True):
    """A traceback that is being printed."""

    key: Key
    lineno: int  # of its first line
    offset: int
    t: float
    line: str
    touched: int  # lineno of its last line
    process: str | None = None
    pid: int | None = None
    source: str = ""  # the file of a headed one's records
    survived: bool = False  # its introduction says that the process goes on
    ends: bool = False  # its first frame is the top of a process
    headless: bool = True  # its beginning is not in view
    frames: int = 0
    where: str = ""  # the stretch of the start that its frames name
    junk: int = 0
    exception: Line | None = None  # found: the lines after it may belong to its message
    tail: tuple[str, ...] = ()
    fold: str = ""  # the suspect that this block added last


def key_of(line: Line) -> Key:
    return (line.process, line.pid, line.source or line.level or "")


def is_exception(msg: str, in_block: bool) -> bool:
    """Whether a line is `Name: message`, as the last line of a traceback is."""
    return (_IN_BLOCK if in_block else _ALONE).match(msg) is not None


def survives(msg: str) -> bool:
    return any(words in msg for words in _SURVIVED)


def introduces(msg: str) -> bool:
    """Whether this line stands before an un-headed traceback and says what becomes of its process."""
    return survives(msg) or _PROCESS.match(msg) is not None


def begins(line: Line, intro: str) -> Block | None:
    """The block that `line` opens, if it does: a Traceback line, or a frame whose beginning is out of view."""
    at = line.msg.find(TRACEBACK)
    if at < 0 and _FRAME.match(line.msg) is None:
        return None
    source = (line.source or "").rpartition(":")[0]
    key = key_of(line)
    if at > 0 and not source:  # SGLang: the head stands on the first line only, the rest is bare
        key = (None, None, "")
    block = Block(
        key=key, lineno=line.lineno, offset=line.offset, t=line.t, line=line.text, touched=line.lineno,
        process=line.process, pid=line.pid, source=source, survived=bool(intro) and survives(intro),
        ends=_PROCESS.match(intro) is not None, headless=at < 0,
    )  # fmt: skip
    return block if at >= 0 else _framed(block, line.msg)


def follows(block: Block, line: Line) -> Block | None:
    """`block` with one more line of its key, or None: the line is no part of it and the block is over."""
    msg = line.msg
    block = structs.replace(block, touched=line.lineno)
    if block.exception is not None:
        return _tail(block, line)
    if _FRAME.match(msg):
        return _framed(block, msg)
    if not msg or msg[0].isspace() or msg[0] in "|+" or _CHAIN.match(msg) or TRACEBACK in msg:
        return block
    if is_exception(msg, in_block=True):
        return structs.replace(block, exception=line, tail=(), junk=0)
    # A wrapped paste breaks source lines anywhere; three such lines in a row are no traceback any more.
    return structs.replace(block, junk=block.junk + 1) if block.junk < 3 and "%|" not in msg else None


def stale(block: Block, lineno: int) -> bool:
    return lineno - block.touched > _PATIENCE


def waits(block: Block) -> bool:
    return block.exception is None or len(block.tail) < TAIL


def engine_record(source: str | None, level: str | None) -> bool:
    """Whether a record is one that only a dying engine or worker prints."""
    return level in ("ERROR", "CRITICAL") and (source or "").rpartition(":")[0] in ENGINE_FILES


def _tail(block: Block, line: Line) -> Block | None:
    if _CHAIN.match(line.msg):
        return structs.replace(block, exception=None, tail=())
    if TRACEBACK in line.msg or "%|" in line.msg or "% Completed" in line.msg or len(block.tail) >= TAIL:
        return None
    return structs.replace(block, tail=(*block.tail, line.msg[:400]))


def _framed(block: Block, msg: str) -> Block:
    frame = _FRAME.match(msg)
    if frame is None:
        return block
    func = frame["func"].rstrip(",")
    where = next((stretch for name, stretch in WHERE if name in func), block.where)
    first = block.frames == 0 and not block.headless
    return structs.replace(
        block, frames=block.frames + 1, where=where, junk=0, ends=block.ends or (first and func in _TOPS)
    )
