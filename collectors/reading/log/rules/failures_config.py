"""Failures of the command line, the configuration and the model's architecture."""

from collectors.reading.log.rules.failure import SYMPTOM, VAGUE, Failure

CONFIG = (
    Failure(
        "trust-remote-code",
        ("trust_remote_code", "custom code which must be executed", "requires you to execute"),
        r"(?:The repository(?: for)? (?P<model>\S+) contains custom code which must\s+be\s+executed"
        r"|Loading (?P<m>\S+) requires you to execute|trust_remote_code=True)",
        "The model {model}{m} brings code of its own, which must be allowed to run.",
        hint="add --trust-remote-code if you trust that code",
        weight=92,
        examples=(
            "  Value error, The repository /models/amd/MiniMax-M2.1-MXFP4 contains custom code which "
            "must be "
            "executed to correctly load the model. You can inspect the repository content at",
            "ValueError: Loading /models/huggingface/Phi-3-small-128k-instruct/ requires you to execute the "
            "configuration file in that repo on your local machine.",
        ),
    ),
    Failure(
        "max-model-len",
        "max_model_len",
        r"max_model_len \((?P<asked>\d+)\) is greater than the\s+derived max_model_len"
        r" \((?:max_position_embeddings|\w+)=(?P<has>\d+)",
        "--max-model-len {asked} is more than the model's own limit of {has} tokens.",
        hint="set --max-model-len {has} or less",
        weight=92,
        examples=(
            "  Value error, User-specified max_model_len (100000) is greater than the derived max_model_len "
            "(max_position_embeddings=4096.0 or model_max_length=None in model's config.json). To allow "
            "overriding",
        ),
    ),
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
        "unknown-argument",
        "unrecognized arguments",
        r"error: unrecognized arguments: (?P<args>.+)",
        "The engine does not know the argument {args}.",
        hint="check its spelling and whether this version has it: `vllm serve --help=listgroup`",
        weight=92,
        examples=("vllm: error: unrecognized arguments: --no-such-flag 3",),
    ),
    Failure(
        "bad-json-argument",
        ("cannot be converted to", "Invalid JSON", "JSONDecodeError"),
        r"error: argument (?P<flag>\S+): (?:Value (?P<value>.{1,120}?) cannot be converted|.*(?:JSON|json))",
        "The value of {flag} is not what it takes, for example no valid JSON: {value}",
        hint='quote JSON for the shell with single quotes: {flag} \'{{"method": "eagle3", …}}\'',
        weight=93,
        examples=(
            'vllm serve: error: argument --speculative-config/-sc: Value {"method":"eagle3" cannot be '
            "converted to "
            "<function loads at 0x7f4b53c89080>.",
        ),
    ),
    Failure(
        "usage",
        ": error: ",
        r"(?:vllm|sglang|launch_server|api_server|__main__)[\w. ]*: error: (?P<what>.+)",
        "The command line is refused: {what}",
        hint="correct the command; `vllm serve --help=all` lists the flags",
        weight=88,
        examples=(
            "launch_server.py: error: the following arguments are required: --model-path/--model",
            "api_server.py: error: argument --dtype: invalid choice: 'fp17'",
        ),
    ),
    Failure(
        "head-count",
        ("must be divisible by tensor parallel size", "not divisible by", "divisible by tp_size"),
        r"(?P<what>[^:,]{0,120}(?:must be divisible by tensor parallel size \(\d+\)|is not divisible by \d+))",
        "The model cannot be split so: {what}.",
        hint="choose a --tensor-parallel-size that divides the number of attention heads",
        weight=86,
        examples=(
            "  Value error, Total number of attention heads (40) must be divisible by tensor parallel size "
            "(16). [",
        ),
    ),
    Failure(
        "gpu-count",
        ("required GPUs", "local gpu count", "number of available GPUs", "is not enough GPUs"),
        r"number of required GPUs exceeds[^\n.]*|tensor_parallel_size \((?P<want>\d+)\) to less than max local gpu"
        r" count \((?P<have>\d+)\)|larger than the number of available GPUs \((?P<has>\d+)\)",
        "There are fewer GPUs here than the parallel sizes ask for ({want} wanted, {have}{has} seen).",
        hint="lower --tensor-parallel-size (times --pipeline-parallel-size), or check CUDA_VISIBLE_DEVICES",
        weight=88,
        examples=(
            "ValueError: The number of required GPUs exceeds the total number of available GPUs in the cluster.",
            "AssertionError: please set tensor_parallel_size (8) to less than max local gpu count (4)",
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
        "dtype",
        ("Bfloat16 is only supported", "compute capability", "bfloat16"),
        r"Bfloat16 is only supported on GPUs with compute capability of at least (?P<need>\d+\.\d+)",
        "This GPU cannot compute in bfloat16 (it takes compute capability {need}).",
        hint="add --dtype half",
        weight=88,
        examples=(
            "ValueError: Bfloat16 is only supported on GPUs with compute capability of at least 8.0. Your "
            "Tesla T4 GPU",
        ),
    ),
    Failure(
        "backend-unsupported",
        (
            "is not supported on",
            "No valid attention backend",
            "Unsupported CPU attention",
            "not supported for",
        ),
        r"(?P<what>MLA is not supported on \w+|No valid attention backend found[^\n]{0,120}"
        r"|Unsupported CPU attention configuration: [^\n]{0,80})",
        "No attention kernel here can run this model: {what}",
        hint="choose another attention backend or KV-cache dtype; on a CPU some models cannot run at all",
        weight=82,
        examples=(
            "NotImplementedError: MLA is not supported on CPU.",
            "RuntimeError: Unsupported CPU attention configuration: head_dim=128 isa=0",
        ),
    ),
    Failure(
        "main-guard",
        ("before the", "bootstrapping phase"),
        r"An attempt has been made to start a new process before the|finished its bootstrapping phase",
        "The script that starts the server is imported again by its own child process: its main code stands "
        'outside `if __name__ == "__main__":`.',
        hint='put the start under `if __name__ == "__main__":`, or launch with `vllm serve`',
        weight=92,
        examples=("        An attempt has been made to start a new process before the",),
    ),
    Failure(
        "settings-refused",
        "[type=",
        r"^\s*(?:Value error, |Assertion failed, )?(?P<what>.{3,300}?) \[type=\w+, input",
        "The settings are refused: {what}",
        hint="correct that setting and launch again",
        weight=VAGUE - 10,
        examples=(
            "  Input should be 'auto', 'half' or 'float16' [type=literal_error, input_value='fp17', input",
        ),
    ),
)
