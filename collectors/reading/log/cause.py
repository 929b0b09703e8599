"""Finds, line by line, which one line of a log names why the server died.

Every exception is a suspect; the cause is the one whose rule says most about what to do, then that of the
deepest process, then the first (conclude.py). Echoes ("See root cause above") prove that it failed, no more.
"""

from enum import Enum

from msgspec import structs

from collectors.reading.log import blocks
from collectors.reading.log.blocks import Block, Key
from collectors.reading.log.conclude import Conclusion, conclude
from collectors.reading.log.lines import Line
from collectors.reading.log.memory import Memory
from collectors.reading.log.outside import CLIENT, EXITED, MARKS, PYDANTIC, SHELL, USAGE
from collectors.reading.log.rules.ends import FATAL, RAY_ENDS, READY, STOPPING
from collectors.reading.log.rules.failure import GENERIC, SYMPTOMS, VAGUE
from collectors.reading.log.rules.failures import KINDS
from collectors.reading.log.rules.story import DETAIL, ENGINE_FILES, HANG, HANG_WHOLE, SUSPECT_FILES, WORDS
from collectors.reading.log.suspects import Suspect, Suspects, filled, suspect_of, told_better

__all__ = ["CauseFinder", "Conclusion", "Suspects", "conclude"]

_SURE = VAGUE + 11  # a rule this specific proves a failure by itself, as long as the server was not ready
_BLOCKS = 32
_WORDS_WITHIN = 160  # the engines' own words stand at a message's beginning; further on anybody's may


class _Is(Enum):
    OTHER = 0  # none of a traceback's
    PART = 1  # a frame or a source line: nothing to look for in it
    WORDS = 2  # of a traceback, and to be looked at


class CauseFinder:
    """Is given the lines that hold a needle of failures (needles.py), and while `open` all lines, in order."""

    def __init__(self, suspects: Suspects) -> None:
        self._set(suspects)

    def _set(self, suspects: Suspects) -> None:
        self._memory = Memory(suspects)
        self._blocks: dict[Key, Block] = {block.key: block for block in suspects.blocks}
        self._intro, self._hang = suspects.intro, suspects.hang

    def reset(self) -> None:
        """A new start began in this file: what the one before it died of is forgotten."""
        self._set(Suspects())

    def freeze(self) -> Suspects:
        memory = self._memory
        return Suspects(
            suspects=memory.suspects.copy(),
            blocks=tuple(self._blocks.values()),
            fatal=memory.fatal,
            hard=memory.hard,
            ready=memory.ready,
            stopped=memory.stopped,
            intro=self._intro,
            hang=self._hang,
            notes=memory.notes.copy(),
            folded=memory.folded,
        )

    @property
    def open(self) -> bool:
        return bool(self._blocks) or self._hang is not None

    @property
    def lost(self) -> bool:
        """A process of the server is known to be lost: what the others still say changes nothing."""
        return self._memory.fatal is not None

    def see(self, line: Line) -> bool:
        """True: the line is a part of a failure's story, which `conclude` tells; nobody else need show it."""
        self._queue_full(line)
        if line.level is None and (said := SHELL.match(line.msg)):
            return self._terminated() if said["stop"] else self._killed(line)
        kind = self._traceback(line)
        ours = kind is not _Is.OTHER
        if kind is not _Is.PART:
            ours = self._fixed_words(line) or ours or self._alone(line)
        if not ours and self._memory.fatal is not None and line.level in ("ERROR", "CRITICAL"):
            ours = True  # whatever is reported after the end follows from it
        self._memory.folded += ours
        return ours

    # -- tracebacks

    def _traceback(self, line: Line) -> _Is:
        for key in [key for key, block in self._blocks.items() if blocks.stale(block, line.lineno)]:
            del self._blocks[key]
        block = self._blocks.get(blocks.key_of(line)) or self._broken_off(line)
        if block is not None:
            line = blocks.bare(block, line)
            after = blocks.follows(block, line)
            if after is not None:
                return self._grow(block, after, line)
            del self._blocks[block.key]
        text, lineno, rank = self._intro
        near = line.lineno - lineno <= 4 and rank == (line.process, line.pid)
        begun = blocks.begins(line, text if near else "")
        if begun is not None:
            if block is not None and block.survived:  # the next part of a group of exceptions
                begun = structs.replace(begun, survived=block.survived)
            self._keep(begun)
            if begun.headless and not self._memory.ready and blocks.engine_record(line):
                self._memory.lost("traceback", line)
            return _Is.WORDS
        if blocks.survives(line.msg):
            self._intro = (line.msg[:200], line.lineno, (line.process, line.pid))
            return _Is.WORDS
        return _Is.OTHER

    def _broken_off(self, line: Line) -> Block | None:
        """The block whose exception this bare line continues: wrapped pastes have the prefix once."""
        if line.process or line.source or line.level or line.wall:
            return None
        touched = (b for b in self._blocks.values() if b.exception is not None)
        return next((b for b in touched if b.touched == line.lineno - 1), None)

    def _keep(self, block: Block) -> None:
        if len(self._blocks) >= _BLOCKS and block.key not in self._blocks:
            del self._blocks[next(iter(self._blocks))]
        self._blocks[block.key] = block

    def _grow(self, before: Block, block: Block, line: Line) -> _Is:
        raised = block.exception is not None
        if raised and before.exception is None:
            block = self._raised(block, line)
        elif raised:
            block = self._more(block, line)
        if blocks.waits(block):
            self._blocks[block.key] = block
        else:
            del self._blocks[block.key]
        return _Is.WORDS if raised else _Is.PART

    def _raised(self, block: Block, line: Line) -> Block:
        """The exception line of a block has come: it becomes a suspect, and may be the server's end."""
        if not block.source and block.process is None and CLIENT.search(line.msg):
            return block
        if "_ARRAY_API not found" in line.msg:
            return block  # numpy's warning of a module built for its version 1, with the way that led there
        if "KeyboardInterrupt" in line.msg or line.msg.startswith("SystemExit: 0"):
            self._memory.stops()
            return block
        if block.survived or (block.source and block.source not in SUSPECT_FILES):
            if block.survived and not self._memory.stopped and not blocks.shrugs(block, line.msg):
                self._memory.note(line, "survived", "warning", None)
            return block
        suspect = suspect_of(line, block)
        previous = self._memory.suspects.get(block.fold)
        alike = previous is not None and (previous.weight <= GENERIC or previous.rule == suspect.rule)
        if previous is not None and alike and suspect.weight >= previous.weight:
            # of chained exceptions of one kind the last is meant for the user
            del self._memory.suspects[block.fold]
        block = structs.replace(block, fold=self._memory.add(suspect, line.msg))
        if not self._judge(block, suspect, line) and suspect.weight > 0:
            self._memory.note(line, "survived", "warning", None)
        return block

    def _judge(self, block: Block, suspect: Suspect, line: Line) -> bool:
        """Whether a traceback means that the server, or a process that it needs, is gone."""
        if block.source:
            fatal = block.source in ENGINE_FILES and not (
                self._memory.ready and block.source.startswith("multiproc")
            )
        elif self._memory.ready:  # beside a ready server anything may print: a benchmark, a wrapper
            fatal = bool(block.ends) and (block.ends == "child" or block.process is not None)
        else:
            sure = suspect.rule is not None and (suspect.weight >= _SURE or suspect.weight in SYMPTOMS)
            headless = block.headless and block.frames > 0
            fatal = bool(block.ends) or headless or suspect.depth > 1 or sure
        if fatal:
            self._memory.lost("traceback", line)
        return fatal

    def _more(self, block: Block, line: Line) -> Block:
        """One more line of an exception's message: it may be the message itself, or what a rule knows."""
        suspect = self._memory.suspects.get(block.fold)
        if suspect is None or suspect.weight == 0 or block.exception is None or not line.msg.strip():
            return block
        if suspect.hollow:
            if "validation error" in suspect.line and not PYDANTIC.search(line.msg):
                return block
            moved = filled(suspect, line, block)
            self._memory.suspects[block.fold] = moved
            self._judge(block, moved, line)
            return structs.replace(block, exception=line, tail=())
        if suspect.lineno == block.exception.lineno:  # else this rank repeats what another one said
            better = told_better(suspect, block, wrapped=blocks.wraps(block, line))
            if better is not None:
                self._memory.suspects[block.fold] = better
                self._judge(block, better, block.exception)
        return block

    # -- single lines

    def _fixed_words(self, line: Line) -> bool:
        """Ready, stopping, fatal and detail lines: words that the engines print as they stand."""
        msg = line.msg[:_WORDS_WITHIN]
        if msg.startswith(READY):
            if self._memory.fatal is None:
                self._memory.became_ready()
            return False
        if msg.startswith(RAY_ENDS) or "please ignore because" in msg:
            return False
        if any(words in msg for words in STOPPING) or msg.startswith("Shutting down"):
            self._memory.stops()
            return False
        if line.level in ("INFO", "DEBUG"):
            return False  # a logged request may say anything
        for rule in FATAL:
            if rule.needle in msg and "soft=True" not in msg:
                if rule.start and self._memory.ready:
                    return True  # its traceback follows, and is told as what the server survived
                if rule.names and not msg.lstrip().startswith("raise "):
                    self._memory.add(suspect_of(line, None), line.msg)
                self._memory.lost(rule.id, line, rule.soft)
                return True
        return line.level in (None, "ERROR") and any(words in line.text for words in DETAIL)

    def _alone(self, line: Line) -> bool:
        """Lines outside any traceback that are exceptions, usage errors or known troubles."""
        msg = line.msg
        if not self._memory.ready and line.level is None and USAGE.search(msg, 0, _WORDS_WITHIN):
            self._memory.add(suspect_of(line, None), msg)
            self._memory.lost("usage", line)
            return True
        if line.level is None and EXITED.match(msg):
            self._memory.lost("container-ended", line, soft=True)
            return True
        if msg.startswith("Error in request: "):
            self._memory.add(suspect_of(line, None), msg)
            return True
        if "Failed to load plugin" in msg:
            self._memory.note(line, "plugin-failed", "error", KINDS.find(msg))
            return True
        if any(words in msg for words in WORDS) and KINDS.find(msg[:2000]) is not None:
            return bool(self._memory.add(suspect_of(line, None), msg))
        line = self._unmarked(line)
        pydantic = PYDANTIC.match(line.msg) is not None
        if not pydantic and not blocks.is_exception(line.msg, in_block=False):
            return False
        if not blocks.engine_record(line) and (self._memory.ready or line.level is not None):
            return False
        block = self._raised(blocks.opened(line, exception=line), line)
        self._keep(block)
        return bool(block.fold)

    def _unmarked(self, line: Line) -> Line:
        """`line` without a quote's marks or a paste's stamp, when what remains surely is an end by itself."""
        marks = MARKS.match(line.msg) if not (line.head or line.process) else None
        if marks is None:
            return line
        bare = structs.replace(line, msg=line.msg[marks.end() :])
        found = KINDS.find(bare.msg[:2000]) if blocks.is_exception(bare.msg, in_block=False) else None
        sure = found is not None and (found.weight >= _SURE or found.weight in SYMPTOMS)
        return bare if sure else line

    def _terminated(self) -> bool:
        self._memory.stops()
        return True

    def _killed(self, line: Line) -> bool:
        """A shell's word. SGLang ends itself so once a child failed: then it is no news, and no part of a message."""
        fatal = self._memory.fatal
        known = any(s.weight >= GENERIC for s in self._memory.suspects.values())
        if fatal is None or not (known or fatal.rule.startswith("sgl-")):
            self._memory.add(suspect_of(line, None), line.msg)
        self._memory.lost("killed", line, soft=True)
        self._memory.folded += 1
        return True

    def _queue_full(self, line: Line) -> None:
        """Messages of a full broadcast queue, a minute apart with nothing between them: a worker hangs."""
        if HANG not in line.text:
            if line.text.strip() and line.text.strip() not in HANG_WHOLE:
                self._hang = None
        elif self._hang is not None:
            self._hang = (self._hang[0], self._hang[1] + 1)
        else:
            self._hang = (suspect_of(line, None), 1)
