"""What one line does to a LogState: echoes and prompts left out, failures told, rules applied, noise counted."""

from collections import Counter
from collections.abc import Callable

from msgspec import structs

from collectors.reading.log import bars, effects, needles, noise, phases
from collectors.reading.log.cause import CauseFinder
from collectors.reading.log.lines import Line, lines
from collectors.reading.log.rules.table import is_banner, meant
from collectors.reading.log.state import LogState

_FIGURES = ("SpecDecoding metrics: ", "Avg prompt throughput")
# A request that is logged holds its user's words.
_ECHOES = ("Received request ", "Receive: obj=", "Finish: obj=")
_END_OF_PROMPT = "', params: "
# What the processes of a dead server still print may be read, but moves nothing.
_FIGURES_LEFT = ("engine", "memory_gib", "gen_tok_s", "spec", "stamp")


class Interpreter:
    """Is given lines in order; `state` is replaced at each, `finder` and `hidden` are folded in by who reads."""

    def __init__(self, state: LogState) -> None:
        self.state = state
        self.finder = CauseFinder(state.suspects)
        self.hidden: Counter[str] = Counter()

    @property
    def midway(self) -> bool:
        """Whether the next line, whatever it is, may belong to what was read before it."""
        return self.finder.open or self.state.held is not None or self.state.echoing

    @property
    def lost(self) -> bool:
        """Whether the server is known to be dead: what its other processes still say changes nothing."""
        return self.finder.lost

    def answers_are_news(self, polls: bool) -> bool:
        """Whether an answered request changes anything: the first one served does, a ready server's polls do not."""
        if self.midway or not self.state.ready:
            return True
        return not polls and not phases.at_least(self.state, "serving")

    def frame(self, frame: bars.Frame, line: Line, stamp: Callable[[], None]) -> None:
        """A frame of a bar, alone on `line`. `stamp` brings the state's time of day up to the line; it costs 8 µs and
        is called only where a step begins."""
        self.hidden[noise.BARS] += 1
        if self.lost or phases.at_least(self.state, "ready"):
            return
        moved = bars.see(self.state, line, frame)
        if moved.steps is not self.state.steps:
            stamp()
            line.wall = self.state.stamp
            moved = bars.see(self.state, line, frame)
        self.state = moved

    def line(self, line: Line) -> None:
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
            if self.lost:
                self.state = structs.replace(
                    before, **{name: getattr(self.state, name) for name in _FIGURES_LEFT}
                )
        muted = noise.muted_by(line, self.state.model, self.state.noise)
        if muted is not None or echo:
            self.hidden[muted or "request-echo"] += 1
        elif ours:
            self.hidden["failure-detail"] += 1
        elif line.level in ("ERROR", "CRITICAL") and line.head in ("vllm", "json") and not self.lost:
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
        past = self.lost or state.stopping_t is not None or phases.at_least(state, "distributed")
        return past and is_banner(line)

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
