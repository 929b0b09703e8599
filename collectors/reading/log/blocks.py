"""Python tracebacks in a log, line by line: what belongs to one, who wrote it, which line is its exception.

One block is one process's traceback. Those of several ranks may be printed through each other, so each is
kept under its writer's key: process, pid and, for records of a logger, the source line in every head.
"""

import re

from msgspec import Struct, structs

from collectors.reading.log.lines import BAR_MARKS, Line
from collectors.reading.log.rules.story import CLIENTS_FAULT, DETAIL, ECHO, ENGINE_FILES, WHERE

TRACEBACK = "Traceback (most recent call last)"
# Printed before a traceback by uvicorn, asyncio, threading, logging and vLLM's core: the process goes on.
_SURVIVED = (
    "Invocation of ",
    "Exception in ASGI application",
    "Exception ignored in",
    "Exception in thread",
    "Exception in callback",
    "exception was never retrieved",
    "--- Logging error ---",
)
_SILENT = ("Exception ignored in", "--- Logging error ---")
_FRAME = re.compile(r'\s*File ["“][^"”]{1,400}["”], line \d+, in (?P<func>\S{1,100})')
_FOREIGN = 160  # characters before a traceback's line that some wrapper may put in front of each
_NUMBER = re.compile(r"\d+")
_PLACE = re.compile(
    r"(?:ERROR|CRITICAL) .{0,60}?(?P<file>\w{1,80}\.py):\d+\]"
)  # in a head that is read no further
_GROUP = re.compile(r"^\s*(?:\| |\+-)[-+| ]*")  # an ExceptionGroup draws its parts as a tree
_CHAIN = re.compile(r"^(?:During handling of the above exception|The above exception was the direct cause)")
_NAME = r"(?:[A-Za-z_]\w{0,80}\.){0,12}[A-Za-z_]\w{0,80}"
_SUFFIX = r"(?:Error|Exception|Exit|Interrupt|Timeout|Refused|Died|OutOfResources|Group|Again)"
# With a traceback open above it any dotted or capitalised name will do; alone it must say Error.
_IN_BLOCK = re.compile(
    rf"^(?:{_NAME}{_SUFFIX}(?:\(\w+\))?\s*$"
    rf"|(?:{_NAME}\.)?[A-Z]\w{{0,80}}(?:\(\w+\))?:(?:\s|$)|{_NAME}\.\w+: )"
)
_ALONE = re.compile(rf"^{_NAME}(?:Error|Exception|OutOfResources)(?:\(\w+\))?: \S")
# First frames of a main program and of a child process: what is raised through them ends that process.
_TOPS = {"<module>": "main", "_run_module_as_main": "main", "_bootstrap": "child", "spawn_main": "child"}
# Functions of vLLM's own that stand so near to the top that nothing above them goes on: pastes begin below the top.
_NEAR_TOPS = {
    "run_server": "main",
    "run_server_worker": "main",
    "build_async_engine_client": "main",
    "build_async_engine_client_from_engine_args": "main",
    "create_engine_config": "main",
    "run_mp_engine": "child",
    "run_engine_core": "child",
    "worker_main": "child",
}
_TAIL = 8  # lines after the exception that may belong to its message
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
    source: str = ""  # the file that logged it; "" for one written straight to stderr
    survived: str = ""  # the words before it that say that the process goes on
    ends: str = ""  # "main", "child": its first frame is the top of such a process
    headless: bool = False  # its beginning is not in view
    frames: int = 0
    where: str = ""  # the stretch of the start that its frames name
    junk: int = 0
    code: str = ""  # the last source line: the only words of a bare AssertionError
    exception: Line | None = None  # found: the lines after it may belong to its message
    tail: tuple[str, ...] = ()
    fold: str = ""  # the suspect that this block named last
    prefix: str = ""  # a pattern: what a wrapper that nobody knows puts before each line


def key_of(line: Line) -> Key:
    return (line.process, line.pid, line.source or "")


def is_exception(msg: str, in_block: bool) -> bool:
    """Whether a line is `Name: message`, as the last line of a traceback is."""
    return (_IN_BLOCK if in_block else _ALONE).match(msg) is not None


def survives(msg: str) -> str:
    """The words of `msg` after which a traceback is no end; "" when it has none."""
    return next((words for words in _SURVIVED if words in msg), "")


def shrugs(block: Block, exception: str) -> bool:
    """Whether what a process survived is nothing to tell: a client's mistake, or the interpreter's own end."""
    return (
        block.survived in _SILENT
        or CLIENTS_FAULT.search(exception) is not None
        or ECHO.search(exception) is not None
    )


def begins(line: Line, intro: str) -> Block | None:
    """The block that `line` opens, if any: a Traceback line, or a frame whose beginning is out of view."""
    at = line.msg.find(TRACEBACK)
    frame = max(0, line.msg.find('  File "', 0, _FOREIGN)) if not line.head else 0
    if at < 0 and _FRAME.match(line.msg, frame) is None:
        return None
    block = structs.replace(opened(line), survived=survives(intro), headless=at < 0)
    if at > 0 and line.wall and not block.source:  # SGLang: the first line only has a head, the rest is bare
        block = structs.replace(block, key=(None, None, ""))
    elif not line.head and 0 < max(at, frame) <= _FOREIGN:
        before = line.msg[: at if at > 0 else frame]
        place = _PLACE.search(before)
        block = structs.replace(block, prefix=_pattern(before), source=place["file"] if place else "")
    return block if at >= 0 else _framed(block, line.msg[frame:])


def bare(block: Block, line: Line) -> Line:
    """`line` without what its wrapper put in front of it, as it did before the block's first line."""
    if not block.prefix or line.head:
        return line
    prefix = re.match(block.prefix, line.msg)
    return line if prefix is None else structs.replace(line, msg=line.msg[prefix.end() :])


def _pattern(before: str) -> str:
    """What matches `before` with other numbers in it."""
    words = before.lstrip(" ")
    pattern = r"\d+".join(re.escape(part) for part in _NUMBER.split(words))
    return " {0,12}" + pattern if words != before and words else re.escape(before) if not words else pattern


def opened(line: Line, exception: Line | None = None) -> Block:
    """A block that begins with `line`, or is nothing but an exception."""
    return Block(
        key=key_of(line),
        lineno=line.lineno,
        offset=line.offset,
        t=line.t,
        line=line.text,
        touched=line.lineno,
        process=line.process,
        pid=line.pid,
        source=_file(line),
        exception=exception,
    )


def follows(block: Block, line: Line) -> Block | None:
    """`block` with one more line of its writer, or None: the line is no part of it and the block is over."""
    msg = _GROUP.sub("", line.msg)
    if not block.source and (line.level or line.wall):
        return None  # a record of uvicorn or SGLang
    block = structs.replace(block, touched=line.lineno)
    if block.exception is not None:
        return _tail(block, msg)
    if _FRAME.match(msg):
        return _framed(block, msg)
    if not msg or msg[0].isspace() or _CHAIN.match(msg) or TRACEBACK in msg:
        code = msg.strip()
        return structs.replace(block, code=code[:200]) if code[:1].isalpha() else block
    if is_exception(msg, in_block=True):
        return structs.replace(block, exception=line, tail=(), junk=0)
    # A wrapped paste breaks source lines anywhere; three such lines in a row are no traceback any more.
    if block.junk >= 3 or _bar(msg):
        return None
    return structs.replace(block, junk=block.junk + 1, code=msg[:200] if msg[0].isalpha() else block.code)


def wraps(block: Block, line: Line) -> bool:
    """Whether `line` continues the exception's because a paste broke it at its width, not its author."""
    first = block.exception
    if first is None or is_exception(block.tail[0], in_block=True) or block.tail[0].startswith(DETAIL):
        return False
    if first.process or first.source:
        return line.process is None and line.source is None
    return len(first.text) >= 60 and first.text[-1] not in ".:;!)"


def stale(block: Block, lineno: int) -> bool:
    return lineno - block.touched > _PATIENCE


def waits(block: Block) -> bool:
    return block.exception is None or len(block.tail) < _TAIL


def engine_record(line: Line) -> bool:
    """Whether a record is one that only a dying engine or worker prints."""
    if not line.head and (place := _PLACE.search(line.msg, 0, _FOREIGN)):
        return place["file"] in ENGINE_FILES
    return line.level in ("ERROR", "CRITICAL") and _file(line) in ENGINE_FILES


def _file(line: Line) -> str:
    """The file that logged a record: at level DEBUG with its folders, in JSON the module ("vllm.v1.engine.core")."""
    place = (line.source or "").rpartition(":")[0].rpartition("/")[2]
    return place if not place or place.endswith(".py") else place.rpartition(".")[2] + ".py"


def _tail(block: Block, msg: str) -> Block | None:
    if _CHAIN.match(msg):
        return structs.replace(block, exception=None, tail=())
    if block.exception is not None and "ray::" in block.exception.msg and _FRAME.match(msg):
        return _framed(structs.replace(block, exception=None, tail=()), msg)  # the way of the remote worker
    if TRACEBACK in msg or _bar(msg) or len(block.tail) >= _TAIL:
        return None
    return structs.replace(block, tail=(*block.tail, msg[:400]))


def _bar(msg: str) -> bool:
    return any(mark in msg for mark in BAR_MARKS)


def _framed(block: Block, msg: str) -> Block:
    frame = _FRAME.match(msg)
    if frame is None:
        return block
    func = frame["func"].rstrip(",")
    where = next((stretch for name, stretch in WHERE if name in func), block.where)
    top = _TOPS.get(func, "") if block.frames == 0 and not block.headless else ""
    ends = block.ends or top or _NEAR_TOPS.get(func, "")
    return structs.replace(block, frames=block.frames + 1, where=where, junk=0, ends=ends)
