"""A reading of a saved log, for a person: phase, cause, what to do, how long each stretch took, what is hidden."""

from collections.abc import Iterator
from typing import Any

from msgspec import structs

from collectors.reading.report import Report
from collectors.reading.state import State
from launch import figures

WIDTH = 110
_NAMES = {"vllm": "vLLM", "sglang": "SGLang", None: "an unknown engine"}
_SAY = {
    "starting": "it was starting", "loading": "it was loading weights", "compiling": "it was compiling and warming up",
    "capturing": "it was capturing CUDA graphs", "ready": "ready", "serving": "serving requests",
    "stopped": "stopped in an orderly way", "failed": "it failed",
}  # fmt: skip


def lines(state: State, found: Report) -> Iterator[str]:
    engine = " ".join(filter(None, (_NAMES.get(found.engine, found.engine), found.engine_version)))
    yield " · ".join(filter(None, (f"{found.phase.upper():9}", _SAY.get(found.phase), engine, state.log.model)))
    yield from _cause(found)
    if found.stalled:
        yield ""
        yield "stalled    " + "; ".join(found.stalled["evidence"])
    if found.progress:
        yield "progress   " + _progress(found.progress)
    if found.spec or found.gen_tok_s is not None:
        yield "figures    " + " · ".join(_figures(found))
    if found.memory_gib:
        yield "memory     " + " · ".join(f"{k.replace('_', ' ')} {v:g} GiB" for k, v in found.memory_gib.items())
    yield from _timeline(found)
    yield from _problems(found)
    hidden = found.hidden
    if hidden["lines"]:
        most = sorted(hidden["by_rule"].items(), key=lambda row: -row[1])
        shown = ", ".join(f"{rule} ×{count:,}" for rule, count in most[:4])
        rest = len(most) - 4
        yield ""
        yield _cut(f"hidden     {hidden['lines']:,} lines: {shown}" + (f" and {rest} more rules" if rest > 0 else ""))


def _cause(found: Report) -> Iterator[str]:
    cause = found.root_cause
    if cause is not None:
        yield ""
        yield "cause      " + cause["summary"]
        where = f"line {cause['lineno']:,}" + (f", {cause['process']}" if cause["process"] else "")
        yield _cut(f"           {where}: {cause['line'].strip()}")
        if cause["hint"]:
            yield "do         " + cause["hint"]
    if found.phase == "failed" and not found.cause_in_view:
        yield "           what made it fail was printed before this log begins, or not at all"


def _progress(bar: dict[str, Any]) -> str:
    total = figures.DASH if bar["total"] is None else f"{bar['total']:g}"
    left = "" if not bar["eta_s"] else f", about {figures.about(bar['eta_s'])} left"
    return f"{bar['label']}: {bar['done']:g} of {total}{left}"


def _figures(found: Report) -> Iterator[str]:
    if found.gen_tok_s is not None:
        yield f"{found.gen_tok_s:g} tok/s"
    spec = found.spec or {}
    if spec.get("accepted") is not None and spec.get("drafted") is not None:
        yield f"{spec['accepted']:,} of {spec['drafted']:,} drafted tokens accepted"
    if spec.get("rate") is not None:
        yield f"acceptance {spec['rate']:.1%}"
    if spec.get("mean_length") is not None:
        yield f"mean length {spec['mean_length']:.2f}"
    if spec.get("per_position"):
        yield "by position " + " ".join(f"{p:.3f}" for p in spec["per_position"])


def _timeline(found: Report) -> Iterator[str]:
    if not found.timeline:
        return
    yield ""
    for row in found.timeline:
        yield _cut(
            f"{row['phase']:10} {row['step']:12} {row['clock'] or figures.DASH:>19} {figures.duration(row['seconds']):>9}"
            f"  {row['detail']}".rstrip()
        )


def _problems(found: Report) -> Iterator[str]:
    told = (found.root_cause or {}).get("line")
    others = [p for p in found.problems if p["line"] != told]
    if others:
        yield ""
    for problem in others[:12]:
        times = f" ×{problem['count']}" if problem["count"] > 1 else ""
        yield _cut(f"{problem['severity']:10} {problem['line'].strip()}{times}")
        if problem["advice"]:
            yield f"           {problem['advice']}"
    if len(others) > 12:
        yield f"           and {len(others) - 12} more (--json)"


def _cut(text: str) -> str:
    return text if len(text) <= WIDTH else text[: WIDTH - 1] + "…"


def of_page(state: State, samples: dict[str, float]) -> State:
    """A saved page proves that the server answered; requests behind it, that it serves."""
    sglang = any(name.startswith("sglang:") for name in samples)
    busy = any(v > 0 for n, v in samples.items() if "generation_tokens_total" in n or "request_success" in n)
    log = structs.replace(
        state.log, engine="sglang" if sglang else "vllm", ready=True, phase="serving" if busy else "ready"
    )
    return structs.replace(state, log=log)
