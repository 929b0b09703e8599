"""Brings a LogState up to date with more bytes of its log: finds the lines that need a look and looks at those.

A chunk is searched once for the needles of all rules; lines between hits cost their bytes only. Any chunking gives
the same state: an unfinished line waits in `tail`, and `settled` reads it for a report without ending it.
"""

import re

from msgspec import structs

from collectors.reading.events import Log
from collectors.reading.log import needles, noise, skim
from collectors.reading.log.interpreter import Interpreter
from collectors.reading.log.lines import JSON, Line, lines
from collectors.reading.log.stamp import last_stamp
from collectors.reading.log.state import LogState, Tail

_END = re.compile(rb"[\r\n]")
_KEPT = JSON
# Heads and prefixes that tell the engine where no rule does.
_VLLM = re.compile(
    rb"(?:^|[\r\n])[^\r\n]{0,200}?(?:\((?:APIServer|ApiServer_\d+|EngineCore\w{0,8}|Worker_\w{1,40}"
    rb"|VllmWorker[\w= ]{0,40}|RayWorkerWrapper) pid=\d"
    rb"|(?:INFO|WARNING|ERROR) \d\d-\d\d \d\d:\d\d:\d\d \[?\w{1,60}\.py:\d)"
)
# Only a rank's head: others stamp their lines so too.
_SGLANG = re.compile(
    rb"(?:^|[\r\n])\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d{1,6})?(?: (?:TP|DP|PP|EP)\d{1,4})+\] "
)


def read(state: LogState, event: Log) -> LogState:
    """The state after the bytes of `event`. They follow those read before; where they do not (a log was cut short
    and written anew), the unfinished line is given up."""
    if event.offset != state.size and event.offset < state.size:
        state = structs.replace(state, tail=Tail(), size=event.offset)
    return _Reader(state).feed(event.data, event.offset, event.t)


def settled(state: LogState) -> LogState:
    """The state as if the unfinished line had ended: for showing, never to read on from."""
    if not state.tail.length and state.held is None:
        return state
    reader = _Reader(state)
    t = state.last_t or 0.0
    ended = reader.feed(b"\n", state.size, t)
    return structs.replace(ended, size=state.size, lines=state.lines)


class _Reader:
    """One chunk's work: which of its lines the interpreter is given. Counts and suspects are folded in at the end."""

    def __init__(self, state: LogState) -> None:
        self.told = Interpreter(state)
        self.number = state.lines + 1
        self.t = 0.0
        self.data = b""  # the lines being scanned
        self.offset = self.lost_bytes = self.lost_at = 0  # where they stand in the file
        self.stamped = self.counted = 0  # up to where their stamps were taken, and their number counted

    def feed(self, data: bytes, offset: int, t: float) -> LogState:
        self.t = t
        tail = self.told.state.tail
        start = tail.offset if tail.length else offset
        cut = max(data.rfind(b"\n"), data.rfind(b"\r")) + 1
        if cut:
            # What a very long line had beyond its first bytes is not kept: offsets then count from its end.
            lost = tail.length - len(tail.data)
            self._scan(tail.data + data[:cut], start, lost, len(tail.data))
            rest = data[cut:]
            tail = Tail(rest[:_KEPT], offset + cut, len(rest)) if rest else Tail()
        else:
            kept = tail.data + data[: max(0, _KEPT - len(tail.data))]
            tail = Tail(kept, start, tail.length + len(data)) if kept else Tail()
        state, more = self.told.state, self.told.hidden
        hidden = {
            **state.hidden_by_rule,
            **{rule: state.hidden_by_rule.get(rule, 0) + n for rule, n in more.items()},
        }
        return structs.replace(
            state, size=offset + len(data), lines=state.lines + data.count(b"\n"), last_t=t, tail=tail,
            hidden_by_rule=hidden, hidden_lines=state.hidden_lines + more.total(), suspects=self.told.finder.freeze(),
        )  # fmt: skip

    def _scan(self, data: bytes, offset: int, lost: int, lost_at: int) -> None:
        """Reads the complete lines of `data`; `lost` bytes are missing at `lost_at`, inside the first line."""
        self.data, self.stamped, self.counted = data, 0, 0
        self.offset, self.lost_bytes, self.lost_at = offset, lost, lost_at
        at = 0
        for run in skim.RUN_OF_ANSWERS.finditer(data):
            begin = max(data.rfind(b"\n", at, run.start()), data.rfind(b"\r", at, run.start())) + 1 or at
            self._between(at, begin)
            self._answers(run, begin)
            at = run.end()
        self._between(at, len(data))
        self.number += data.count(b"\n", self.counted)
        self._stamp(len(data))
        if self.told.state.engine is None:
            known = "vllm" if _VLLM.search(data) else "sglang" if _SGLANG.search(data) else None
            self.told.state = structs.replace(self.told.state, engine=known)

    def _answers(self, run: "re.Match[bytes]", begin: int) -> None:
        """Reads a run of answers to one method; `begin` is where its first line does."""
        at, end = run.span()
        known = skim.before_answers(self.data[begin:at])
        polls = run["polls"] is not None
        if not known or self.told.answers_are_news(polls):
            first = self.data.index(b"\n", at) + 1
            self._between(begin, first)
            begin = first
        if begin < end and not self.told.answers_are_news(polls):
            self.told.hidden[noise.ACCESS] += self.data.count(b"\n", begin, end)
        else:
            self._between(begin, end)

    def _between(self, at: int, size: int) -> None:
        """Reads the lines of data[at:size], which ends where a line does."""
        data, search = self.data, needles.any_rule().search
        while at < size:
            hit = None
            if self.told.midway:
                begin = at
            else:
                hit = search(data, at, size)
                if hit is None:
                    return
                begin = max(data.rfind(b"\n", at, hit.start()), data.rfind(b"\r", at, hit.start())) + 1 or at
            found = _END.search(data, hit.end() if hit else begin, size)
            end = found.start() if found else size
            if end > begin and (hit is None or hit.start() - begin < _KEPT):
                self.number += data.count(b"\n", self.counted, begin)
                self.counted = begin
                self._physical(data[begin : min(end, begin + _KEPT)], begin)
            at = end + 1

    def _stamp(self, end: int) -> None:
        """The last time of day printed before `end`, also by lines that no rule looks at."""
        if end > self.stamped:
            found = last_stamp(self.data, self.stamped, end)
            self.stamped = end
            if found is not None:
                self.told.state = structs.replace(self.told.state, stamp=found)

    def _physical(self, raw: bytes, begin: int) -> None:
        place = self.offset + begin + (self.lost_bytes if begin > self.lost_at else 0)
        frame = None if self.told.midway else skim.frame_of(raw)
        if frame is not None:
            text = f"{frame.label}: {frame.done:g}/{frame.total or 0:g}"
            line = Line(text, self.number, place, self.t, msg=text)
            self.told.frame(frame, line, lambda: self._stamp(begin))
            return
        for line in lines(raw, self.number, place, self.t):
            if line.wall is None:
                self._stamp(begin)
            self.told.line(line)
