"""Brings a LogState up to date with more bytes of its log: finds the lines that need a look and looks at those.

A chunk is searched once for the needles of all rules; lines between hits cost their bytes only. Any chunking gives
the same state: an unfinished line waits in `tail`, and `settled` reads it for a report without ending it.
"""

import re
from collections import Counter

from msgspec import structs

from collectors.reading.events import Log
from collectors.reading.log import bars, effects, needles, noise, phases, skim
from collectors.reading.log.cause import CauseFinder
from collectors.reading.log.lines import JSON, Line, lines
from collectors.reading.log.rules.table import is_banner, meant
from collectors.reading.log.stamp import last_stamp
from collectors.reading.log.state import LogState, Tail

_END = re.compile(rb"[\r\n]")
_FIGURES = ("SpecDecoding metrics: ", "Avg prompt throughput")
_ECHOES = (
    "Received request ",
    "Receive: obj=",
    "Finish: obj=",
)  # a request that is logged holds its user's words
_END_OF_PROMPT = "', params: "
_KEPT = JSON
# What the processes of a dead server still print may be read, but moves nothing.
_FIGURES_LEFT = ("engine", "memory_gib", "gen_tok_s", "spec", "stamp")
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
    """One chunk's work. `state` is replaced at each hit; counts and suspects are folded in at the end."""

    def __init__(self, state: LogState) -> None:
        self.state = state
        self.finder = CauseFinder(state.suspects)
        self.hidden: Counter[str] = Counter()
        self.number = state.lines + 1
        self.t = 0.0
        self.data = b""  # the lines being scanned
        self.offset = self.lost_bytes = self.lost_at = 0  # where they stand in the file
        self.stamped = self.counted = 0  # up to where their stamps were taken, and their number counted

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
        if self.state.engine is None:
            known = "vllm" if _VLLM.search(data) else "sglang" if _SGLANG.search(data) else None
            self.state = structs.replace(self.state, engine=known)

    @property
    def _midway(self) -> bool:
        """Whether the next line, whatever it is, may belong to what was read before it."""
        return self.finder.open or self.state.held is not None or self.state.echoing

    def _answers(self, run: "re.Match[bytes]", begin: int) -> None:
        """Reads a run of answers to one method; `begin` is where its first line does."""
        at, end = run.span()
        known = skim.before_answers(self.data[begin:at])
        polls = run["polls"] is not None
        if not known or not self._no_news(polls):
            first = self.data.index(b"\n", at) + 1
            self._between(begin, first)
            begin = first
        if begin < end and self._no_news(polls):
            self.hidden[noise.ACCESS] += self.data.count(b"\n", begin, end)
        else:
            self._between(begin, end)

    def _no_news(self, polls: bool) -> bool:
        """Whether an answer changes nothing: the first request served does, the polls of a ready server do not."""
        if self._midway or not self.state.ready:
            return False
        return polls or phases.at_least(self.state, "serving")

    def _between(self, at: int, size: int) -> None:
        """Reads the lines of data[at:size], which ends where a line does."""
        data, search = self.data, needles.any_rule().search
        while at < size:
            hit = None
            if self._midway:
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
                self.state = structs.replace(self.state, stamp=found)

    def _physical(self, raw: bytes, begin: int) -> None:
        place = self.offset + begin + (self.lost_bytes if begin > self.lost_at else 0)
        frame = None if self._midway else skim.frame_of(raw)
        if frame is not None:
            self._frame(frame, place, begin)
            return
        for line in lines(raw, self.number, place, self.t):
            if line.wall is None:
                self._stamp(begin)
            self._line(line)

    def _frame(self, frame: bars.Frame, place: int, begin: int) -> None:
        self.hidden[noise.BARS] += 1
        if self._lost or phases.at_least(self.state, "ready"):
            return
        text = f"{frame.label}: {frame.done:g}/{frame.total or 0:g}"
        line = Line(text, self.number, place, self.t, msg=text)
        moved = bars.see(self.state, line, frame)
        if moved.steps is not self.state.steps:  # a step began: only then is the time of day asked for (8 µs)
            self._stamp(begin)
            line.wall = self.state.stamp
            moved = bars.see(self.state, line, frame)
        self.state = moved

    def _line(self, line: Line) -> None:
        if self.state.echoing and self._is_echo(line):
            self.hidden["request-echo"] += 1
            return
        if self.state.held is not None:
            self._continue(line)
        echo = line.msg.startswith(_ECHOES) or (line.source or "").startswith("logger.py:")
        if self._begins_anew(line):
            self.state = effects.fresh(self.state)
            self.finder.reset()
        if echo and "prompt: '" in line.msg and _END_OF_PROMPT not in line.msg:
            self.state = structs.replace(self.state, echoing=True)
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
        muted = noise.muted_by(line, self.state.model, self.state.noise)
        if muted is not None or echo:
            self.hidden[muted or "request-echo"] += 1
        elif ours:
            self.hidden["failure-detail"] += 1
        elif line.level in ("ERROR", "CRITICAL") and line.head in ("vllm", "json") and not self._lost:
            self.state = effects.add_problem(self.state, line, "error-line", "warning", None)

    def _is_echo(self, line: Line) -> bool:
        """Whether a line goes on with the prompt above it: such as no process has signed, up to the prompt's end."""
        signed = bool(line.head or line.process)
        if signed or _END_OF_PROMPT in line.msg:
            self.state = structs.replace(self.state, echoing=False)
        return not signed

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
        return self.finder.see(line) if self.finder.open or needles.of_failures(line.text) else False

    def _meaning(self, line: Line) -> None:
        msg = line.msg
        for rule, match in meant(line):
            broken = rule.needle in _FIGURES and msg.endswith((",", ", "))
            if broken and line.lineno and self.state.held is None:
                self.state = structs.replace(self.state, held=(line.text, line.lineno))
            self.state = rule.effect(self.state, line, match)
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
