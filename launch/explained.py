"""A reading of a saved log, for a person: phase, cause, what to do, how long each stretch took, what is hidden."""

import textwrap
from collections.abc import Iterator
from typing import Any

from collectors.reading.log.lines import lines as log_lines
from collectors.reading.report import Report
from collectors.reading.state import State
from launch import figures

WIDTH = 110
_LABEL = 11
_PROBLEMS = 12
_NAMES = {"vllm": "vLLM", "sglang": "SGLang", None: "no line of a vLLM or SGLang log is in it"}
_AFTER = {
    "starting": "while starting", "loading": "while loading weights", "compiling": "while compiling and warming up",
    "capturing": "while capturing CUDA graphs", "ready": "after it was ready", "serving": "while serving",
}  # fmt: skip


def lines(state: State, found: Report) -> Iterator[str]:
    """About 80 to 110 columns; a row's label stands in the first eleven."""
    if state.log.size == 0 and found.engine is None:
        yield from _row("EMPTY", "nothing was logged yet, or the output went elsewhere")
    elif found.engine is None and found.phase == "starting":  # a phase would be that of a server
        yield from _row("UNKNOWN", _NAMES[None])
    else:
        yield from _row(found.phase.upper(), _head(state, found))
    yield from _cause(found)
    if found.stalled:
        yield ""
        yield from _row("stalled", "; ".join(found.stalled["evidence"]))
    if found.progress and found.phase not in ("ready", "serving", "stopped"):
        yield from _row("progress", _progress(found.progress))
    if found.spec or found.gen_tok_s is not None:
        yield from _row("figures", " · ".join(_figures(found)))
    if found.memory_gib:
        yield from _row(
            "memory", " · ".join(f"{k.replace('_', ' ')} {v:g} GiB" for k, v in found.memory_gib.items())
        )
    yield from _timeline(found)
    yield from _problems(found)
    if found.hidden["lines"]:
        yield ""
        yield from _row("hidden", _hidden(found.hidden))


def _row(label: str, text: str, *, most: int = 4) -> list[str]:
    """The label and the text, at most `most` lines of it under each other."""
    return textwrap.wrap(
        text, WIDTH, initial_indent=f"{label:{_LABEL}}", subsequent_indent=" " * _LABEL, max_lines=most,
        placeholder=" …", break_on_hyphens=False,
    )  # fmt: skip


def _head(state: State, found: Report) -> str:
    engine = " ".join(filter(None, (_NAMES.get(found.engine, found.engine), found.engine_version)))
    return " · ".join(filter(None, (_how(found), engine, state.log.model)))


def _how(found: Report) -> str:
    """The stretch in which it failed, or what it had come to when it was stopped."""
    before = [row["phase"] for row in found.timeline if row["phase"] != "stopped"]
    where = _AFTER[before[-1]] if before else ""
    if found.phase == "failed":
        return where
    return f"in an orderly way {where}".strip() if found.phase == "stopped" else ""


def _cause(found: Report) -> Iterator[str]:
    cause = found.root_cause
    if cause is not None:
        yield ""
        yield from _row("cause", cause["summary"])
        if cause["hint"]:
            yield from _row("do", cause["hint"])
        if cause["lineno"]:
            yield from _row(f"line {cause['lineno']}", _said(cause["line"]))
    elif found.phase == "failed":
        yield ""
        yield from _row("cause", "not in this log: it was printed before the log begins, or not at all")


def _said(line: str) -> str:
    """A log's line as it was meant: without the process and the head that stand before the message."""
    return next((part.msg.strip() for part in log_lines(line.encode(), 0, 0, 0.0)), "") or line.strip()


def _progress(bar: dict[str, Any]) -> str:
    total = figures.DASH if bar["total"] is None else f"{bar['total']:g}"
    left = f", about {figures.about(bar['eta_s'])} left" if bar["eta_s"] else ""
    return f"{bar['label']}: {bar['done']:g} of {total}{left}"


def _figures(found: Report) -> Iterator[str]:
    if found.gen_tok_s is not None:
        yield f"{found.gen_tok_s:g} tok/s"
    spec = found.spec or {}
    if spec.get("accepted") is not None and spec.get("drafted") is not None:
        yield f"{spec['accepted']:,} of {spec['drafted']:,} drafted tokens accepted"
    if spec.get("rate") is not None:
        yield f"acceptance {figures.percent(spec['rate'])}"
    if spec.get("mean_length") is not None:
        yield f"mean length {spec['mean_length']:.2f} (bonus token included)"
    if spec.get("per_position"):
        yield "by position " + " ".join(f"{p:.3f}" for p in spec["per_position"])


def _timeline(found: Report) -> Iterator[str]:
    if found.timeline:
        yield ""
    for row in found.timeline:
        clock = (row["clock"] or figures.DASH)[-len("12-01 05:17:09") :]
        took = figures.duration(row["seconds"])
        yield _cut(f"{row['phase']:{_LABEL}}{row['step']:13}{clock:>14}{took:>9}  {row['detail']}".rstrip())


def _problems(found: Report) -> Iterator[str]:
    told = (found.root_cause or {}).get("line")
    others = [problem for problem in found.problems if problem["line"] != told]
    if others:
        yield ""
    for problem in others[:_PROBLEMS]:
        times = f" ×{problem['count']}" if problem["count"] > 1 else ""
        yield from _row(problem["severity"], _said(problem["line"]) + times, most=2)
        if problem["advice"]:
            yield from _row("", problem["advice"])
    if len(others) > _PROBLEMS:
        yield from _row("", f"and {len(others) - _PROBLEMS} more (--json has them)")


def _hidden(hidden: dict[str, Any]) -> str:
    most = sorted(hidden["by_rule"].items(), key=lambda row: -row[1])
    shown = ", ".join(f"{rule} ×{count:,}" for rule, count in most[:4])
    rest = len(most) - 4
    more = f" and {rest} more rule{'s' * (rest > 1)}" if rest > 0 else ""
    return f"{hidden['lines']:,} line{'s' * (hidden['lines'] > 1)}: {shown}{more}"


def _cut(text: str) -> str:
    return text if len(text) <= WIDTH else text[: WIDTH - 1] + "…"
