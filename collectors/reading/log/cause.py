"""Which one line of a log names why the server died.

Every exception is a suspect; the cause is the suspect whose rule says most about what to do, then the one of the
deepest process, then the first. Echoes ("See root cause above") prove that it failed and never are the cause.
"""

import re

from msgspec import Struct, structs

from collectors.reading import events
from collectors.reading.log import blocks
from collectors.reading.log.blocks import Block, Key
from collectors.reading.log.lines import Line
from collectors.reading.log.rules.failure import DEATH, GENERIC, SYMPTOM, Found
from collectors.reading.log.rules.failures import DETAIL, ECHO, ENGINE_FILES, FATAL, KINDS, READY, STOPPING
from collectors.reading.log.state import Cause, Problem

_SHM = "No available shared memory broadcast block found"
_USAGE = re.compile(r"^\s*(?:vllm|sglang|[\w./-]*(?:launch_server|api_server|__main__)\.py)(?: [\w-]+)?: error: ")
_HOLLOW = re.compile(r"ValidationError: \d+ validation errors? for|^[\w.]+:\s*$")
_PYDANTIC = re.compile(r"^\s+(?:Value error|Assertion failed), |\[type=\w+, input_value=")
_DIGITS = re.compile(r"0x[0-9a-f]+|\d+(?:[.,]\d+)*")
_BEFORE, _AFTER = 2_000, 5_000  # lines round the first fatal one in which its cause may stand
_SUSPECTS, _RANKS, _BLOCKS, _NOTES = 24, 64, 32, 16

NEEDLES: tuple[str, ...] = (
    *(rule.needle for rule in FATAL), *DETAIL, *READY, *STOPPING, _SHM, blocks.TRACEBACK, 'File "', "Error: ",
    "Error:", "Exception: ", "Exception in", "exception was never", "Exception ignored", "--- Logging error",
    "Process ", ": error: ", "OutOfResources", "Value error, ", "Error in request: ", "Failed to load plugin",
    "Segmentation fault", "terminate called after", "ERROR", "CRITICAL",
)  # fmt: skip


class Suspect(Struct, frozen=True):
    """One exception, however many ranks raised it."""

    line: str
    lineno: int
    offset: int
    t: float
    process: str | None
    weight: int
    depth: int
    rule: str | None
    summary: str
    hint: str | None
    ranks: tuple[tuple[str | None, int | None], ...] = ()
    hollow: bool = False  # its message is on a line still to come


class Fatal(Struct, frozen=True):
    """The first line that says that a process of the server is lost."""

    rule: str
    line: str
    lineno: int
    offset: int
    t: float
    process: str | None


class Suspects(Struct, frozen=True):
    """What the finder remembers between chunks: at most 24 suspects, 32 open blocks and 16 notes."""

    suspects: dict[str, Suspect] = {}
    blocks: tuple[Block, ...] = ()
    fatal: Fatal | None = None
    hard: bool = False  # fatal in a way that no orderly stop prints
    ready: bool = False
    stopped: bool = False
    intro: tuple[str, int, str | None, int | None] = ("", -9, None, None)  # text, lineno, process, pid
    shm: tuple[Suspect, int] | None = None  # the first message of a full queue, how many stand in a row
    notes: dict[str, Problem] = {}
    folded: int = 0  # lines of failures that are told by one problem: hidden behind it


class Conclusion(Struct, frozen=True):
    failed: bool
    failed_t: float | None
    cause: Cause | None
    in_view: bool
    problems: tuple[Problem, ...]


class CauseFinder:
    """Is given the lines that hold one of NEEDLES, and all lines while `open`, in order."""

    def __init__(self, suspects: Suspects) -> None:
        self._set(suspects)

    def _set(self, memory: Suspects) -> None:
        self._blocks: dict[Key, Block] = {block.key: block for block in memory.blocks}
        self._suspects = dict(memory.suspects)
        self._notes = dict(memory.notes)
        self._fatal, self._hard = memory.fatal, memory.hard
        self._ready, self._stopped = memory.ready, memory.stopped
        self._intro, self._shm, self._folded = memory.intro, memory.shm, memory.folded

    def reset(self) -> None:
        """A new start began in this file: what the one before it died of is forgotten."""
        self._set(Suspects())

    def freeze(self) -> Suspects:
        return Suspects(
            self._suspects.copy(), tuple(self._blocks.values()), self._fatal, self._hard, self._ready, self._stopped,
            self._intro, self._shm, self._notes.copy(), self._folded,
        )  # fmt: skip

    @property
    def open(self) -> bool:
        return bool(self._blocks) or self._shm is not None

    def see(self, line: Line) -> bool:
        """True: the line is a part of a failure's story, which `conclude` tells; nobody else need show it."""
        self._hang(line)
        ours = self._in_block(line)
        ours = self._marks(line) or ours
        if not ours:
            ours = self._alone(line)
        if not ours and self._fatal is not None and line.level in ("ERROR", "CRITICAL"):
            ours = True
        self._folded += ours
        return ours

    # -- tracebacks

    def _in_block(self, line: Line) -> bool:
        for key in [key for key, block in self._blocks.items() if blocks.stale(block, line.lineno)]:
            del self._blocks[key]
        key = blocks.key_of(line)
        block = self._blocks.get(key)
        if block is not None:
            after = blocks.follows(block, line)
            if after is None:
                del self._blocks[key]
            else:
                self._grow(block, after, line)
                return True
        text, lineno, process, pid = self._intro
        near = line.lineno - lineno <= 4 and (process, pid) == (line.process, line.pid)
        begun = blocks.begins(line, text if near else "")
        if begun is None:
            if blocks.introduces(line.msg):
                self._intro = (line.msg[:200], line.lineno, line.process, line.pid)
                if blocks.survives(line.msg):
                    self._note(line, "request-error", "warning", None)
                return True
            return False
        if len(self._blocks) >= _BLOCKS:
            del self._blocks[next(iter(self._blocks))]
        self._blocks[begun.key] = begun
        if begun.headless and not self._ready and blocks.engine_record(line.source, line.level):
            self._lost("traceback", line, soft=False)
        return True

    def _grow(self, before: Block, block: Block, line: Line) -> None:
        if block.exception is not None and before.exception is None:
            block = self._raised(block, line)
        elif block.exception is not None and block.tail != before.tail:
            self._more(block, line)
        if blocks.waits(block):
            self._blocks[block.key] = block
        else:
            self._blocks.pop(block.key, None)

    def _raised(self, block: Block, line: Line) -> Block:
        """The exception line of a block has come: it becomes a suspect, and the block may be the server's end."""
        if "KeyboardInterrupt" in line.msg or line.msg.startswith("SystemExit: 0"):
            self._stopped = self._stopped or self._fatal is None
            return block
        engine = block.source in ENGINE_FILES and not (self._ready and block.source.startswith("multiproc"))
        headed = bool(block.source)
        if block.survived or (headed and not engine and block.source != "registry.py"):
            return block
        suspect = self._suspect(line, block)
        previous = self._suspects.get(block.fold)
        if previous is not None and previous.weight <= GENERIC and suspect.weight >= previous.weight:
            self._suspects.pop(block.fold)  # in a chain of exceptions that no rule knows the last one tells most
        fold = self._add(suspect, line)
        alive = self._ready and block.process is None and not block.line.lstrip().startswith("Process ")
        deep = suspect.depth > 1
        if engine or (not headed and not alive and (block.ends or block.headless or deep or suspect.rule is not None)):
            self._lost("traceback", line, soft=False)
        return structs.replace(block, fold=fold)

    def _more(self, block: Block, line: Line) -> None:
        """One more line of an exception's message: it may hold the message itself, or what a rule knows."""
        suspect = self._suspects.get(block.fold)
        if suspect is None or block.exception is None or not block.tail[-1].strip():
            return
        if suspect.hollow:
            pydantic = "validation error" in suspect.line
            if suspect.lineno < block.exception.lineno or (pydantic and not _PYDANTIC.search(line.msg)):
                return
            moved = self._suspect(line, block, text=line.msg)
            moved = structs.replace(moved, weight=max(moved.weight, GENERIC + 2), hollow=False)
            self._suspects[block.fold] = structs.replace(moved, ranks=suspect.ranks)
            return
        if suspect.lineno != block.exception.lineno:
            return
        for glue in (" ", ""):
            found = KINDS.find(glue.join((block.exception.msg, *block.tail))[:2000], block.where)
            if found is not None and found.weight > suspect.weight and suspect.weight > 0:
                whole = glue.join((suspect.line, *block.tail)) if _wrapped(block) else suspect.line
                self._suspects[block.fold] = structs.replace(
                    suspect, line=whole[:2000], weight=found.weight, rule=found.rule, summary=found.summary,
                    hint=found.hint,
                )  # fmt: skip
                return

    # -- single lines

    def _marks(self, line: Line) -> bool:
        """Ready, stopping, fatal and detail lines: fixed words of the engines."""
        text = line.text
        if any(words in text for words in READY) and self._fatal is None:
            self._ready = True
            self._suspects.clear()
            return False
        if any(words in text for words in STOPPING):
            self._stopped = self._stopped or self._fatal is None
            return False
        for rule in FATAL:
            if rule.needle not in text or (rule.start and self._ready):
                continue
            if rule.needle == "died unexpectedly" or "died, exit" in rule.needle or "exited unexp" in rule.needle or rule.id in ("nccl-watchdog", "sgl-watchdog", "segfault", "python-fatal", "arch-inspect"):
                self._add(self._suspect(line, None), line)
            self._lost(rule.id, line, rule.soft)
            return True
        return any(words in text for words in DETAIL)

    def _alone(self, line: Line) -> bool:
        """Lines outside any traceback that are exceptions, usage errors or known troubles."""
        msg = line.msg
        usage = not self._ready and line.level is None and _USAGE.match(msg) is not None
        if usage or msg.startswith("Error in request: "):
            self._add(self._suspect(line, None), line)
            if usage:
                self._lost("usage", line, soft=False)
            return True
        if "Failed to load plugin" in msg:
            self._note(line, "plugin-failed", "error", KINDS.find(msg))
            return True
        pydantic = _PYDANTIC.match(msg) is not None and "[type=" in msg
        if not pydantic and not blocks.is_exception(msg, in_block=False):
            return False
        engine = blocks.engine_record(line.source, line.level)
        suspect = self._suspect(line, None)
        if engine or (line.level is None and not self._ready and suspect.rule is not None and suspect.weight > 0):
            self._add(suspect, line)
            self._lost("exception", line, soft=False)
            return True
        return False

    def _hang(self, line: Line) -> None:
        """Messages of a full broadcast queue, a minute apart with nothing between them: a worker hangs."""
        if _SHM not in line.text:
            if line.text.strip():
                self._shm = None
        elif self._shm is not None:
            self._shm = (self._shm[0], self._shm[1] + 1)
        else:
            self._shm = (self._suspect(line, None), 1)

    # -- the memory

    def _suspect(self, line: Line, block: Block | None, text: str | None = None) -> Suspect:
        msg = (text or line.msg)[:2000]
        process = line.process or (block.process if block else None)
        pid = line.pid or (block.pid if block else None)
        echo = ECHO.search(msg) is not None
        found = None if echo else KINDS.find(msg, block.where if block else "")
        hollow = _HOLLOW.search(msg) is not None and found is None
        weight = 0 if echo else found.weight if found else SYMPTOM - 10 if hollow else GENERIC
        return Suspect(
            line=line.text, lineno=line.lineno, offset=line.offset, t=line.t, process=process, weight=weight,
            depth=_depth(process), rule=found.rule if found else None,
            summary=found.summary if found else _plain(msg, process), hint=found.hint if found else None,
            ranks=((process, pid),), hollow=hollow,
        )  # fmt: skip

    def _add(self, suspect: Suspect, line: Line) -> str:
        """Keeps a suspect, folded with those of other ranks; returns its key ("" when it is none)."""
        if suspect.weight == 0 or (self._fatal is not None and line.lineno > self._fatal.lineno + _AFTER):
            return ""
        fold = _DIGITS.sub("#", line.msg[:200])
        known = self._suspects.get(fold)
        if known is not None:
            if suspect.ranks[0] not in known.ranks and len(known.ranks) < _RANKS:
                self._suspects[fold] = structs.replace(known, ranks=(*known.ranks, *suspect.ranks))
            return fold
        if len(self._suspects) >= _SUSPECTS:
            worst = min(self._suspects, key=lambda key: self._suspects[key].weight)
            if self._suspects[worst].weight >= suspect.weight:
                return ""
            del self._suspects[worst]
        self._suspects[fold] = suspect
        return fold

    def _lost(self, rule: str, line: Line, soft: bool) -> None:
        """A process of the server is lost: since when, and in which words the log says so."""
        if self._stopped and self._fatal is None:
            return  # what an orderly stop leaves behind
        self._hard = self._hard or not soft
        since = line.t if self._fatal is None else self._fatal.t
        if self._fatal is None:
            for fold in [f for f, s in self._suspects.items() if s.lineno < line.lineno - _BEFORE]:
                del self._suspects[fold]
        elif self._fatal.rule != "traceback" or rule == "traceback":
            return
        self._fatal = Fatal(rule, line.text, line.lineno, line.offset, since, line.process)

    def _note(self, line: Line, rule: str, severity: str, found: Found | None) -> None:
        fold = rule + _DIGITS.sub("#", line.msg[:120])
        known = self._notes.get(fold)
        if known is not None:
            self._notes[fold] = structs.replace(known, count=known.count + 1)
        elif len(self._notes) < _NOTES:
            self._notes[fold] = Problem(
                severity=severity, rule=rule, line=line.text, lineno=line.lineno, offset=line.offset, t=line.t,
                processes=(line.process,) if line.process else (), advice=found.hint if found else None,
            )  # fmt: skip


def _depth(process: str | None) -> int:
    """How far below the API server a process stands: workers and ranks 3, engine cores 2, the rest 1."""
    name = process or ""
    if "Worker" in name or re.match(r"(?:TP|PP|DP|EP)\d", name):
        return 3
    return 2 if name.startswith("EngineCore") else 1


def _plain(msg: str, process: str | None) -> str:
    name, _, message = msg.strip().partition(": ")
    who = process or "The server"
    return f"{who} died of {name.rpartition('.')[2]}: {message[:200]}" if message else f"{who} died of {name[:200]}"


def _wrapped(block: Block) -> bool:
    """Whether the exception line was broken by a terminal's or a forum's width, and not by its author."""
    first = block.exception.msg if block.exception else ""
    return len(first) >= 60 and first[-1] not in ".:;!)" and not blocks.is_exception(block.tail[0], in_block=True)


def conclude(
    suspects: Suspects,
    *,
    stopping: bool,
    exit: events.Exit | None = None,  # noqa: A002
    stop_asked: bool = False,
    oom_kills: int | None = None,
    phase: str = "starting",
) -> Conclusion:
    """Whether it failed and of what, from what the log showed and how the process ended.

    `stopping`: the log says that an orderly stop began; `stop_asked`: a front end asked for one; `oom_kills`: the
    container's counter since the start; `phase`: where it stood when the last line came.
    """
    orderly = stopping or suspects.stopped
    fatal = suspects.fatal
    if fatal is None and not orderly and not stop_asked:
        fatal = next((_seen(b) for b in suspects.blocks if b.exception is None and b.ends and not b.survived), None)
    failed = fatal is not None and (suspects.hard or not stop_asked)
    failed_t = fatal.t if fatal is not None and failed else None
    if exit is not None and not failed and not orderly and not stop_asked and phase != "stopped":
        failed, failed_t = True, exit.t
    best = _best(suspects) if failed else None
    if not failed:
        hung = suspects.shm[0] if suspects.shm is not None and suspects.shm[1] >= 4 else None
        cause = None if hung is None else structs.replace(_cause(hung, None), rule="worker-hangs", summary=_HANGS[0],
                                                          hint=_HANGS[1])  # fmt: skip
        notes = tuple(suspects.notes.values())
        return Conclusion(False, None, cause, True, (*notes, *_hanging(hung)))
    cause = _cause(best, oom_kills) if best is not None else None
    in_view = best is not None and best.weight not in (SYMPTOM, SYMPTOM + 1)
    errors = tuple(note for note in suspects.notes.values() if note.rule == "plugin-failed")
    return Conclusion(True, failed_t, cause, in_view, (*_problem(best, fatal, cause), *errors))


_HANGS = (
    "A worker has not read its queue for minutes, and no process says anything else: it hangs, or compiles for long.",
    "look what the workers do (py-spy dump --pid PID); NCCL_P2P_DISABLE=1 helps where the GPUs cannot reach each other",
)


def _seen(block: Block) -> Fatal:
    return Fatal("traceback", block.line, block.lineno, block.offset, block.t, block.process)


def _best(suspects: Suspects) -> Suspect | None:
    return max(suspects.suspects.values(), key=lambda s: (s.weight, s.depth, -s.lineno), default=None)


def _cause(suspect: Suspect, oom_kills: int | None) -> Cause:
    hint = suspect.hint
    if oom_kills and (suspect.weight == DEATH or suspect.rule == "killed-worker"):
        hint = f"the container's OOM killer struck {oom_kills} times: raise its memory limit"
    return Cause(
        line=suspect.line[:2000], lineno=suspect.lineno, offset=suspect.offset, process=suspect.process,
        summary=suspect.summary, hint=hint, rule=suspect.rule, at=suspect.t,
    )  # fmt: skip


def _problem(best: Suspect | None, fatal: Fatal | None, cause: Cause | None) -> tuple[Problem, ...]:
    """The one problem that a failure is told by."""
    if best is not None and cause is not None:
        names = tuple(dict.fromkeys(name for name, _ in best.ranks if name))
        return (
            Problem(
                severity="error", rule=best.rule or "exception", line=cause.line, lineno=cause.lineno,
                offset=cause.offset, t=cause.at, count=len(best.ranks), processes=names, advice=cause.hint,
            ),
        )  # fmt: skip
    if fatal is None:
        return ()
    return (
        Problem(
            severity="error", rule=fatal.rule, line=fatal.line[:2000], lineno=fatal.lineno, offset=fatal.offset,
            t=fatal.t, processes=(fatal.process,) if fatal.process else (),
        ),
    )  # fmt: skip


def _hanging(hung: Suspect | None) -> tuple[Problem, ...]:
    if hung is None:
        return ()
    return (
        Problem(
            severity="warning", rule="worker-hangs", line=hung.line, lineno=hung.lineno, offset=hung.offset, t=hung.t,
            advice=_HANGS[1],
        ),
    )  # fmt: skip
