"""A saved /metrics page: what its counters say of the time since the server's start."""

import re
from collections.abc import Iterator

from msgspec import structs

from collectors.reading.acceptance import Figures, of_window
from collectors.reading.events import Metrics, Series
from collectors.reading.exposition import scan
from collectors.reading.log.parts import Spec
from collectors.reading.serving import gauge
from collectors.reading.state import State, step
from collectors.reading.windows import Totals
from launch import figures

# V0 of vLLM and SGLang state their present throughput; a counter alone tells none.
_STATED = re.compile(
    r"^(?:ray_)?(?:vllm:avg_generation_throughput_toks_per_s|sglang:gen_throughput)(?:\{.*\})? "
    r"(\d+(?:\.\d+)?(?:e[+-]?\d{1,2})?)",
    re.M,
)


def read(text: str) -> State | None:
    """The State that a log of the same server would give, as far as one page tells; None: nothing of an engine.

    Raises NotMetrics. It answered, so it is ready; once requests are counted, it serves.
    """
    samples = scan(text)
    if not samples:
        return None
    state = step(State(), Series(t=0.0, start=0, names=tuple(samples)))
    state = step(state, Metrics(t=0.0, values=dict(enumerate(samples.values()))))
    found = figures_of(state)
    stated = [float(value) for value in _STATED.findall(text)]
    log = structs.replace(
        state.log,
        engine="sglang" if any(name.startswith("sglang:") for name in samples) else "vllm",
        ready=True,
        phase="serving" if found.generated or found.requests_finished or found.ttft_count else "ready",
        spec=_spec(state, found),
        gen_tok_s=sum(stated) if stated else None,
    )
    return structs.replace(state, log=log)


def figures_of(state: State) -> Figures:
    """Since the server's start: its counters began at 0."""
    return of_window(Totals(values=state.serving.last), state.serving.slots)


def _spec(state: State, found: Figures) -> Spec | None:
    length, rate = gauge(state.serving, "stated_length"), gauge(state.serving, "stated_rate")
    if found.draft_tokens is None and length is None and rate is None:
        return None
    return Spec(
        drafted=found.draft_tokens,
        accepted=found.accepted,
        rate=found.acceptance_rate,
        printed_rate=rate,
        mean_length=length if found.mean_length is None else found.mean_length,
        per_position=found.per_position,
    )


def lines(state: State) -> Iterator[str]:
    """For a person: what it has done and does, each row with its label."""
    found = figures_of(state)
    now = {name: gauge(state.serving, name) for name in ("running", "waiting", "kv_used")}
    busy = [f"{now[name]:.0f} {name}" for name in ("running", "waiting") if now[name] is not None]
    if found.requests_finished is not None:
        busy.append(f"{found.requests_finished:,} finished")
    if now["kv_used"] is not None:
        busy.append(f"KV cache {figures.percent(now['kv_used'])} used")
    tokens = [(found.prompt_tokens, "in prompts"), (found.generated, "generated")]
    counted = [f"{count:,} {what}" for count, what in tokens if count is not None]
    times = [(found.ttft_mean_s, "TTFT"), (found.step_s, "step")]
    measured = [f"{what} {seconds * 1000:,.1f} ms mean" for seconds, what in times if seconds is not None]
    for label, row in (("requests", busy), ("tokens", counted), ("times", measured)):
        if row:
            yield f"{label:11}{' · '.join(row)}"
    yield "since      the server's start: one page holds totals, no rates"
