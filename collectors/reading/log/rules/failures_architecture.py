"""Failures of the model's class: unknown, not importable, or not made for what was asked."""

from collectors.reading.log.rules.failure import SYMPTOM, Failure

ARCHITECTURE = (
    Failure(
        "arch-broken-install",
        "are not supported for now",
        r"Model architectures \['(?P<arch>\w+)'\] are not supported for now\. Supported architectures: "
        r".*?'(?P=arch)'",
        "vLLM knows the architecture {arch} (it is in its own list) but could not import its class: the "
        "installation is broken, and the reason is not in view.",
        hint="look further up for an ImportError, or run `python -c 'import vllm.model_executor.models'`",
        weight=SYMPTOM + 1,
        examples=(
            "ValueError: Model architectures ['LlamaForCausalLM'] are not supported for now. Supported "
            "architectures: "
            "['AquilaModel', 'LlamaForCausalLM', 'MambaForCausalLM']",
        ),
    ),
    Failure(
        "arch-inspect",
        ("inspecting model architecture", "failed to be inspected"),
        r"Error in inspecting model architecture '(?P<arch>\w+)'|Model architectures \['(?P<a>\w+)'\] "
        r"failed to be"
        r" inspected",
        "The class of {arch}{a} could not be imported in a helper process, whose own output names the "
        "reason.",
        hint="look for an ImportError near it: the installation of vLLM, torch or an extension is broken",
        weight=SYMPTOM,
        examples=(
            "Error in inspecting model architecture 'LlamaForCausalLM'",
            "ValueError: Model architectures ['Qwen2ForCausalLM'] failed to be inspected. Please check the "
            "logs for "
            "more details.",
        ),
    ),
    Failure(
        "unknown-architecture",
        (
            "are not supported for now",
            "does not recognize this architecture",
            "has no vLLM implementation",
            "Unsupported architectures",
        ),
        r"(?:Model architectures \[['\"](?P<arch>\w+)['\"][^\]]*\] are not supported for now"
        r"|model type `(?P<type>[\w-]+)` but Transformers does not recognize this architecture"
        r"|(?P<cls>\w+) has no vLLM implementation)",
        "This engine version does not know the architecture {arch}{type}{cls}.",
        hint="use a newer engine (and transformers), or check `architectures` in the model's config.json",
        weight=86,
        unless=r"architectures \['(\w+)'\] are not supported for now\. Supported architectures: .*?'\1'",
        examples=(
            "  Value error, Model architectures ['FrobnicatorForCausalLMEagle3'] are not supported for now. "
            "Supported "
            "architectures: dict_keys(['AfmoeForCausalLM', 'ApertusForCausalLM'",
            "ValueError: The checkpoint you are trying to load has model type `foo` but Transformers does "
            "not "
            "recognize this architecture.",
        ),
    ),
    Failure(
        "config-attribute",
        "object has no attribute",
        r"AttributeError: '(?P<cls>\w+Config)' object has no attribute '(?P<name>\w+)'",
        "{cls} has no `{name}`: model, transformers and engine are of versions that do not fit.",
        hint="use the versions that the model's card names (pip show vllm transformers)",
        weight=62,
        unless=r"image_token_index",
        examples=("AttributeError: 'Qwen3Config' object has no attribute 'rope_scaling_type'",),
    ),
    Failure(
        "backend-unsupported",
        (
            "is not supported on",
            "No valid attention backend",
            "Unsupported CPU attention",
            "not supported for",
            "not supported by",
            "only supports Ampere",
            "only supported in FlashAttention",
            "only supports head dim",
        ),
        r"(?P<what>MLA is not supported on \w+|No valid attention backend found[^\n]{0,120}"
        r"|FlashAttention only supports Ampere GPUs|Sinks are only supported in FlashAttention 3"
        r"|FlashAttention [\w ]{0,20}only supports head dim[\w <>=]{0,40}|Head size \d+ is not supported by \w+"
        r"|Unsupported CPU attention configuration: [^\n]{0,80})",
        "No attention kernel here can run this model: {what}",
        hint="choose another attention backend or KV-cache dtype; on a CPU some models cannot run at all",
        weight=82,
        examples=(
            "NotImplementedError: MLA is not supported on CPU.",
            "RuntimeError: Unsupported CPU attention configuration: head_dim=128 isa=0",
            "RuntimeError: FlashAttention only supports Ampere GPUs or newer.",
            "AssertionError: Sinks are only supported in FlashAttention 3",
        ),
    ),
    Failure(
        "not-with-this-model",
        (
            "is not supported for this model",
            "is not compatible with vLLM",
            "does not support runner",
            "does not support '--runner",
            "does not support `--task",
            "is not supported with",
        ),
        r"(?P<what>[\w ]{3,60} is not supported for this model|The Transformers implementation of \w+ is not compatible with "
        r"vLLM|does not support '?`?--(?:runner|task)[\w `']{0,30}|VLLM_USE_V1=1 is not supported with [^\n.\[]{1,80})",
        "This model or version does not go with what was asked for: {what}.",
        hint="leave that option out (VLLM_USE_V1 with the last), or use a version of vLLM made for this model",
        weight=84,
        examples=(
            "NotImplementedError: Pipeline parallelism is not supported for this model. Supported models implement",
            "  Value error, The Transformers implementation of DeepseekOCR is not compatible with vLLM. [type=value_error",
            "NotImplementedError: VLLM_USE_V1=1 is not supported with --kv-cache-dtype.",
        ),
    ),
    Failure(
        "kernel-not-here",
        "with arguments from the",
        r"Could not run '(?P<op>[\w:.]{1,100})' with arguments from the '(?P<backend>\w{1,30})' backend",
        "The kernel {op} does not exist on {backend}: this model or its quantisation cannot run here.",
        hint="use other weights (without that quantisation), or another device",
        weight=80,
        examples=(
            "NotImplementedError: Could not run 'vllm::apply_w8a8_block_fp8_linear' with arguments from the 'CPU' backend.",
        ),
    ),
)  # fmt: skip
