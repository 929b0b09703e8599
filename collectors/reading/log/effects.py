"""What a rule can do to the reading. Each returns a function from a LogState, the line and its match to a LogState."""

import re

from msgspec import structs

from collectors.reading.log import phases
from collectors.reading.log.lines import Line
from collectors.reading.log.numbers import number
from collectors.reading.log.parts import Problem
from collectors.reading.log.rules.rule import Effect
from collectors.reading.log.state import LogState

MOST_PROBLEMS = 200


def both(*effects: Effect) -> Effect:
    def run(state: LogState, line: Line, match: "re.Match[str]") -> LogState:
        for effect in effects:
            state = effect(state, line, match)
        return state

    return run


def enter(step: str) -> Effect:
    """A step of the start began; the group `detail` says with what."""
    return lambda state, line, match: phases.enter(state, step, line, match.groupdict().get("detail") or "")


def fact(*names: str) -> Effect:
    """Fields of LogState from groups of the same name; the last word counts."""

    def run(state: LogState, line: Line, match: "re.Match[str]") -> LogState:
        told = match.groupdict()
        known = {name: told[name].strip() for name in names if told.get(name)}
        return structs.replace(state, **known) if known else state

    return run


def engine(name: str) -> Effect:
    return lambda state, line, match: structs.replace(state, engine=name)


def gib(*names: str) -> Effect:
    """Figures in GiB from groups of the same name; `first_` ones keep what the first line said."""

    def run(state: LogState, line: Line, match: "re.Match[str]") -> LogState:
        told = {name: value for name in names if (value := number(match[name])) is not None}
        return structs.replace(state, memory_gib={**state.memory_gib, **told})

    return run


def begin(name: str) -> Effect:
    """The banner of a start (the reader has seen to it that an earlier run in the same file is forgotten)."""

    def run(state: LogState, line: Line, match: "re.Match[str]") -> LogState:
        return phases.enter(structs.replace(state, engine=name, begun=True), "start", line)

    return run


def fresh(state: LogState) -> LogState:
    """A state that knows only how far the file was read and what of it was hidden."""
    kept = ("size", "lines", "last_t", "tail", "stamp", "hidden_lines", "hidden_by_rule", "noise")
    return LogState(**{name: getattr(state, name) for name in kept})


def config(state: LogState, line: Line, match: "re.Match[str]") -> LogState:
    """The engine's config line: version, model, speculation, parallel sizes."""
    text = line.msg
    found = re.search(r"speculative_config=SpeculativeConfig\(method='(\w+)', model='?([^',)]*)", text)
    sizes = re.findall(r"\b(tensor|pipeline|data|decode_context)_parallel_size=(\d+)", text)
    short = {"tensor": "TP", "pipeline": "PP", "data": "DP", "decode_context": "DCP"}
    drafter = found[2] if found and found[2] not in ("", "None") else state.drafter
    if "method='ngram" in text or (found and found[1] == "ngram"):
        drafter = None
    model = re.search(r"\bmodel='([^']{1,400})'", text)
    state = structs.replace(
        state, engine="vllm", speculative=found[1] if found else state.speculative, drafter=drafter,
        model=model[1] if model else state.model, parallel={**state.parallel, **{short[k]: int(n) for k, n in sizes}},
    )  # fmt: skip
    if match["version"] and match["version"][0].isdigit():
        state = structs.replace(state, engine_version=match["version"])
    return phases.enter(state, "config", line)


def drafter_next(state: LogState, line: Line, match: "re.Match[str]") -> LogState:
    return phases.enter(structs.replace(state, drafting=True), "drafter", line)


def ready(state: LogState, line: Line, match: "re.Match[str]") -> LogState:
    """The engine's own word that it takes requests."""
    if state.stopping_t is not None:
        return state
    if not state.ready:
        state = structs.replace(state, ready=True, ready_t=line.t)
    if state.ready_line is None or phases.at_least(state, "ready") is False:
        state = structs.replace(state, ready_line=line.text)
    return phases.enter(state, "ready", line)


_TIMED = re.compile(r"\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d[.\d]{0,7}\] INFO: ")


def sglangs_uvicorn(line: Line) -> bool:
    """SGLang's uvicorn has its head, with the time, before its own; vLLM's has none."""
    return line.head == "uvicorn" and _TIMED.search(line.text[:200]) is not None


def listening(effect: Effect) -> Effect:
    """What uvicorn says when it is up: vLLM then answers, SGLang only after its warm-up."""

    def run(state: LogState, line: Line, match: "re.Match[str]") -> LogState:
        if state.engine == "sglang" or sglangs_uvicorn(line):
            return phases.enter(structs.replace(state, engine="sglang"), "api", line)
        return effect(state, line, match)

    return run


def serve(state: LogState, line: Line, match: "re.Match[str]") -> LogState:
    """A request was answered: it serves, whether or not the ready line is in view."""
    if state.stopping_t is not None:
        return state
    if not state.ready:
        state = structs.replace(state, ready=True, ready_t=line.t, ready_line=line.text)
    return phases.enter(state, "serving", line)


def stop(state: LogState, line: Line, match: "re.Match[str]") -> LogState:
    if state.stopping_t is None:
        state = structs.replace(state, stopping_t=line.t, ready=False)
    return phases.enter(state, "shutdown", line)


def advise(rule: str, advice: str) -> Effect:
    """A problem that the log itself tells the cure of."""

    def run(state: LogState, line: Line, match: "re.Match[str]") -> LogState:
        told = advice.format_map({k: v or "" for k, v in match.groupdict().items()})
        return add_problem(state, line, rule, "warning", told)

    return run


_DIGITS = re.compile(r"0x[0-9a-f]+|\d+")


def add_problem(state: LogState, line: Line, rule: str, severity: str, advice: str | None) -> LogState:
    """Shows a line as a problem; the same one from other ranks, or said again, is counted on the first."""
    fold = _DIGITS.sub("#", line.msg[:160])
    for place, known in enumerate(state.problems):
        if known.rule == rule and _DIGITS.sub("#", known.line).endswith(fold):
            names = known.processes
            if line.process and line.process not in names and len(names) < 64:
                names = (*names, line.process)
            again = structs.replace(known, count=known.count + 1, processes=names)
            return structs.replace(
                state, problems=(*state.problems[:place], again, *state.problems[place + 1 :])
            )
    if len(state.problems) >= MOST_PROBLEMS:
        return structs.replace(state, problems_dropped=state.problems_dropped + 1)
    problem = Problem(
        severity=severity, rule=rule, line=line.text, lineno=line.lineno, offset=line.offset, t=line.t,
        processes=(line.process,) if line.process else (), advice=advice,
    )  # fmt: skip
    return structs.replace(state, problems=(*state.problems, problem))


MOST_PROCESSES = 512


def patched(state: LogState, line: Line, match: "re.Match[str]") -> LogState:
    """One process says what a patch did there."""
    said = {**state.patches.get(match["patch"], {}), match["pid"]: match["status"]}
    if len(said) > MOST_PROCESSES or len(state.patches) > MOST_PROCESSES:
        return state
    return structs.replace(state, patches={**state.patches, match["patch"]: said})
