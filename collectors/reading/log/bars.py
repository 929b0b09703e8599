"""Progress bars: tqdm's text -> Bar, one per label and model, which never goes back.

Formats: the loaders' own (`{desc}: {pct}% Completed | n/total [elapsed<remaining, rate]`, vLLM 0.4-0.33 and SGLang)
and plain tqdm's (`{desc}: {pct}%|███| n/total [elapsed<remaining, rate]`). Patterns are tried in a window round the
percent sign: on a whole line they are quadratic (20 kB: 19 s).
"""

import re

from msgspec import Struct, structs

from collectors.reading.log import phases
from collectors.reading.log.lines import BAR_MARKS, Line
from collectors.reading.log.parts import Bar
from collectors.reading.log.state import LogState

_BEFORE, _AFTER, _POINTS, _BARS = 200, 700, 64, 48
_BAR = re.compile(
    r"(?:(?P<label>[A-Za-z\[(][^|\r\n%]{0,160}?):? +|^ *)(?P<pct>\d{1,3})%(?: Completed \||\|[^|]{0,600}\|) *"
    r"(?P<done>[\d.]+[kKMGTP]?)i?B?/(?P<total>[\d.]+[kKMGTP]?|\?)i?B?"
    r"(?: \[(?P<elapsed>[\d:]{1,12})<(?P<eta>[\d:]{1,12}|\?)"
    r"(?:, *(?P<rate>[\d.]+|\?) ?[kKMGTP]?(?P<unit>[A-Za-z/]{0,12}))?)?"
)
_DETAIL = re.compile(r" \((?:bs|num_tokens|num tokens|batch|avail_mem|w\d)[^)]{0,120}\)?$|\s+$")
# What stands before the label in one line with it: prefixes, whole or torn, a wrapper's head, an overwritten frame.
_LEAD = re.compile(
    r"^.{0,160}(?:pid=\d{1,10}(?:, ip=[\d.:a-f]{1,45})?\)? ?|\] | - )(?=[A-Z])"
    r"|^[^A-Z]{0,40}(?=Loading |Multi-thread loading|Capturing )"
)
_SCALE = {"k": 1e3, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15}
_KINDS = (
    ("weights", re.compile(r"(?i)checkpoint shards|loading shards|Multi-thread loading|Runai Model Streamer"
                           r"|fastsafetensor|InstantTensor|Loading (?:safetensors|weights|pt|np_cache|model weights)")),
    ("graphs", re.compile(r"(?i)captur|^compiling num tokens")),
    ("autotune", re.compile(r"(?i)autotun|tuning|DeepGEMM|warmup")),
    ("compile", re.compile(r"(?i)compil|JIT")),
    ("prompts", re.compile(r"^Processed prompts")),  # vLLM used as a library
    ("download", re.compile(r"(?i)\.(?:safetensors|bin|json|gguf)\b|fetching \d+ files|download")),
)  # fmt: skip
_NAMELESS = "Capturing CUDA graphs"
_PHASE = {
    "weights": "loading",
    "graphs": "capturing",
    "autotune": "capturing",
    "compile": "compiling",
    "prompts": "serving",
}


class Frame(Struct):
    """One printed state of a bar."""

    label: str
    kind: str
    done: float
    total: float | None
    elapsed_s: float | None
    eta_s: float | None
    unit: str


def frame_of(text: str) -> Frame | None:
    """The last bar in a line, if it holds one; one without a label has the kind "bare"."""
    at = max(text.rfind(mark) for mark in BAR_MARKS)
    if at < 0:
        return None
    window = text[max(0, at - _BEFORE) : at + _AFTER]
    found = _BAR.search(window)
    if found is None:
        return None
    if not found["label"]:
        return _bare(found)
    label = _LEAD.sub("", _DETAIL.sub("", found["label"].strip(" :")))
    kind = next((kind for kind, pattern in _KINDS if pattern.search(label)), "other")
    done, total = _number(found["done"]), _number(found["total"])
    if done is None:
        return None
    elapsed, eta = seconds(found["elapsed"]), seconds(found["eta"])
    return Frame(label, kind, done, total, elapsed, eta, _unit(label, kind, found["done"]))


def _bare(found: "re.Match[str]") -> Frame | None:
    """A bar that says nothing but its figures: SGLang's of the capture, before it had words."""
    done, total = _number(found["done"]), _number(found["total"])
    if done is None or found["elapsed"] is None:
        return None
    return Frame("", "bare", done, total, seconds(found["elapsed"]), seconds(found["eta"]), "steps")


def _number(text: str) -> float | None:
    try:
        return float(text[:-1]) * _SCALE[text[-1]] if text[-1] in _SCALE else float(text)
    except ValueError:
        return None


def seconds(text: str | None) -> float | None:
    if text is None or text == "?":
        return None
    seconds = 0.0
    for part in text.split(":"):
        seconds = seconds * 60 + (int(part) if part.isdigit() else 0)
    return seconds


def _unit(label: str, kind: str, done: str) -> str:
    if kind == "weights":
        if done[-1] in _SCALE:
            return "bytes"
        return "tensors" if "Runai" in label or "InstantTensor" in label else "shards"
    return {"graphs": "graphs", "download": "bytes"}.get(kind, "steps")


def see(state: LogState, line: Line, frame: Frame) -> LogState:
    """Brings the bar up to date and the phase with it."""
    if state.stopping_t is not None or phases.at_least(state, "ready"):
        return state
    if frame.kind == "bare":
        if not state.steps or state.steps[-1].name != "graphs":
            return state  # nobody's
        frame = structs.replace(frame, label=_NAMELESS, kind="graphs", unit="graphs")
    if frame.kind == "weights":
        state = _whose(state, frame, line)
    model = ("drafter" if state.drafting else "target") if frame.kind == "weights" else ""
    place = next((i for i, b in enumerate(state.bars) if (b.label, b.model) == (frame.label, model)), None)
    old = state.bars[place] if place is not None else None
    bar = _moved(old, frame, model, line.t)
    others = state.bars if place is None else (*state.bars[:place], *state.bars[place + 1 :])
    state = structs.replace(state, bars=(*others, bar)[-_BARS:])  # the last one is the newest
    return _step(state, line, bar)


def _whose(state: LogState, frame: Frame, line: Line) -> LogState:
    """Whether this is the drafter's bar: MRv2 prints none of its words, only a second bar with another total."""
    target = next((b for b in state.bars if b.kind == "weights" and b.model == "target"), None)
    if state.drafting or target is None or target.total is None or target.done < target.total:
        return state
    second = frame.total != target.total or (state.drafter is not None and frame.done < target.total)
    return structs.replace(state, drafting=True) if second and target.label == frame.label else state


def _moved(old: Bar | None, frame: Frame, model: str, t: float) -> Bar:
    clock = frame.elapsed_s
    if old is None or old.total != frame.total:
        first = clock if clock is not None else 0.0
        track: tuple[tuple[float, float], ...] = ((first, frame.done),)
        return Bar(
            frame.label,
            frame.kind,
            model,
            frame.done,
            frame.total,
            frame.unit,
            t,
            t,
            clock,
            frame.eta_s,
            track,
        )
    if frame.done <= old.done:
        return old
    at = clock if clock is not None else t - old.t0
    track = (*old.track, (max(at, old.track[-1][0] if old.track else 0.0), frame.done))
    if len(track) > _POINTS:
        track = (*track[:-1:2], track[-1])
    return structs.replace(old, done=frame.done, t=t, elapsed_s=clock, printed_eta_s=frame.eta_s, track=track)


def _step(state: LogState, line: Line, bar: Bar) -> LogState:
    if bar.kind == "weights" and bar.model == "drafter":
        return phases.enter(state, "drafter", line)
    if bar.kind == "weights":
        full = bar.total is not None and bar.done >= bar.total
        state = phases.enter(state, "weights", line, bar.label)
        # No stamp of a bar's own: the weights ended when the next record says so, not when the last one did.
        return phases.enter(state, "post", structs.replace(line, wall=None)) if full else state
    if bar.kind == "prompts" and bar.done:
        return phases.enter(
            structs.replace(state, ready=True, ready_t=line.t, ready_line=line.text), "serving", line
        )
    name = {"graphs": "graphs", "autotune": "graphs", "compile": "compile"}.get(bar.kind)
    return state if name is None else phases.enter(state, name, line, bar.label)


def shown(state: LogState) -> Bar | None:
    """The bar of the running phase: of its newest kind, and a finished one until the next phase begins. Before any
    weights are read the download is what there is to see."""
    bars = [bar for bar in reversed(state.bars) if _PHASE.get(bar.kind) == state.phase]
    if not bars and state.phase in ("starting", "loading"):
        bars = [bar for bar in reversed(state.bars) if bar.kind == "download"]
    return bars[0] if bars else None
