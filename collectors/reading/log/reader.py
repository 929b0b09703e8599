"""Brings a LogState up to date with more bytes of its log: finds the lines that need a look and looks at those.

A chunk is searched once for the needles of all rules; lines between hits cost their bytes only. Any chunking gives
the same state: an unfinished line waits in `tail`, and `settled` reads it for a report without ending it.
"""

import re
from collections import Counter

from msgspec import structs

from collectors.reading.events import Log
from collectors.reading.log import bars, effects, noise, phases
from collectors.reading.log.cause import NEEDLES, CauseFinder
from collectors.reading.log.lines import JSON, Line, lines
from collectors.reading.log.rules.noise import NOISE
from collectors.reading.log.rules.rule import trie
from collectors.reading.log.rules.table import COMPILED, RULES, is_banner
from collectors.reading.log.state import LogState, Tail

_BARS = ("% Completed |", "%|")
_SEARCH = re.compile(trie({*(r.needle for r in RULES), *(n.needle for n in NOISE), *NEEDLES, *_BARS}))
_CAUSE = re.compile(trie(NEEDLES).decode())
_END = re.compile(rb"[\r\n]")
# Only near a line's beginning: what is further on may be cut off, by where a chunk happens to end.
_STAMP = re.compile(rb"(?:^|[\r\n])[^\r\n]{0,200}?((?:20\d\d-)?\d\d-\d\d[ T]\d\d:\d\d:\d\d)(?=[ \].,])")
_ACCESS = re.compile(
    rb'INFO:\s{2,10}\S{3,60} - "(GET) /(?:health|metrics|ping|v1/models|health_generate|version|load)\S{0,200} '
    rb'HTTP/[\d.]{1,3}" 200'
)
_FIGURES = ("SpecDecoding metrics: ", "Avg prompt throughput")
_KEPT = JSON
# What the processes of a dead server still print may be read, but moves nothing.
_FIGURES_LEFT = ("engine", "memory_gib", "gen_tok_s", "spec", "stamp")
_VLLM = re.compile(
    rb"(?:^|[\r\n])[^\r\n]{0,200}?(?:\((?:APIServer|ApiServer_\d+|EngineCore\w{0,8}|Worker_\w{1,40}"
    rb"|VllmWorker[\w= ]{0,40}|RayWorkerWrapper) pid=\d"
    rb"|(?:INFO|WARNING|ERROR) \d\d-\d\d \d\d:\d\d:\d\d \[?\w{1,60}\.py:\d)"
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
    """One chunk's work. `state` is replaced at each hit; counts and suspects are folded in at the end."""

    def __init__(self, state: LogState) -> None:
        self.state = state
        self.finder = CauseFinder(state.suspects)
        self.hidden: Counter[str] = Counter()
        self.number = state.lines + 1
        self.t = 0.0
        self.data = b""  # the lines being scanned
        self.stamped = 0  # up to where their stamps were taken

    def feed(self, data: bytes, offset: int, t: float) -> LogState:
        state, self.t = self.state, t
        tail = state.tail
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
        hidden = dict(self.state.hidden_by_rule)
        for rule, count in self.hidden.items():
            hidden[rule] = hidden.get(rule, 0) + count
        return structs.replace(
            self.state, size=offset + len(data), lines=self.state.lines + data.count(b"\n"), last_t=t, tail=tail,
            hidden_by_rule=hidden, hidden_lines=self.state.hidden_lines + self.hidden.total(),
            suspects=self.finder.freeze(),
        )  # fmt: skip

    def _scan(self, data: bytes, offset: int, lost: int, lost_at: int) -> None:
        """Reads the complete lines of `data`; `lost` bytes are missing at `lost_at`, inside the first line."""
        at, counted = 0, 0
        size = len(data)
        self.data, self.stamped = data, 0
        while at < size:
            hit = None
            if self.finder.open or self.state.held is not None:
                begin = at
            else:
                hit = _SEARCH.search(data, at)
                if hit is None:
                    break
                begin = max(data.rfind(b"\n", at, hit.start()), data.rfind(b"\r", at, hit.start())) + 1 or at
            found = _END.search(data, hit.end() if hit else begin)
            end = found.start() if found else size
            self.number += data.count(b"\n", counted, begin)
            counted = begin
            if end > begin:
                place = offset + begin + (lost if begin > lost_at else 0)
                if hit is None or hit.start() - begin < _KEPT:
                    self._physical(data[begin : min(end, begin + _KEPT)], place, begin)
            at = end + 1
        self.number += data.count(b"\n", counted)
        self._stamp(size)
        if self.state.engine is None and _VLLM.search(data) is not None:
            self.state = structs.replace(self.state, engine="vllm")

    def _stamp(self, end: int) -> None:
        """The last time of day printed before `end`, also by lines that no rule looks at."""
        begin, self.stamped = self.stamped, max(self.stamped, end)
        near = max(begin, self.data.rfind(b"\n", begin, max(begin, end - 4096)) + 1)
        for start in dict.fromkeys((near, begin)):
            stamps = _STAMP.findall(self.data[start:end])
            if stamps:
                self.state = structs.replace(self.state, stamp=stamps[-1].decode().replace("T", " "))
                return

    def _physical(self, raw: bytes, offset: int, begin: int) -> None:
        if self.state.ready and not self.finder.open and self.state.held is None and _ACCESS.search(raw):
            self.hidden[noise.ACCESS] += 1  # our own polls, and others': thousands an hour
            return
        for line in lines(raw, self.number, offset, self.t):
            if line.wall is None:
                self._stamp(begin)
            self._line(line)

    def _line(self, line: Line) -> None:
        if self.state.held is not None:
            self._continue(line)
        echo = line.msg.startswith("Received request ") or (line.source or "").startswith("logger.py:")
        if self._begins_anew(line):
            self.state = effects.fresh(self.state)
            self.finder.reset()
        ours = not echo and self._story(line)
        if line.wall is None:
            line.wall = self.state.stamp
        else:
            self.state = phases.stamped(self.state, line.wall)
        if not echo:
            before = self.state
            self._meaning(line)
            if self._lost:
                self.state = structs.replace(
                    before, **{name: getattr(self.state, name) for name in _FIGURES_LEFT}
                )
        muted = noise.muted_by(line, self.state.model)
        if muted is not None or echo:
            self.hidden[muted or "request-echo"] += 1
        elif ours:
            self.hidden["failure-detail"] += 1
        elif line.level in ("ERROR", "CRITICAL") and line.head in ("vllm", "json") and not self._lost:
            self.state = effects.add_problem(self.state, line, "error-line", "warning", None)

    def _begins_anew(self, line: Line) -> bool:
        """A banner after an earlier run got anywhere: several API servers print theirs within one start."""
        state = self.state
        past = self._lost or state.stopping_t is not None or phases.at_least(state, "distributed")
        return past and is_banner(line)

    @property
    def _lost(self) -> bool:
        """Whether the server is known to be dead: what its other processes still say changes nothing."""
        return self.finder.lost

    def _story(self, line: Line) -> bool:
        return self.finder.see(line) if self.finder.open or _CAUSE.search(line.text) else False

    def _meaning(self, line: Line) -> None:
        msg = line.msg
        for needle, heads, pattern, effect in COMPILED:
            if needle not in msg or (heads and line.head not in heads):
                continue
            match = pattern.search(msg)
            if match is None:
                continue
            if needle in _FIGURES and msg.endswith((",", ", ")) and line.lineno and self.state.held is None:
                self.state = structs.replace(self.state, held=(line.text, line.lineno))
            self.state = effect(self.state, line, match)
        if "%" in msg and (frame := bars.frame_of(line.msg)) is not None:
            self.state = bars.see(self.state, line, frame)

    def _continue(self, line: Line) -> None:
        """A figures line that a paste broke at a comma: its rest is read with it, once."""
        held, self.state = self.state.held, structs.replace(self.state, held=None)
        if held is None or line.head or line.lineno > held[1] + 1:
            return
        for whole in lines(f"{held[0]} {line.text}".encode(), held[1], line.offset, line.t):
            self._meaning(whole)
            self.state = structs.replace(self.state, held=None)
