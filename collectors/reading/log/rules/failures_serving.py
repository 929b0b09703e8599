"""Failures of what a server does beside plain generation: structured output, adapters, KV transfer, images."""

from collectors.reading.log.rules.failure import VAGUE, Failure

SERVING_FAILURES = (
    Failure(
        "structured-output",
        ("grammar_matcher", "Failed to advance FSM", "No next state found", "xgrammar", "grammar_compiler"),
        r"grammar_(?:matcher|compiler)\.cc:\d+|Failed to advance FSM for request|No next state found for the current state"
        r"|xgrammar[^\n]{0,120}(?:Error|failed|Check)",
        "The grammar of a request's structured output (a JSON schema or a tool's) failed in the engine.",
        hint="the last request's schema names the construct; another backend may take it "
        "(--structured-outputs-config.backend guidance, before 0.11 --guided-decoding-backend), or a newer vLLM",
        weight=74,
        examples=(
            "RuntimeError: [12:34:56] /project/cpp/grammar_matcher.cc:425: Check failed: (stack) is false",
            "AssertionError: Failed to advance FSM for request chatcmpl-1 for tokens 151645. Please file an issue.",
        ),
    ),
    Failure(
        "encoder-cache",
        "Encoder cache miss",
        r"Encoder cache miss",
        "The engine lost the encoded image of a request: a defect of this version.",
        hint="use a newer vLLM; until then --mm-processor-cache-gb 0, or fewer images at once (--max-num-seqs)",
        weight=72,
        examples=("AssertionError: Encoder cache miss for 94a5c3.",),
    ),
    Failure(
        "mm-processor",
        ("Failed to apply ", "Can't load image processor", "Unrecognized image processor", "Unrecognized processing class"),
        r"Failed to apply (?P<name>\w{3,80}) on data|(?:Can't load|Unrecognized) (?P<what>image processor|processing class)",
        "The model's processor of images or sound does not work here: {name}{what}.",
        hint="check preprocessor_config.json in the model's folder, and use the transformers version that the model's card "
        "names; --limit-mm-per-prompt '{{\"image\": 0}}' serves text only",
        weight=74,
        examples=(
            "ValueError: Failed to apply Qwen2_5_VLProcessor on data={'text': 'x'} with kwargs={}",
            "OSError: Can't load image processor for '/models/x'. If you were trying to load it from the Hub",
        ),
    ),
    Failure(
        "kv-transfer",
        ("NIXL_ERR_", "NIXL is not available", "Unsupported connector type", "does not support HMA", "nixl"),
        r"(?P<what>NIXL_ERR_\w+|NIXL is not available|Unsupported connector type: [\w.]{1,80}"
        r"|\w{1,60} does not support HMA)",
        "The KV cache cannot be handed between servers: {what}.",
        hint="check that both sides have the same version and reach each other (VLLM_NIXL_SIDE_CHANNEL_HOST, UCX_NET_DEVICES), "
        "and that the connector is installed; for HMA --disable-hybrid-kv-cache-manager",
        weight=78,
        examples=(
            "nixl._bindings.nixlBackendError: NIXL_ERR_BACKEND",
            "RuntimeError: NIXL is not available",
            "ValueError: Connector LMCacheConnectorV1 does not support HMA but HMA is enabled. Please set",
        ),
    ),
    Failure(
        "lora-rank",
        "max_lora_rank",
        r"LoRA rank (?P<rank>\d+) is greater than max_lora_rank (?P<max>\d+)",
        "The adapter has rank {rank}, and the server takes {max} at most.",
        hint="set --max-lora-rank {rank}",
        weight=88,
        examples=("ValueError: LoRA rank 64 is greater than max_lora_rank 16.",),
    ),
    Failure(
        "lora-adapter",
        ("No adapter found", "Loading lora ", "expected target modules in"),
        r"No adapter found for (?P<path>\S+)|Loading lora (?P<name>\S+) failed|expected target modules in",
        "The LoRA adapter {path}{name} cannot be loaded.",
        hint="its folder must hold adapter_config.json and its weights, and its target modules must be of this model",
        weight=84,
        examples=(
            "ValueError: Loading lora /adapters/a failed: No adapter found for /adapters/a",
            "ValueError: While loading /adapters/a, expected target modules in ['qkv_proj'] but received ['wte']",
        ),
    ),
    Failure(
        "lora-unsupported",
        "LoRA",
        r"\b(?P<model>\w{1,60}) does not support LoRA|LoRA is not supported (?P<why>[^\n.]{3,80})",
        "This model or setting takes no LoRA adapters: {model}{why}.",
        hint="leave --enable-lora out, or merge the adapter into the weights",
        weight=84,
        examples=("ValueError: MambaForCausalLM does not support LoRA yet.",),
    ),
    Failure(
        "iteration-timeout",
        "TimeoutError",
        r"^(?:asyncio\.exceptions\.|concurrent\.futures\._base\.)?TimeoutError(?:$|: )",
        "A step did not end in the time allowed: a worker hangs, or the step is very long.",
        hint="look what the workers do (py-spy dump --pid PID); VLLM_ENGINE_ITERATION_TIMEOUT_S and "
        "VLLM_EXECUTE_MODEL_TIMEOUT_SECONDS allow more",
        weight=VAGUE - 12,
        examples=("asyncio.exceptions.TimeoutError", "TimeoutError: raise TimeoutError"),
    ),
)  # fmt: skip
