"""vLLM 0.4-0.33, from the banner to the last line before it answers (engines: `engines.md` section A)."""

from collectors.reading.log.effects import (
    advise,
    begin,
    both,
    config,
    drafter_next,
    engine,
    enter,
    fact,
    gib,
    listening,
    patched,
    ready,
)
from collectors.reading.log.loading import checkpoint, model_loaded, rank_seen, weights_read
from collectors.reading.log.rules.rule import Rule

_V = ("vllm", "json")
_BARE = (*_V, "")  # words that nobody else says, and that narrow pastes leave without their head

START = (
    Rule("patch", "[specwatch-patch] ", r'^\[specwatch-patch\] \{"patch": "(?P<patch>[^"\\]{1,200})", "status": '
         r'"(?P<status>\w{1,20})", "pid": (?P<pid>\d{1,10})', patched,
         ('[specwatch-patch] {"patch": "eagle3.whitelist", "status": "applied", "pid": 17, "added": ["kimi_k2"]}',
          '[specwatch-patch] {"patch": "/home/u/mine.py", "status": "failed", "pid": 17, "error": "RuntimeError: no"}')),
    Rule("banner", "server version ", r"^vLLM (?:API )?server version (?P<engine_version>[^\s,]+)"
         r"(?:, serving model (?P<model>.+))?", both(begin("vllm"), fact("engine_version", "model")),
         ("INFO 05-01 10:00:00 [api_server.py:1043] vLLM API server version 0.8.5",
          "(APIServer pid=1) INFO 12-01 03:25:00 [startup.py:40] vLLM server version 0.33.0, serving model m/K"), _V, starts=True),
    Rule("logo-version", "  version ", r"█.{0,40}  version (?P<engine_version>\d+\.\d+\S*)$",
         both(begin("vllm"), fact("engine_version")),
         ("(APIServer pid=10) INFO 02-28 18:04:09 [utils.py:293]  ▄▄ ▄█ █     █     █ ▀▄▀ █  version 0.16.0",), _V, starts=True),
    Rule("logo-model", "  model   ", r"█.{0,40}  model   (?P<model>\S.*)$", fact("model"),
         ("(APIServer pid=1) INFO 02-28 18:04:09 [utils.py:293]   █▄█▀ █     █     █     █  model   org/Kimi-K2.5",), _V),
    Rule("args", "non-default args: ", r"^non-default args: \{", both(engine("vllm"), enter("config")),
         ("(APIServer pid=2) INFO 09-29 09:43:31 [utils.py:233] non-default args: {'port': 8676, 'model': '/q'}",), _V),
    Rule("args-old", "args: Namespace(", r"^args: Namespace\(", both(engine("vllm"), enter("config")),
         ("INFO 05-01 10:00:00 [api_server.py:1044] args: Namespace(host=None, port=8000)",), _V),
    Rule("arch", "Resolved architecture: ", r"^Resolved architecture: \w+", both(engine("vllm"), enter("config")),
         ("(APIServer pid=2) INFO 09-29 09:43:31 [model.py:547] Resolved architecture: Qwen3VLMoe",), _V),
    Rule("engine-config", "LLM engine (v", r"^Initializing an? (?:V1 )?LLM engine \(v(?P<version>[^)\s]{1,60})\) with",
         config,
         ("(EngineCore_DP0 pid=279) INFO 03-02 10:00:01 [core.py:98] Initializing a V1 LLM engine (v0.16.0) with "
          "config: model='/m', speculative_config=SpeculativeConfig(method='eagle3', model='/e', num_spec_tokens=3)",
          "INFO 10-01 10:00:00 llm_engine.py:223] Initializing an LLM engine (v0.6.3) with config: model='m'"), _V),
    Rule("engine-config-fork", "LLM engine (", r"^Initializing a V1 LLM engine \((?P<version>\.\.\.)\) with", config,
         ("(EngineCore pid=986) INFO 09-04 10:58:50 [core.py:123] Initializing a V1 LLM engine (...) with config: x",), _V),
    Rule("dist-init", "distributed_init_method=", r"^world_size=(?P<world>\d+) rank=(?P<rank>\d+)",
         both(engine("vllm"), rank_seen, enter("distributed")),
         ("(Worker_TP3 pid=310) INFO 03-02 10:00:05 [parallel_state.py:1235] world_size=8 rank=3 local_rank=3 "
          "distributed_init_method=tcp://127.0.0.1:41234 backend=nccl",), _V),
    Rule("nccl", "vLLM is using nccl", r"^vLLM is using nccl", both(engine("vllm"), enter("distributed")),
         ("(Worker_TP0 pid=307) INFO 03-02 10:00:06 [pynccl.py:112] vLLM is using nccl==2.28.9",), _V),
    Rule("rank-map", " is assigned as DP rank", r"^rank (?P<rank>\d+) in world size (?P<world>\d+) is assigned",
         both(engine("vllm"), rank_seen, enter("distributed")),
         ("(EngineCore_DP0 pid=66914) INFO 09-21 12:29:22 [parallel_state.py:1206] rank 0 in world size 1 is assigned "
          "as DP rank 0, PP rank 0, TP rank 0, EP rank 0",), _V),
    Rule("load-start", "Starting to load model", r"^Starting to load model (?P<detail>.+?)\.\.\.",
         both(engine("vllm"), enter("weights")),
         ("(Worker_TP0 pid=307) INFO 03-02 10:00:08 [gpu_model_runner.py:4125] Starting to load model /m/K2.5...",), _V),
    Rule("load-start-v2", "Loading model from scratch", r"^Loading model from scratch\.\.\.", enter("weights"),
         ("(Worker_TP0 pid=307) INFO 12-01 10:00:08 [model_runner.py:399] Loading model from scratch...",), _V),
    Rule("load-format", "weights format", r"^Using model weights format", both(engine("vllm"), enter("weights")),
         ("INFO 07-21 10:00:00 weight_utils.py:218] Using model weights format ['*.safetensors']",), _V),
    Rule("checkpoint", "Filesystem type for checkpoints", r"^Filesystem type for checkpoints: (?P<fs>\S+)\. "
         r"Checkpoint size: (?P<gib>[\d.]+) GiB", both(enter("weights"), checkpoint),
         ("(Worker_TP0 pid=114) INFO 07-04 03:08:32 [weight_utils.py:872] Filesystem type for checkpoints: EXT4. "
          "Checkpoint size: 547.12 GiB. Available RAM: 1800.00 GiB.",), _V),
    Rule("weights-took", "Loading weights took", r"^Loading weights took (?P<s>[\d.]+) seconds", weights_read,
         ("(Worker_TP0 pid=34322) INFO 05-06 20:59:57 [default_loader.py:384] Loading weights took 24.84 seconds",), _BARE),
    Rule("drafter", "Loading drafter model", r"^Loading drafter model\.\.\.", drafter_next,
         ("(Worker_TP0 pid=34322) INFO 05-06 20:59:58 [gpu_model_runner.py:4151] Loading drafter model...",), _V),
    Rule("drafter-v2", "auxiliary layers from", r"^Using Eagle3 auxiliary layers from", drafter_next,
         ("(Worker_TP0 pid=1) INFO 05-06 20:59:59 [eagle3_utils.py:39] Using Eagle3 auxiliary layers from model: (2, 30)",),
         _V),
    Rule("model-loaded", "oading took ", r"^[Mm]odel (?:weights )?[Ll]oading took (?P<gib>[\d.]+) (?P<unit>Gi?B)",
         model_loaded,
         ("(EngineCore_0 pid=692) INFO 08-28 12:11:52 [gpu_model_runner.py:2007] Model loading took 13.7194 GiB and 2.9 s",
          "INFO 04-12 18:36:10 [model_runner.py:1146] Model loading took 0.7318 GB and 9.0 seconds"), _BARE),
    Rule("model-loaded-v0", "Loading model weights took", r"^Loading model weights took (?P<gib>[\d.]+) (?P<unit>Gi?B)",
         model_loaded, ("INFO 10-01 10:00:00 model_runner.py:1067] Loading model weights took 14.9888 GB",), _V),
    Rule("compile", "torch.compile", r"^(?:\[[^\]]+\] )?Starting torch\.compile|for vLLM's torch\.compile$"
         r"|^torch\.compile (?:takes|took|and initial)", enter("compile"),
         ("(Worker_TP0 pid=1) INFO 12-01 10:00:08 [monitor.py:43] [backbone] Starting torch.compile",
          "(Worker_TP0 pid=306) INFO 02-12 19:50:07 [monitor.py:34] torch.compile takes 131.72 s in total"), _V),
    Rule("dynamo", "Dynamo bytecode transform", r"^Dynamo bytecode transform time", enter("compile"),
         ("(EngineCore pid=3) INFO 08-02 09:22:29 [backends.py:1148] Dynamo bytecode transform time: 4.45 s",), _V),
    Rule("compile-graph", "ompil", r"^Compiling a graph for |^Directly load (?:the compiled graph|AOT compilation)|^[Ss]aved AOT compiled"
         r"|^Using cache directory: \S{1,400} for vLLM's torch", enter("compile"),
         ("(VllmWorker rank=0 pid=2) INFO 06-05 10:47:07 [backends.py:170] Compiling a graph for general shape takes 47.83 s",
          "(EngineCore pid=542) INFO 07-08 22:39:03 [decorators.py:700] Directly load AOT compilation from path /x/model",
          "(EngineCore_0 pid=3) INFO 10-26 21:47:56 [backends.py:161] Directly load the compiled graph(s) for dynamic shape"), _V),
    Rule("warm-up", "armup", r"^Initial profiling/warmup run took|^Warming up model for the compilation", enter("compile"),
         ("(EngineCore pid=38078) INFO 08-02 09:33:21 [monitor.py:81] Initial profiling/warmup run took 621.57 s",
          ), _V),
    Rule("graph-profile", "CUDA graph memory", r"^Profiling CUDA graph memory|^Estimated CUDA graph memory: "
         r"(?P<cuda_graph_estimate>[\d.]+) GiB", both(enter("profile"), gib("cuda_graph_estimate")),
         ("(EngineCore_DP0 pid=387) INFO 03-08 16:44:28 [gpu_model_runner.py:5651] Estimated CUDA graph memory: 0.26 GiB",),
         _V),
    Rule("memory-profile", "Memory profiling ", r"^Memory profiling (?:takes|results)", both(engine("vllm"), enter("profile")),
         ("INFO 03-21 20:15:45 [worker.py:267] Memory profiling takes 34.26 seconds",), _V),
    Rule("memory-shares", "model weights take", r"^model weights take (?P<model_weights>[\d.]+)GiB; .{0,200}"
         r"the rest of the memory reserved for KV Cache is (?P<kv_available>-?[\d.]+)GiB",
         both(engine("vllm"), enter("profile"), gib("model_weights", "kv_available")),
         ("INFO 03-21 20:15:45 [worker.py:267] model weights take 12.55GiB; non_torch_memory takes 0.16GiB; PyTorch activation "
          "peak memory takes 2.38GiB; the rest of the memory reserved for KV Cache is 56.18GiB.",), _V),
    Rule("kv-memory", "Available KV cache memory", r"^Available KV cache memory: (?P<kv_available>-?[\d.]+) GiB",
         both(engine("vllm"), enter("kv"), gib("kv_available")),
         ("(Worker_TP0 pid=306) INFO 02-12 19:50:09 [gpu_worker.py:375] Available KV cache memory: 17.58 GiB",), _BARE),
    Rule("kv-size", "KV cache size: ", r"^[A-Z]{2,8} KV cache size: (?P<detail>[\d,]+ tokens)", enter("kv"),
         ("(EngineCore_DP0 pid=241) INFO 02-12 19:50:09 [kv_cache_utils.py:1291] GPU KV cache size: 767,552 tokens",), _BARE),
    Rule("kv-blocks", "GPU blocks: ", r"^# (?:GPU|cuda|CPU|xpu|rocm|hpu) blocks: \d+", both(engine("vllm"), enter("kv")),
         ("INFO 10-01 10:00:00 distributed_gpu_executor.py:57] # GPU blocks: 27898, # CPU blocks: 2048",), _V),
    Rule("hpu-blocks", "HPU blocks: ", r"^# HPU blocks: \d+", both(engine("vllm"), enter("kv")),
         ("INFO 09-30 14:31:52 habana_executor.py:87] # HPU blocks: 3184, # CPU blocks: 256",), _V),
    Rule("hpu-warm-up", "[Warmup][", r"^\[Warmup\]\[(?!Graph)[\w/ ]{1,30}\]\[\d+/\d+\]", both(engine("vllm"), enter("compile")),
         ("INFO 09-30 14:31:54 habana_model_runner.py:1800] [Warmup][Prompt][1/31] batch_size:32 seq_len:128",), _V),
    Rule("hpu-capture", "[Warmup][Graph", r"^\[Warmup\]\[Graph[\w/ ]{1,30}\]\[\d+/\d+\]", both(engine("vllm"), enter("graphs")),
         ("INFO 09-30 14:31:59 habana_model_runner.py:1800] [Warmup][Graph/Prompt][1/31] batch_size:1 seq_len:128",), _V),
    Rule("tpu-compile", " with different ", r"^Compiling (?:the )?[\w ]{3,60} with different ", both(engine("vllm"), enter("compile")),
         ("INFO 06-01 10:00:00 [tpu_model_runner.py:1200] Compiling the model with different input shapes.",), _V),
    Rule("kv-error", "GiB KV cache is needed", r"\((?P<kv_needed>[\d.]+) GiB KV cache is needed, which is larger than the "
         r"available KV cache memory \((?P<kv_available>-?[\d.]+) GiB", gib("kv_needed", "kv_available"),
         ("ValueError: To serve at least one request with the models's max seq len (131072), (4.54 GiB KV cache is "
          "needed, which is larger than the available KV cache memory (1.71 GiB).",)),
    Rule("capture", "Capturing ", r"^Capturing (?:cudagraphs for|the model for CUDA graphs|model for)", enter("graphs"),
         ("(VllmWorkerProcess pid=21013) INFO 04-24 08:27:56 [model_runner.py:1456] Capturing cudagraphs for decoding.",),
         _V),
    Rule("capture-debug", "Capturing a cudagraph on", r"^Capturing a cudagraph on \(", enter("graphs"),
         ("(Worker_TP0 pid=42) DEBUG 09-13 16:16:38 [compilation/cuda_graph.py:134] Capturing a cudagraph on (PIECEWISE,x)",),
         _V),
    Rule("autotune", "[Autotuner]: Autotuning process", r"\[Autotuner\]: Autotuning process starts", enter("graphs"),
         ("2026-03-08 16:44:29,692 - INFO - autotuner.py:262 - flashinfer.jit: [Autotuner]: Autotuning process starts",)),
    Rule("captured", "raph capturing finished", r"^Graph capturing finished in [\d.]+ secs?, took (?P<cuda_graphs>-?[\d.]+) GiB",
         both(enter("graphs"), gib("cuda_graphs")),
         ("(Worker_TP0 pid=306) INFO 02-12 19:50:13 [gpu_model_runner.py:4587] Graph capturing finished in 4 secs, took "
          "0.79 GiB",), _BARE),
    Rule("engine-up", "init engine (profile", r"^init engine \(profile, create kv cache, warmup model\) took", enter("api"),
         ("(EngineCore_DP0 pid=241) INFO 02-12 19:50:13 [core.py:259] init engine (profile, create kv cache, warmup model)"
          " took 143.64 seconds",), _BARE),
    Rule("api", "Starting vLLM ", r"^Starting vLLM (?:API )?server", both(engine("vllm"), enter("api")),
         ("INFO 06-02 11:03:56 [api_server.py:1336] Starting vLLM API server on http://0.0.0.0:8000",), _V),
    Rule("routes", "Available routes are:", r"^Available routes are:", enter("api"),
         ("(APIServer pid=1) INFO 02-12 19:50:14 [launcher.py:38] Available routes are:",), _V),
    Rule("uvicorn-wait", "Waiting for application startup", r"^Waiting for application startup\.", listening(enter("api")),
         ("INFO:     Waiting for application startup.",), ("uvicorn",)),
    Rule("ready", "Application startup complete.", r"^Application startup complete\.$", listening(ready),
         ("(APIServer pid=1) INFO:     Application startup complete.", "INFO:     Application startup complete."),
         ("uvicorn",)),
    Rule("no-prefetch", "Auto-prefetch is disabled", r"^Auto-prefetch is disabled because the filesystem \((?P<fs>[^)]+)\)"
         r" is not a recogni[sz]ed network",
         advise("no-prefetch", "If this load is cold and slow, add `--safetensors-load-strategy prefetch`: vLLM does not "
                "know {fs} as a network filesystem, so it reads the shards one after the other."),
         ("(Worker pid=12453) INFO 12-01 03:32:51 [weight_utils.py:1131] Auto-prefetch is disabled because the filesystem "
          "(EXT4) is not a recognized network FS (NFS, Lustre).",), _V),
    Rule("no-prefetch-ram", "Auto-prefetch is disabled", r"^Auto-prefetch is disabled because (?!the filesystem)(?P<why>.+)",
         advise("no-prefetch-ram", "The checkpoint does not fit into memory, so it is read without a prefetch; more RAM, or "
                "`--safetensors-load-strategy eager` when it is read from a slow disk, shortens the load."),
         ("(Worker pid=2) INFO 12-01 03:32:51 [weight_utils.py:1131] Auto-prefetch is disabled because the checkpoint size "
          "exceeds 90% of available RAM.",), _V),
)  # fmt: skip
