"""What is remembered of a log's failures: suspects, the first fatal line, open tracebacks. All bounded."""

import re

from msgspec import Struct, structs

from collectors.reading.log.blocks import Block
from collectors.reading.log.lines import Line
from collectors.reading.log.parts import Problem
from collectors.reading.log.rules.failure import GENERIC, HOLLOW, TRACE
from collectors.reading.log.rules.failures import KINDS
from collectors.reading.log.rules.story import ECHO, QUOTE

Rank = tuple[str | None, int | None]  # process and pid, as the prefix names them

_DIGITS = re.compile(r"0x[0-9a-f]+|\d+(?:[.,]\d+)*")
_BARE = re.compile(r"^[\w.]+\s*$")
_HOLLOW = re.compile(r"ValidationError: \d+ validation errors? for|^[\w.]+:\s*$")


class Suspect(Struct, frozen=True):
    """One exception, however many ranks raised it."""

    line: str
    lineno: int
    offset: int
    t: float
    process: str | None
    weight: int  # rules/failure.py: how much it says about what to do
    depth: int
    rule: str | None
    summary: str
    hint: str | None
    ranks: tuple[Rank, ...] = ()
    hollow: bool = False  # its message is on a line still to come


class Fatal(Struct, frozen=True):
    """The first line that says that a process of the server is lost. `t`: since when."""

    rule: str
    line: str
    lineno: int
    offset: int
    t: float
    process: str | None


class Suspects(Struct, frozen=True):
    """What the finder remembers between two chunks: at most 24 suspects, 32 open blocks and 16 notes."""

    suspects: dict[str, Suspect] = {}  # by the exception's words without their numbers
    blocks: tuple[Block, ...] = ()
    fatal: Fatal | None = None
    hard: bool = False  # fatal in a way that no orderly stop prints
    ready: bool = False
    stopped: bool = False  # an orderly stop began before anything fatal
    intro: tuple[str, int, Rank] = (
        "",
        -9,
        (None, None),
    )  # what stood before a traceback: text, lineno, by whom
    hang: tuple[Suspect, int] | None = None  # the first message of a full queue, and how many stand in a row
    notes: dict[str, Problem] = {}  # troubles that the server survives
    folded: int = 0  # lines of failures told by one problem: hidden behind it


def suspect_of(line: Line, block: Block | None) -> Suspect:
    """The suspect that an exception's line, or the line of its message, is."""
    msg = line.msg[:2000]
    if block is not None and block.code and _BARE.match(msg):
        msg = f"{msg.strip()}: {block.code}"
    where = block.where if block else ""
    process = line.process or (block.process if block else None)
    pid = line.pid or (block.pid if block else None)
    found, weight = KINDS.find(msg, where), GENERIC
    quote = QUOTE.search(msg)
    if quote is not None:  # the core repeats a worker's words: worth less than the worker's own line
        found = KINDS.find(quote["what"], where)
        weight = (found.weight if found else GENERIC) - 1
    elif ECHO.search(msg) and (found is None or found.weight != TRACE):
        found, weight = None, 0
    elif found is not None:
        weight = found.weight
    hollow = found is None and _HOLLOW.search(msg) is not None
    return Suspect(
        line=line.text,
        lineno=line.lineno,
        offset=line.offset,
        t=line.t,
        process=process,
        weight=HOLLOW if hollow and weight else weight,
        depth=depth(process),
        rule=found.rule if found else None,
        summary=found.summary if found else _plain(msg, process),
        hint=found.hint if found else None,
        ranks=((process, pid),),
        hollow=hollow,
    )


def filled(suspect: Suspect, line: Line, block: Block) -> Suspect:
    """A hollow suspect, whose message `line` is."""
    moved = suspect_of(line, block)
    return structs.replace(moved, weight=max(moved.weight, GENERIC + 2), ranks=suspect.ranks, hollow=False)


def told_better(suspect: Suspect, block: Block, wrapped: bool) -> Suspect | None:
    """The suspect with what the further lines of its message say, where a rule knows that better; `wrapped`: they are
    one line that a paste broke."""
    first = block.exception
    if first is None:
        return None
    for glue in (" ", ""):
        found = KINDS.find(glue.join((first.msg, *block.tail))[:2000], block.where)
        if found is None:
            continue
        more = wrapped and found.rule == suspect.rule and found.summary != suspect.summary
        if found.weight > suspect.weight or more:
            return structs.replace(
                suspect,
                line=glue.join((first.text, *block.tail))[:2000] if wrapped else suspect.line,
                weight=found.weight,
                rule=found.rule,
                summary=found.summary,
                hint=found.hint,
            )
    return None


def fold_of(text: str) -> str:
    """The words that ranks which fail alike have in common."""
    return _DIGITS.sub("#", text[:200])


def depth(process: str | None) -> int:
    """How far below the API server a process stands: workers and ranks 3, engine cores 2, the rest 1."""
    name = process or ""
    if "Worker" in name or re.match(r"(?:TP|PP|DP|EP)\d", name):
        return 3
    return 2 if name.startswith("EngineCore") else 1


def _plain(msg: str, process: str | None) -> str:
    name, _, message = msg.strip().partition(": ")
    who, short = process or "The server", name.rpartition(".")[2]
    return f"{who} died of {short}: {message[:200]}" if message else f"{who} died of {short[:200]}"
