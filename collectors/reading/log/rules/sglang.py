"""SGLang 0.4-0.5.23 (`engines.md` section G). Its records are headed `[time RANK] `; who relays them (olmOCR, a test of
its CI) may put a head of its own before that one, or leave the time out."""

import re

from msgspec import structs

from collectors.reading.log import phases
from collectors.reading.log.effects import begin, both, engine, enter, gib, listening, ready, stop
from collectors.reading.log.figures import sglang_batch
from collectors.reading.log.lines import Line
from collectors.reading.log.loading import reading_on
from collectors.reading.log.rules.rule import Rule
from collectors.reading.log.state import LogState

_H = r"^(?:\[?[^\]]{2,60}\] )?"  # a head that is not the line's first, or that a paste cut into
_SIZES = (("tp_size", "TP"), ("dp_size", "DP"), ("pp_size", "PP"), ("ep_size", "EP"))


def _args(state: LogState, line: Line, match: object) -> LogState:
    """`server_args=ServerArgs(model_path='…', tp_size=8, speculative_algorithm='EAGLE3', …)`, or a dict of them."""
    told = dict(re.findall(r"\b(\w{1,60})(?:=|['\"]: )['\"]?([^'\",)}]{0,400})", line.msg))
    parallel = {name: int(told[key]) for key, name in _SIZES if told.get(key, "").isdigit()}
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


def _load_end(state: LogState, line: Line, match: "re.Match[str]") -> LogState:
    """The figure is the target's: the drafter's comes after it."""
    if not state.drafting or "model_weights" not in state.memory_gib:
        state = gib("model_weights")(state, line, match)
    return state if reading_on(state, line) else phases.enter(state, "profile", line)


def _up(state: LogState, line: Line, match: "re.Match[str]") -> LogState:
    """The engine's own record of it: with its head, whoever relays that, or bare in a log that is known to be SGLang's."""
    before = match[0].removesuffix(_FIRED)
    bare = not before and state.engine == "sglang"
    own = line.head in ("sglang", "json") or _CLOCK.search(before) is not None or bare
    return ready(structs.replace(state, engine="sglang"), line, match) if own else state


_CLOCK = re.compile(r"\d\d:\d\d:\d\d")
_FIRED = "The server is fired up and ready to roll!"

SGLANG = (
    Rule("sgl-args", "server_args=", r"^server_args=(?:ServerArgs\(|\{')", both(begin("sglang"), _args),
         ("[2026-02-26 16:30:00] server_args=ServerArgs(model_path='/m', tp_size=8, speculative_num_draft_tokens=4)",
          "[2026-09-22 06:49:56] server_args={'model_path': '/m', 'tp_size': 4, 'speculative_algorithm': 'EAGLE'}"), starts=True),
    Rule("sgl-dist", "Init torch distributed", _H + r"Init torch distributed (?:begin|ends)\.", both(engine("sglang"), enter("distributed")),
         ("[2026-02-26 16:30:59 TP0] Init torch distributed ends. elapsed=17.24 s, mem usage=3.81 GB",)),
    Rule("sgl-load", "Load weight begin", _H + r"Load weight begin\. avail mem=", both(engine("sglang"), _load_begin),
         ("[2026-02-26 16:31:00 TP7] Load weight begin. avail mem=283.68 GB",
          "2025-03-07 23:50:27,727 - __main__ - INFO - [2025-03-07 23:50:27 TP0] Load weight begin. avail mem=22.46 GB")),
    Rule("sgl-loaded", "Load weight end", _H + r"Load weight end\..{0,400}?(?:, mem usage=(?P<model_weights>[\d.]+) GB|$)",
         both(engine("sglang"), _load_end),
         ("[2026-02-26 16:41:05 TP1] Load weight end. elapsed=605.50 s, type=KimiK25, dtype=torch.bfloat16, avail "
          "mem=210.38 GB, mem usage=73.58 GB.",)),
    Rule("sgl-kv-memory", "available memory for KV cache", _H + r"The available memory for KV cache is (?P<kv_available>-?[\d.]+) GB",
         both(engine("sglang"), gib("kv_available"), enter("kv")),
         ("[2026-01-04 07:52:58 TP0] The available memory for KV cache is 32.17 GB.",)),
    Rule("sgl-kv", "KV Cache is allocated", _H + r"KV Cache is allocated\.", both(engine("sglang"), enter("kv")),
         ("[2026-02-26 16:41:18 TP6] KV Cache is allocated. #tokens: 2454421, KV size: 160.63 GB",)),
    Rule("sgl-pool", "Memory pool end", _H + r"Memory pool end\.", both(engine("sglang"), enter("kv")),
         ("[2026-02-26 16:41:18 TP6] Memory pool end. avail mem=45.36 GB",)),
    Rule("sgl-deepgemm", "DeepGEMM JIT", _H + r"(?:Try|Entering) DeepGEMM JIT", both(engine("sglang"), enter("compile")),
         ("[2025-05-01 10:00:00 TP0] Entering DeepGEMM JIT Pre-Compile session. It may take a long time",)),
    Rule("sgl-capture", "Capture ", _H + r"Capture [\w -]{2,80}[gG]raphs? begin", both(engine("sglang"), enter("graphs")),
         ("[2026-02-26 16:41:19 TP2] Capture cuda graph begin. This can take up to several minutes. avail mem=45.01 GB",
          "[2026-02-26 16:43:19 TP2] Capture draft cuda graph begin. This can take up to several minutes.",
          "[2026-02-26 16:43:19 TP2] Capture piecewise CUDA graph begin. avail mem=45.01 GB")),
    Rule("sgl-captured", "Capture ", _H + r"Capture [\w -]{2,80}[gG]raphs? end\.(?:.{0,80}? mem usage=(?P<cuda_graphs>-?[\d.]+) GB)?",
         both(engine("sglang"), enter("graphs"), gib("cuda_graphs")),
         ("[2026-03-11 13:53:32 TP0] Capture npu graph end. Time elapsed: 8.04 s. mem usage=0.80 GB. avail mem=10.30 GB.",
          "[2025-03-12 08:52:39 DP0 TP1] Capture cuda graph end. Time elapsed: 12.96 s")),
    Rule("sgl-listens", "Uvicorn running on", r"^Uvicorn running on ", listening(lambda state, line, match: state),
         ("[2026-07-27 08:54:35] INFO:     Uvicorn running on http://0.0.0.0:11434 (Press CTRL+C to quit)",), ("uvicorn",)),
    Rule("sgl-up", "max_total_num_tokens=", _H + r"max_total_num_tokens=\d+", both(engine("sglang"), enter("api")),
         ("[2026-02-26 16:43:30 TP0] max_total_num_tokens=2454421, chunked_prefill_size=8192, max_running_requests=2048",)),
    Rule("sgl-ready", "The server is fired up", _H + _FIRED, _up,
         ("[2026-02-26 17:00:00] The server is fired up and ready to roll!",
          "2025-03-07 23:51:27,532 - __main__ - INFO - [2025-03-07 23:51:27] The server is fired up and ready to roll!"),
         ("sglang", "json", "python", "")),
    Rule("sgl-decode", "Decode batch", _H + r"Decode batch(?: [^,.#]{1,40})?[,.] ?(?:#running-req: \d|accept len: \d)", sglang_batch,
         ("[2026-02-26 17:00:00 TP0] Decode batch, #running-req: 8, #token: 10240, token usage: 0.01, accept len: 3.17, "
          "accept rate: 0.79, cuda graph: True, gen throughput (token/s): 512.34, #queue-req: 0",
          "[DP0 TP0] Decode batch, accept len: 2.20, accept rate: 0.73, cuda graph: True")),
    Rule("sgl-prefill", "Prefill batch", _H + r"Prefill batch(?: [^,.#]{1,40})?[,.] ?#new-seq: \d+", sglang_batch,
         ("[2025-01-07 20:16:02 TP0] Prefill batch. #new-seq: 1, #new-token: 48, #cached-token: 0, cache hit rate: 0.00%",)),
    Rule("sgl-term", "SIGTERM received", _H + r"Signal SIGTERM received while ", stop,
         ("[2026-08-02 00:17:43] Signal SIGTERM received while health check failed. Force exiting.",)),
    Rule("sgl-exiting", "Gracefully exiting", _H + r"Gracefully exiting\.\.\. Remaining number of requests", both(engine("sglang"), stop),
         ("[2026-08-02 00:17:48] Gracefully exiting... Remaining number of requests 0. Remaining requests remaining_rids=[].",)),
    Rule("sgl-child-told", "crashed with exit code -15", _H + r"Subprocess \S{1,80} \(pid=\d+\) crashed with exit code -15\b",
         both(engine("sglang"), stop),
         ("[2026-08-02 00:17:43] Subprocess detokenizer (pid=31379) crashed with exit code -15. Triggering SIGQUIT",)),
    # Lines that only say whose log it is.
    Rule("sgl-module", "sglang.srt", r"^(?:Ignore import error when loading|Using|Failed to import|\w+ .{0,80}) ?sglang\.srt\.", engine("sglang"),
         ("[2025-01-07 20:16:02] Ignore import error when loading sglang.srt.models.x: No module named 'cuda'",), ("sglang",)),
    Rule("sgl-exception", " hit an exception: Traceback", r"\b(?:Scheduler|(?:Multi)?Detokenizer|TokenizerManager|DataParallelController"
         r"|TpModelWorkerClient)\w{0,20} hit an exception: Traceback", engine("sglang"),
         ("[2025-04-23 21:31:41 TP2] Scheduler hit an exception: Traceback (most recent call last):",)),
    Rule("sgl-quit", "eceived", _H + r"Received sigquit from a child|" + _H + r"SIGQUIT received\. signum", engine("sglang"),
         ("[2025-04-23 21:31:41] Received sigquit from a child process. It usually means the child failed.",
          "[2026-08-02 00:17:43] SIGQUIT received. signum=None, frame=None. It usually means one child failed.")),
    Rule("sgl-watchdog", "atchdog timeout (self.", _H + r"(?:\w{1,40} )?[Ww]atchdog timeout \(self\.", engine("sglang"),
         ("[2025-02-21 14:15:02 TP5] Watchdog timeout (self.watchdog_timeout=300)",)),
    Rule("sgl-launcher", "launch_server.py: error: ", r"^launch_server\.py: error: ", engine("sglang"),
         ("launch_server.py: error: unrecognized arguments: --x",)),
    Rule("sgl-child", "erminated with", _H + r"Scheduler or DataParallelController \d+ terminated with", engine("sglang"),
         ("[2026-05-01 10:00:00] Scheduler or DataParallelController 4412 terminated with -9",)),
    Rule("sgl-frame", "/sglang/", r'^\s{0,12}File "[^"]{0,300}/sglang/(?:srt|launch_server|bench)', engine("sglang"),
         ('  File "/sgl-workspace/sglang/python/sglang/srt/managers/scheduler.py", line 2009, in run_scheduler_process',)),
)  # fmt: skip
