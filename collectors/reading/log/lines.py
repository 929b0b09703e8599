"""Bytes of one physical line -> Lines: wrappers and escapes off, process prefix and head read, glued records split.

The formats are those of vLLM 0.4-0.33 (`logger.py`, `system_utils.py`), SGLang 0.4-0.5.23 (`utils/common.py`),
uvicorn, Python's logging, and of what prints a container's log: docker compose, kubectl and the CRI, journald,
Buildkite, GitHub, Slurm, torchrun, Ray.
"""

import re
from collections.abc import Iterator
from typing import Any

import msgspec
from msgspec import Struct

TEXT = 2_000  # characters of a line that are kept
RAW = (
    8_192  # bytes of a physical line that are looked at: config dumps run to 50 kB and say nothing further on
)
JSON = 65_536
BAR_MARKS = ("% Completed |", "%|")  # one of them stands in each frame of a bar, behind its percent


class Line(Struct):
    """One line as an expert sees it: `text` without wrappers and escapes, `msg` without process prefix and head too."""

    text: str  # at most 2,000 characters
    lineno: int  # counts "\n"-ended lines of the file from 1
    offset: int  # of its first byte in the file
    t: float  # when it was complete
    process: str | None = (
        None  # "APIServer", "EngineCore_DP0", "Worker_TP3", "TP6" (SGLang); the last of nested ones
    )
    pid: int | None = None
    level: str | None = None  # DEBUG … CRITICAL where the head says it
    wall: str | None = None  # the head's own stamp, "12-01 05:17:09" or "2026-02-26 16:41:05"
    source: str | None = None  # the head's "file.py:123"
    msg: str = ""  # at most 8,192
    head: str = ""  # whose head it has: "vllm", "uvicorn", "sglang", "python", "json" or none


# CSI, OSC, APC (Buildkite's time stamps), then any other two-byte escape
_ESCAPE = re.compile(
    r"\x1b\[[0-9;:?<=>]{0,64}[ -/]{0,8}[@-~]|\x1b[\]_P^X][^\x07\x1b]{0,2048}(?:\x07|\x1b\\)?|\x1b[ -/]{0,4}[0-~]?"
)
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029]")
_WRAPPER = re.compile(
    r"\s{0,8}(?:"
    r"(?:\[[\w.-]{1,80}\]|[A-Za-z][\w.-]{0,80}) {1,40}\| "  # docker compose
    r"|\[?\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d{1,9})?(?:Z|[+-]\d\d:?\d\d)\]?(?: std(?:out|err) [FP])? ?"
    r"|(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) [A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d \d{4} ?: "
    r"|[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d(?:\.\d{1,9})? [\w.-]{1,80} [\w.@/-]{1,80}(?:\[\d{1,10}\])?: ?"
    r"|_bk;t=\d{1,16}"
    r"|\[pod/[^\]]{1,200}\] |\[(?:default)?\d{1,4}\]:\s?|\[rank\d{1,4}\]: |\d{1,4}: "
    r"|\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d,\d{3} \[\w{4,5} ?\] [\w.-]{1,80} MODEL_LOG - "  # TorchServe
    r"|[│┃] ?|\^C"  # the frame of a terminal's pane, a key that was echoed
    r")"
)
# Pastes lose the ESC of a colour or spell it out; its end, a reset, is always among them.
_SPELT_COLOUR = re.compile(r"(?:ESC|\^\[|␛)?\[\d{1,3}(?:;\d{1,3}){0,6}m(?!\])")
_RESETS = ("[0m", "[0;0m")
_PROC = re.compile(r" {0,8}\(([A-Za-z][^|\"'\[\]{}]{0,120}?) pid=(\d{1,10})(?:, ip=[\d.:a-f]{1,45})?\) ?")
_SIGNED = r"\((?:APIServer|ApiServer|EngineCore|Worker|VllmWorker)[\w= ]{0,60} pid=\d{1,10}\) "
_GLUED = re.compile(r"(?<=\S)" + _SIGNED)
LEVELS = ("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL")
_LEVEL = f"({'|'.join(LEVELS)})"
# A whole log on one line, as digests of issues have it: before each record's prefix, not between nested ones.
_COLLAPSED = re.compile(rf"(?<=[^)]) (?=(?:{_SIGNED}){{1,3}}(?:{'|'.join(LEVELS)})[ :])")
_VLLM = re.compile(_LEVEL + r" (\d\d-\d\d \d\d:\d\d:\d\d)(?:[.,]\d{1,6})? \[?([^\]\s:\[]{1,200}:\d{1,6})\] ?")
_UVICORN = re.compile(_LEVEL + r": {2,10}")
_SGLANG = re.compile(
    r"\[(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)(?:\.\d{1,6})?((?: [A-Z][A-Z_]{1,12}\d{1,4}){0,8})\] "
)
_PYTHON = re.compile(
    r"(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)(?:[.,]\d{1,6})? - (?:[\w.]{1,80} - )?"
    + _LEVEL
    + r" - ([\w.]{1,80}:\d{1,6} - )?"
)
_END_OF_BAR = re.compile(r"\d<[^\]<>|]{1,160}\](?= {0,4}[^\s\]|])")


def clean(text: str) -> str:
    """Without escapes and control characters; tabs stay."""
    if "\x1b" in text:
        text = _ESCAPE.sub("", text)
    if any(reset in text for reset in _RESETS):
        text = _SPELT_COLOUR.sub("", text)
    return text if text.isprintable() else _CONTROL.sub("", text)


def lines(raw: bytes, lineno: int, offset: int, t: float) -> Iterator[Line]:
    """The Lines of one physical line (without its end): none when empty, several when records are glued together."""
    record = _json_object(raw[:JSON]) if raw.lstrip()[:1] == b"{" else {}
    if isinstance(record.get("message"), str):
        yield from _json(record, lineno, offset, t)
        return
    if isinstance(record.get("log"), str) and "stream" in record:  # docker's json-file
        raw = record["log"].rstrip("\r\n").encode("utf-8", "replace")
    many = raw.count(b" pid=", 0, RAW) > 2
    text = clean(raw[: JSON if many else RAW].decode("utf-8", "replace")).rstrip().removesuffix("^M")
    if not text:
        return
    if many and len(parts := _COLLAPSED.split(text)) > 1:
        for part in parts:
            yield _line(part, lineno, offset, t)
        return
    begin = 0
    if "%" in text and "<" in text:
        for end in _END_OF_BAR.finditer(text):
            yield _line(text[begin : end.end()], lineno, offset, t)
            begin = end.end()
    yield _line(text[begin:] if begin else text, lineno, offset, t)


def _line(text: str, lineno: int, offset: int, t: float) -> Line:
    for _ in range(4):
        wrapper = _WRAPPER.match(text)
        if wrapper is None or wrapper.end() == len(text):
            break
        text = text[wrapper.end() :]
        if wrapper[0].strip() in ("│", "┃"):
            text = text.rstrip(" │┃")
    line = Line(text[:TEXT], lineno, offset, t)
    at = _prefixes(line, text, 0)
    at = _head(line, text, at)
    if line.process is None:
        glued = _GLUED.search(text[:at] if line.head else text[:TEXT])
        if glued is not None:
            line.text = text = text[glued.start() :]
            at = _head(line, text, _prefixes(line, text, 0))
    line.msg = text[at : at + RAW]
    return line


def _prefixes(line: Line, text: str, at: int) -> int:
    """Reads the nested `(Name pid=N)` from `at` on; the last one counts."""
    for _ in range(4):
        prefix = _PROC.match(text, at)
        if prefix is None:
            break
        line.process, line.pid = prefix[1], int(prefix[2])
        at = prefix.end()
    return at


def _head(line: Line, text: str, at: int) -> int:
    """Reads the head of a record from `at` on; returns where its message begins."""
    first = text[at : at + 1]
    if first in "DIWEC" and (head := _VLLM.match(text, at)):
        line.head, (line.level, line.wall, line.source) = "vllm", head.group(1, 2, 3)
    elif first in "DIWEC" and (head := _UVICORN.match(text, at)):
        line.head, line.level = "uvicorn", head[1]
    elif first == "[" and (head := _SGLANG.match(text, at)):
        head = _SGLANG.match(text, head.end()) or head  # behind somebody's stamp
        line.head, line.wall = "sglang", head[1]
        line.process = head[2].strip().replace(" ", "_") or line.process
        at = _prefixes(line, text, head.end())
        if (inner := _UVICORN.match(text, at)) is not None:
            line.head, line.level, head = "uvicorn", inner[1], inner
        elif (inner := _VLLM.match(text, at)) is not None:  # behind somebody's stamp in brackets
            line.head, (line.level, line.wall, line.source), head = "vllm", inner.group(1, 2, 3), inner
    elif first.isdigit() and (head := _PYTHON.match(text, at)):
        line.head, (line.wall, line.level) = "python", head.group(1, 2)
        line.source = head[3][:-3] if head[3] else None
        relayed = _SGLANG.match(text, head.end())  # by a program that runs the server and logs what it says
        if relayed is not None:
            line.head, line.wall, head = "sglang", relayed[1], relayed
            line.process = relayed[2].strip().replace(" ", "_") or line.process
    else:
        return _head_further_on(line, text, at)
    return head.end()


def _head_further_on(line: Line, text: str, at: int) -> int:
    """A head behind what VLLM_LOGGING_PREFIX or some wrapper put before it: as `_head`. Not behind a quote, which may
    hold a user's words."""
    window = text[at : at + _FURTHER]
    if " [" in window and (head := _VLLM.search(text, at, at + _FURTHER)):
        line.head, (line.level, line.wall, line.source) = "vllm", head.group(1, 2, 3)
        return head.end()
    for mark, pattern in (("[20", _SGLANG), (":  ", _UVICORN)):
        found = pattern.search(text, at, at + _FURTHER + 60) if mark in window else None
        if found is not None and found.start() - at <= _FURTHER and _wraps(text[at : found.start()]):
            return _head(line, text, found.start())
    return at


def _wraps(before: str) -> bool:
    """Whether a program put this in front of each line: a stamp, a name, a number; no sentence and no level."""
    words = before.split()
    plain = sum(word.isalpha() for word in words)
    return (
        before[-1:] in " \t:>]|"
        and not _QUOTED.search(before)
        and plain < 3
        and not _LEVEL_WORDS.intersection(words)
    )


_FURTHER = 120
_QUOTED = re.compile(r"[\"'`]")
_LEVEL_WORDS = {f"{level}{end}" for level in LEVELS for end in ("", ":")}


def _json_object(raw: bytes) -> dict[str, Any]:
    """The object that the line is; {} for anything else."""
    if b'"message"' not in raw and b'"log"' not in raw:
        return {}
    try:
        record = msgspec.json.decode(raw.decode("utf-8", "replace").strip())
    except (msgspec.DecodeError, RecursionError):
        return {}
    return record if isinstance(record, dict) else {}


def _json(record: dict[str, Any], lineno: int, offset: int, t: float) -> list[Line]:
    """vLLM 0.31+ with `--logging-config.formatter json`: asctime levelname name processName process message."""
    level, name, pid = record.get("levelname"), record.get("processName"), record.get("process")
    where, at = record.get("filename") or record.get("name"), record.get("lineno")
    stamp = re.search(r"(?:\d{4}-)?\d\d-\d\d[ T]\d\d:\d\d:\d\d", str(record.get("asctime"))[:64])
    uvicorn = str(record.get("name")).startswith("uvicorn")
    found = []
    for part in record["message"][:JSON].splitlines()[:400]:
        msg = clean(part)[:TEXT]
        line = Line(msg, lineno, offset, t, msg=msg, head="uvicorn" if uvicorn else "json")
        line.process = name[:80] if isinstance(name, str) and name != "MainProcess" else None
        line.pid = pid if isinstance(pid, int) and 0 < pid < 2**31 else None
        line.level = level if level in LEVELS else None
        line.wall = stamp[0].replace("T", " ") if stamp else None
        line.source = None if uvicorn else f"{where}:{at}"[:80]
        found.append(line)
    return found
