"""The first row of every screen: which run, on what, in which phase, for how long; and the last: the keys."""

import re

from rich.cells import cell_len

from collectors.reading.state import State
from tui import format as fmt
from tui import keys
from tui.rows import Row, Span, clean, fit, spread, width_of
from tui.view import View

STALE_S = 5.0

_PHASE_STYLE = {
    "ready": "good",
    "serving": "good",
    "failed": "alarm",
    "stopped": "muted",
}
_ENGINES = {"vllm": "vLLM", "sglang": "SGLang"}
_METHODS = {"eagle3": "EAGLE-3", "eagle": "EAGLE", "ngram": "n-gram", "mtp": "MTP", "medusa": "Medusa"}


def header(view: View, width: int) -> Row:
    end = _badges(view)
    start = [(" ", "plain"), (clean(view.name), "title")]
    room = width - width_of(tuple(end)) - cell_len(view.name) - 2
    for fact in _facts(view.state):
        room -= cell_len(fact) + 3
        if room < 0:
            break
        start.append((f" · {fact}", "muted"))
    return spread(tuple(start), tuple(end), width)


def _facts(state: State) -> list[str]:
    """The most telling first, for a narrow screen shows only as many as fit."""
    log = state.log
    facts = []
    engine = log.engine or state.run.engine
    if engine:
        facts.append(f"{_ENGINES.get(engine, engine)} {log.engine_version or ''}".strip())
    if gpus := gpu_names(state):
        facts.append(gpus)
    if log.speculative:
        facts.append(_METHODS.get(log.speculative, log.speculative))
    sizes = [f"{name}{size}" for name, size in log.parallel.items() if size > 1]
    if sizes:
        facts.append(" ".join(sizes))
    return [clean(fact) for fact in facts]


def gpu_names(state: State) -> str:
    """`8×H200`; "" where no GPU is known."""
    names = state.run.gpu_names
    if state.run.gpus_of_run is not None:
        names = tuple(names[i] for i in state.run.gpus_of_run if i < len(names))
    if not names:
        return ""
    short = re.sub(r"^(NVIDIA|AMD|Intel) |( \d+GB.*| HBM.*| PCIe.*| SXM.*)$", "", names[0]).strip()
    return f"{len(names)}×{short}" + ("…" if len(set(names)) > 1 else "")


def _badges(view: View) -> list[Span]:
    spans: list[Span] = []
    for text, style in (
        (f"REPLAY {fmt.number(view.pace)}×" if view.pace is not None else "", "accent"),
        ("PAUSED" if view.frozen else "", "alarm"),
        (stale(view), "alarm"),
        ("STALLED" if view.stalled else "", "alarm"),
    ):
        if text:
            spans += [(f" {text} ", style), (" ", "plain")]
    phase = view.phase.upper()
    spans += [
        (phase, _PHASE_STYLE.get(view.phase, "accent")),
        (f"  {fmt.duration(elapsed(view))} ", "strong"),
    ]
    return spans


def elapsed(view: View) -> float:
    """Seconds since the run's start; stands still when the server is gone."""
    gone = view.state.life.exit
    return gone.t if gone is not None else view.t


def stale(view: View) -> str:
    """Why the picture may be old; "" while the record is fresh, or will never grow again."""
    if view.ended or view.pace is not None or view.age is None or view.age <= STALE_S:
        return ""
    return f"STALE {fmt.ago(view.age)}" if view.recorder_lives else f"RECORDER GONE {fmt.ago(view.age)}"


def can(view: View, action: str) -> bool:
    """Whether there is a server that could be stopped, marked or measured; another's is not ours to stop."""
    if action not in ("stop", "mark", "bench"):
        return True
    if view.ended or view.pace is not None:
        return False
    return not view.state.run.foreign if action == "stop" else view.phase in ("ready", "serving")


def leaving(view: View) -> str:
    """What q does to the server."""
    if view.leave:
        return view.leave
    return "leave the replay" if view.pace is not None else "leave" if view.ended else "leave it running"


def footer(view: View, screen: str, width: int) -> Row:
    """The keys of this screen that can do something now; those that do not fit stand in the help."""
    spans: list[Span] = [(" ", "plain")]
    own = [
        key._replace(label=leaving(view)) if key.action == "leave" else key
        for key in keys.of_screen(screen)
        if key.label and can(view, key.action)
    ]
    end: tuple[Span, ...] = (("? ", "key"), ("help ", "muted"))
    room = width - width_of(end) - 1
    pages: Row = (("1 2 3 4", "key"), (" screens  ", "muted"))
    for part in [((f"{k.shown} ", "key"), (f"{k.label}  ", "muted")) for k in own if k.action != "help"] + [
        pages
    ]:
        if width_of(part) <= room:
            spans += part
            room -= width_of(part)
    return spread(tuple(spans), end, width) if width > 12 else fit(end, width)
