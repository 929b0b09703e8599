"""Effects of the lines of figures that a serving engine prints: throughput, queue, speculative decoding.

Read field by field: versions and forks put them in other orders and add their own.
"""

import re

from msgspec import structs

from collectors.reading.log import phases
from collectors.reading.log.effects import ready, serve, sglangs_uvicorn
from collectors.reading.log.lines import Line
from collectors.reading.log.numbers import number
from collectors.reading.log.parts import Spec
from collectors.reading.log.state import LogState

_GEN = re.compile(r"Avg generation throughput: ([\d.]+) tokens/s")
_RUNNING = re.compile(r"Running: (\d+)")
_WAITING = re.compile(r"(?:Waiting|Pending): (\d+)")
_MEAN = re.compile(r"Mean acceptance length: ([\d.]+)")
_RATE = re.compile(r"Draft acceptance rate: ([\d.]+)(%?)")
_ACCEPTED = re.compile(r"(?:Accepted|Number of accepted tokens(?: tokens)?): (\d+)")
_DRAFTED = re.compile(r"(?:Drafted|Number of draft tokens(?: tokens)?): (\d+)")
_EMITTED = re.compile(r"Number of emitted tokens(?: tokens)?: (\d+)")
_K = re.compile(r"Number of speculative tokens: (\d+)")
_POSITIONS = re.compile(r"Per-position acceptance rate: (\d[\d.]*(?:, \d[\d.]*){0,63})(?! across)")
_SGL_GEN = re.compile(r"gen throughput \(token/s\): ([\d.]+)")
_SGL_RUNNING = re.compile(r"#running-req: (\d+)")
_SGL_WAITING = re.compile(r"#queue-req: (\d+)")
_SGL_TOKENS = re.compile(r"#(?:full )?token: (\d+)")
_SGL_LEN = re.compile(r"accept len: ([\d.]+)")
_SGL_RATE = re.compile(r"accept rate: ([\d.]+)")
_WARM_UP_TOKENS = 512


def _number(pattern: "re.Pattern[str]", text: str) -> float | None:
    found = pattern.search(text)
    return number(found[1]) if found else None


def _whole(pattern: "re.Pattern[str]", text: str) -> int | None:
    value = _number(pattern, text)
    return None if value is None else int(value)


def stats(state: LogState, line: Line, match: "re.Match[str]") -> LogState:
    """vLLM's `loggers.py` (V1) and `metrics.py` (V0). Idle servers of 0.8 print zeros for ever: that is ready."""
    gen, running = _number(_GEN, line.msg), _whole(_RUNNING, line.msg)
    state = structs.replace(
        state, engine="vllm", gen_tok_s=state.gen_tok_s if gen is None else gen,
        running=running, waiting=_whole(_WAITING, line.msg),
    )  # fmt: skip
    busy = bool(gen) or bool(running)
    return serve(state, line, match) if busy or not state.ready else state


def speculative(state: LogState, line: Line, match: "re.Match[str]") -> LogState:
    """V1's SpecDecoding line, counts of one interval. 0.8 printed the length without the bonus token: whichever of
    A/D and 1 + A/D the printed one is nearer to says so (D = drafted tokens / positions)."""
    text = line.msg
    accepted, drafted = _whole(_ACCEPTED, text), _whole(_DRAFTED, text)
    found, positions, mean = _RATE.search(text), _POSITIONS.search(text), _number(_MEAN, text)
    printed = _number(_RATE, text)
    each = [number(p) for p in positions[1].split(", ")] if positions else []
    per_position = tuple(p for p in each if p is not None) if each and None not in each else None
    if mean is not None and accepted is not None and drafted and per_position:
        without = accepted * len(per_position) / drafted
        if abs(mean - without) < abs(mean - without - 1):
            mean = round(mean + 1, 4)
    rate = accepted / drafted if accepted is not None and drafted else None
    if rate is None and printed is not None:
        rate = printed / 100 if found is not None and found[2] else printed
    spec = Spec(drafted, accepted, rate, printed, mean, per_position)
    return serve(structs.replace(state, engine="vllm", spec=spec), line, match)


def speculative_v0(state: LogState, line: Line, match: "re.Match[str]") -> LogState:
    """V0's SpecDecodeWorker: totals since the start; emitted tokens a draft is the length with the bonus token."""
    text = line.msg
    accepted, drafted = _whole(_ACCEPTED, text), _whole(_DRAFTED, text)
    emitted, k = _whole(_EMITTED, text), _whole(_K, text)
    mean = round(emitted * k / drafted, 4) if emitted is not None and k and drafted else None
    printed = _number(_RATE, text)
    rate = accepted / drafted if accepted is not None and drafted else printed
    spec = Spec(drafted, accepted, rate, printed, mean, None)
    return serve(structs.replace(state, engine="vllm", spec=spec), line, match)


def sglang_batch(state: LogState, line: Line, match: "re.Match[str]") -> LogState:
    """SGLang's decode and prefill lines. Its accept length has the bonus token; its rate changed meaning in 0.5.23,
    so the fraction comes from the length: (length - 1) / (num_draft_tokens - 1)."""
    text = line.msg
    gen, length = _number(_SGL_GEN, text), _number(_SGL_LEN, text)
    state = structs.replace(
        state, engine="sglang", gen_tok_s=state.gen_tok_s if gen is None else gen,
        running=_whole(_SGL_RUNNING, text), waiting=_whole(_SGL_WAITING, text),
    )  # fmt: skip
    if length is not None:
        tokens = state.draft_tokens
        rate = max(0.0, length - 1) / (tokens - 1) if tokens and tokens > 1 else None
        spec = Spec(rate=rate, printed_rate=_number(_SGL_RATE, text), mean_length=length)
        state = structs.replace(state, spec=spec)
    return serve(state, line, match) if state.ready or not _starting(state) or _busy(text) else state


def _starting(state: LogState) -> bool:
    """Whether a start is in view. SGLang runs a batch of its own before it is ready: batches prove it only in a log
    that begins later."""
    return state.begun or (bool(state.steps) and not phases.at_least(state, "ready"))


def _busy(text: str) -> bool:
    """Whether a batch is more than the warm-up's, which is a short request a rank: then somebody's was answered."""
    running, waiting, tokens = (_whole(p, text) or 0 for p in (_SGL_RUNNING, _SGL_WAITING, _SGL_TOKENS))
    return running > 1 or waiting > 0 or tokens > _WARM_UP_TOKENS


def answered(state: LogState, line: Line, match: "re.Match[str]") -> LogState:
    """An access line. A POST that was answered with 2xx is a request served; a GET proves that it answers.

    SGLang, whose uvicorn prints the time, answers GETs while it warms up, and one POST of its own.
    """
    if state.engine is None and sglangs_uvicorn(line):
        state = structs.replace(state, engine="sglang")
    if not match["status"].startswith("2"):
        return state
    post = match["method"] == "POST" and match["path"].split("?")[0] not in _NOT_REQUESTS
    if state.engine == "sglang" and not state.ready and _starting(state):
        return serve(state, line, match) if post and not line.msg.startswith(_OWN) else state
    if post:
        return serve(state, line, match)
    return state if state.ready else ready(state, line, match)


_OWN = ("127.0.0.1", "localhost", "[::1]", "::1", "0.0.0.0")
# POSTs that ask the server for something, not the model.
_NOT_REQUESTS = frozenset(
    (
        "/tokenize", "/detokenize", "/start_profile", "/stop_profile", "/flush_cache", "/sleep", "/wake_up",
        "/reset_prefix_cache", "/reset_mm_cache", "/v1/load_lora_adapter", "/v1/unload_lora_adapter",
        "/load_lora_adapter", "/unload_lora_adapter", "/update_weights_from_disk", "/pause", "/resume",
        "/pause_generation", "/continue_generation", "/abort_request", "/set_internal_state",
    )
)  # fmt: skip
