"""Failures of the command line and of the configuration."""

from collectors.reading.log.rules.failure import VAGUE, Failure

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
        ("must be divisible by tensor parallel size", "not divisible by", "tp_size == 0", "numerator % denom"),
        r"(?P<what>[^:,]{0,120}(?:must be divisible by tensor parallel size \(\d+\)|is not divisible by \d+)|assert [^\n]{0,60}% ?[\w.]{0,20}tp_size == 0|assert numerator % denominator == 0)",
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
        ("max local gpu count", "number of available GPUs"),
        r"(?:tensor_parallel_size|World size) \((?P<want>\d+)\) (?:to less than max local gpu count|is larger than the number "
        r"of available GPUs) \((?P<have>\d+)\)",
        "There are fewer GPUs here than the parallel sizes ask for: {want} wanted, {have} seen.",
        hint="lower --tensor-parallel-size (times --pipeline-parallel-size and --data-parallel-size), or check "
        "CUDA_VISIBLE_DEVICES",
        weight=88,
        examples=(
            "AssertionError: please set tensor_parallel_size (8) to less than max local gpu count (4)",
            "  Value error, World size (4) is larger than the number of available GPUs (2) in this node.",
        ),
    ),
    Failure(
        "gpu-count",
        ("required GPUs", "local gpu count", "number of available GPUs", "adjusted local rank"),
        r"number of required GPUs exceeds[^\n.]*|adjusted local rank \d+ is out of bounds",
        "There are fewer GPUs here than the parallel sizes ask for.",
        hint="lower --tensor-parallel-size (times --pipeline-parallel-size and --data-parallel-size), or check "
        "CUDA_VISIBLE_DEVICES",
        weight=87,
        examples=(
            "ValueError: The number of required GPUs exceeds the total number of available GPUs in the cluster.",
            "AssertionError: please set tensor_parallel_size (8) to less than max local gpu count (4)",
        ),
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
    Failure(
        "unknown-parser",
        ("invalid tool call parser", "invalid reasoning parser", "Tool parser '", "Reasoning parser '"),
        r"invalid (?:tool call|reasoning) parser: (?P<name>[\w.-]+)|(?:Tool|Reasoning) parser '(?P<n>[\w.-]+)' not found",
        "This version has no parser called {name}{n}.",
        hint="check its spelling (`vllm serve --help=all` lists them), or use a newer vLLM; --tool-parser-plugin loads one of "
        "your own",
        weight=90,
        examples=(
            "KeyError: 'invalid reasoning parser: kimi_k2 (chose from { deepseek_r1 })'",
            'KeyError: "invalid tool call parser: qwen3"',
        ),
    ),
    Failure(
        "tool-choice",
        "requires --tool-call-parser",
        r"--enable-auto-tool-choice requires --tool-call-parser",
        "--enable-auto-tool-choice was given without the parser that it needs.",
        hint="add --tool-call-parser NAME: the model's card says which",
        weight=92,
        examples=("TypeError: Error: --enable-auto-tool-choice requires --tool-call-parser",),
    ),
    Failure(
        "batch-size",
        "max_num_batched_tokens",
        r"max_num_batched_tokens \((?P<has>\d+)\) (?:is smaller than|must be greater than or equal to) "
        r"(?P<what>max_model_len|max_num_seqs) \((?P<want>\d+)\)",
        "A step of {has} tokens is smaller than {what} ({want}).",
        hint="set --max-num-batched-tokens {want} or more, or lower {what}; --enable-chunked-prefill lifts the limit",
        weight=90,
        examples=("  Value error, max_num_batched_tokens (2048) is smaller than max_model_len (32768). This",),
    ),
    Failure(
        "rope-config",
        ("rope_scaling", "rope_parameters", "rope_type"),
        r"(?P<what>KeyError: 'rope_type'|(?:rope_scaling|rope_parameters|rope_type)[^\n\[]{3,120})",
        "The model's rope settings are not those that this version expects: {what}.",
        hint="use the transformers version that the model's card names and a vLLM made for it, or give them with --hf-overrides",
        weight=66,
        unless=r"object has no attribute|unrecognized arguments",
        examples=("  Value error, rope_scaling should have a 'rope_type' key [type=value_error, input_value=1",),
    ),
    Failure(
        "empty-json",
        "Expecting value: line 1 column 1",
        r"Expecting value: line 1 column 1 \(char 0\)",
        "A JSON file that the start reads is empty, or holds something else: a Git LFS pointer, a page of a proxy.",
        hint="look at the JSON files in the model's folder (config, tokenizer, processor) and fetch the empty ones again",
        weight=64,
        examples=("  Value error, Expecting value: line 1 column 1 (char 0) [type=value_error, input_value=1",),
    ),
    Failure(
        "chat-template",
        "chat template",
        r"supplied chat template[^\n]{0,200}(?:doesn't exist|failed to be opened|looks like a file path)",
        "There is no chat template at the path that was given.",
        hint="check --chat-template (inside a container: is it mounted?)",
        weight=88,
        examples=("ValueError: The supplied chat template string (/t.jinja) appears path-like, but doesn't exist!",),
    ),
    Failure(
        "batch-size",
        "max_tokens_per_mm_item",
        r"max_tokens_per_mm_item \((?P<want>\d+)\) is larger than max_num_batched_tokens \((?P<has>\d+)\)",
        "One image or video may take {want} tokens, and a step has {has}.",
        hint="set --max-num-batched-tokens {want} or more, or limit it with --limit-mm-per-prompt or --mm-processor-kwargs",
        weight=90,
        examples=(
            "ValueError: Chunked MM input disabled but max_tokens_per_mm_item (16384) is larger than max_num_batched_tokens "
            "(8192). Please",
        ),
    ),
    Failure(
        "mamba-blocks",
        "Mamba cache blocks",
        r"max_num_seqs \((?P<has>\d+)\) exceeds available Mamba cache blocks \((?P<fits>\d+)\)",
        "There is room for the state of {fits} requests at once, and {has} were asked for.",
        hint="set --max-num-seqs {fits} or less, or raise --gpu-memory-utilization",
        weight=90,
        examples=("ValueError: max_num_seqs (256) exceeds available Mamba cache blocks (120)",),
    ),
)  # fmt: skip
