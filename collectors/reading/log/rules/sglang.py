"""SGLang 0.4-0.5.23 (`engines.md` section G). All its records are headed `[time RANK] `."""

import re

from msgspec import structs

from collectors.reading.log import phases
from collectors.reading.log.effects import begin, both, engine, enter, gib, ready
from collectors.reading.log.figures import sglang_batch
from collectors.reading.log.lines import Line
from collectors.reading.log.rules.rule import Rule
from collectors.reading.log.state import LogState


def _args(state: LogState, line: Line, match: object) -> LogState:
    """`server_args=ServerArgs(model_path='…', tp_size=8, speculative_algorithm='EAGLE3', …)`"""
    told = dict(re.findall(r"\b(\w{1,60})='?([^',)]{0,400})", line.msg))
    parallel = {
        n: int(told[k])
        for k, n in (("tp_size", "TP"), ("dp_size", "DP"), ("pp_size", "PP"))
        if told.get(k, "").isdigit()
    }
    tokens = told.get("speculative_num_draft_tokens", "")
    method = told.get("speculative_algorithm") or "None"
    return structs.replace(
        state, model=told.get("model_path") or state.model, parallel=parallel or state.parallel,
        draft_tokens=int(tokens) if tokens.isdigit() else None, speculative=None if method == "None" else method.lower(),
    )  # fmt: skip


def _load_begin(state: LogState, line: Line, match: object) -> LogState:
    """The second time it is the drafter's: every rank says so, but a rank says it once a model."""
    if phases.at_least(state, "post"):
        return phases.enter(structs.replace(state, drafting=True), "drafter", line)
    return phases.enter(state, "weights", line)


SGLANG = (
    Rule("sgl-args", "server_args=", r"^server_args=ServerArgs\(", both(begin("sglang"), _args),
         ("[2026-02-26 16:30:00] server_args=ServerArgs(model_path='/m', tp_size=8, speculative_num_draft_tokens=4)",), starts=True),
    Rule("sgl-dist", "Init torch distributed", r"^Init torch distributed (?:begin|ends)\.", both(engine("sglang"), enter("distributed")),
         ("[2026-02-26 16:30:59 TP0] Init torch distributed ends. elapsed=17.24 s, mem usage=3.81 GB",)),
    Rule("sgl-load", "Load weight begin", r"^Load weight begin\. avail mem=", both(engine("sglang"), _load_begin),
         ("[2026-02-26 16:31:00 TP7] Load weight begin. avail mem=283.68 GB",)),
    Rule("sgl-loaded", "Load weight end", r"^Load weight end\..{0,400}?(?:, mem usage=(?P<model_weights>[\d.]+) GB|$)",
         both(engine("sglang"), enter("profile"), gib("model_weights")),
         ("[2026-02-26 16:41:05 TP1] Load weight end. elapsed=605.50 s, type=KimiK25, dtype=torch.bfloat16, avail "
          "mem=210.38 GB, mem usage=73.58 GB.",)),
    Rule("sgl-kv", "KV Cache is allocated", r"^KV Cache is allocated\.", both(engine("sglang"), enter("kv")),
         ("[2026-02-26 16:41:18 TP6] KV Cache is allocated. #tokens: 2454421, KV size: 160.63 GB",)),
    Rule("sgl-pool", "Memory pool end", r"^Memory pool end\.", both(engine("sglang"), enter("kv")),
         ("[2026-02-26 16:41:18 TP6] Memory pool end. avail mem=45.36 GB",)),
    Rule("sgl-capture", "Capture ", r"^Capture (?:[\w ]{0,60} )?(?:cuda|CUDA|cpu|npu|NPU) graphs? begin", both(engine("sglang"), enter("graphs")),
         ("[2026-02-26 16:41:19 TP2] Capture cuda graph begin. This can take up to several minutes. avail mem=45.01 GB",
          "[2026-02-26 16:43:19 TP2] Capture draft cuda graph begin. This can take up to several minutes.")),
    Rule("sgl-up", "max_total_num_tokens=", r"^max_total_num_tokens=\d+", both(engine("sglang"), enter("api")),
         ("[2026-02-26 16:43:30 TP0] max_total_num_tokens=2454421, chunked_prefill_size=8192, max_running_requests=2048",)),
    Rule("sgl-ready", "The server is fired up", r"^The server is fired up and ready to roll!", both(engine("sglang"), ready),
         ("[2026-02-26 17:00:00] The server is fired up and ready to roll!",), ("sglang", "json")),
    Rule("sgl-decode", "Decode batch", r"^Decode batch(?: \[\d+\])?[,.] #running-req: \d+", sglang_batch,
         ("[2026-02-26 17:00:00 TP0] Decode batch, #running-req: 8, #token: 10240, token usage: 0.01, accept len: 3.17, "
          "accept rate: 0.79, cuda graph: True, gen throughput (token/s): 512.34, #queue-req: 0",)),
    Rule("sgl-prefill", "Prefill batch", r"^Prefill batch(?: \[\d+\])?[,.] #new-seq: \d+", sglang_batch,
         ("[2025-01-07 20:16:02 TP0] Prefill batch. #new-seq: 1, #new-token: 48, #cached-token: 0, cache hit rate: 0.00%",)),
)  # fmt: skip
