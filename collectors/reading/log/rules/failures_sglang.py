"""Failures in the words of SGLang: its KV pool, its graph capture, its sizes, its processes."""

from collectors.reading.log.rules.failure import SYMPTOM, Failure

_ASK = r"Tried to allocate (?P<ask>[\d.]+ \w+)"

SGLANG_FAILURES = (
    Failure(
        "sglang-capture-oom",
        "raph failed: ",
        r"Capture [\w -]{2,60} graph failed: (?:CUDA|HIP|NPU|XPU)(?: error:)? out of memory(?:\. " + _ASK + ")?",
        "A GPU ran out of memory while capturing graphs: {ask} more were wanted.",
        hint="lower --mem-fraction-static (the KV cache leaves too little for the graphs) or "
        "--cuda-graph-max-bs; --disable-cuda-graph starts without them, slower",
        weight=87,
        examples=(
            "Exception: Capture cuda graph failed: CUDA out of memory. Tried to allocate 448.00 MiB. GPU 7 has a",
            "Exception: Capture cuda graph failed: CUDA error: out of memory",
        ),
    ),
    Failure(
        "sglang-capture",
        "raph failed: ",
        r"Capture [\w -]{2,60} graph failed: (?P<what>.{1,200})",
        "Capturing the graphs failed: {what}",
        hint="--disable-cuda-graph tells whether it is the capture or the model; another --attention-backend may do",
        weight=59,
        examples=(
            "Exception: Capture CPU graph failed: shape mismatch",
            "Exception: Capture prefill CUDA graph failed: Expected all tensors",
        ),
    ),
    Failure(
        "sglang-kv-pool-full",
        "out of memory. Try to lower your batch size",
        r"(?P<what>Prefill|Decode) out of memory\. Try to lower your batch size",
        "The KV pool had no room left for a step ({what}); GPU memory itself is not meant.",
        hint="lower --max-running-requests or --chunked-prefill-size, or raise --mem-fraction-static or "
        "--schedule-conservativeness",
        weight=86,
        examples=("RuntimeError: Prefill out of memory. Try to lower your batch size.",),
    ),
    Failure(
        "sglang-kv-pool-full",
        "Failed to retract",
        r"Failed to retract any request",
        "The KV pool is too small for one single request: not even that one could be put back.",
        hint="raise --mem-fraction-static, or lower --context-length",
        weight=86,
        examples=("ValueError: Failed to retract any request. No space left for only one request.",),
    ),
    Failure(
        "sglang-request-slots",
        "alloc_req_slots runs out of memory",
        r"alloc_req_slots runs out of memory",
        "More requests ran at once than SGLang had places for.",
        hint="lower --max-running-requests; with pipeline stages also --pp-max-micro-batch-size",
        weight=86,
        examples=(
            "RuntimeError: alloc_req_slots runs out of memory. Please set a smaller number for `--max-running-requests`.",
        ),
    ),
    Failure(
        "sglang-kv-pool-leak",
        "memory leak detected",
        r"(?P<pool>\w{1,60}) memory leak detected",
        "SGLang's own check found places in its KV pool that nobody holds ({pool}): a defect of this version.",
        hint="report it with the requests before it; another version, or --disable-radix-cache, may not have it",
        weight=86,
        examples=("ValueError: token_to_kv_pool_allocator memory leak detected! available_size=1",),
    ),
    Failure(
        "sglang-hicache-host-memory",
        "Not enough host memory",
        r"Not enough host memory available\. Requesting (?P<want>[\d.]+ \w+) but only have (?P<free>[\d.]+ \w+)",
        "The hierarchical cache wants {want} of host memory, and {free} are free.",
        hint="lower --hicache-size or --hicache-ratio",
        weight=86,
        examples=(
            "ValueError: Not enough host memory available. Requesting 60.00 GB but only have 30.00 GB free.",
        ),
    ),
    Failure(
        "sglang-child-killed",
        ("crashed with exit code -", "Exit code: -", "failed with an exit code ", "terminated with -"),
        r"(?:crashed with exit code -|Exit code: -|failed with an exit code |terminated with -)(?P<signal>9|7|11)\b",
        "A process of SGLang was killed by signal {signal}, with no word of its own.",
        hint="signal 9 most often is the kernel's OOM killer: see dmesg and the container's memory limit "
        "(memory.events); 7 and 11 are a crash in native code or a full /dev/shm",
        weight=75,
        examples=(
            "Subprocess scheduler_0 (pid=31379) crashed with exit code -9. Triggering SIGQUIT for cleanup...",
            "Exit code: -9",
            "Child process unexpectedly failed with an exit code 9. pid=4412",
            "Scheduler or DataParallelController 4412 terminated with -11",
        ),
    ),
    Failure(
        "sglang-child-gone",
        (
            "scheduler is dead. Please check",
            "failed with an exit code ",
            "Exit code: -",
            "terminated with -",
            "exit code -3",
            "died during initialization",
        ),
        r"Rank (?P<rank>\d+) scheduler is dead|failed with an exit code|Exit code: -|terminated with -"
        r"|crashed with exit code -3\b|scheduler died during initialization \(exit code: \d",
        "A process of SGLang (scheduler {rank}) is gone; its own words stand earlier, or nowhere.",
        hint="look above for its traceback; without one, see dmesg and the container's memory limit",
        weight=SYMPTOM,
        unless=r"(?:exit code |Exit code: -|terminated with -)(?:9|7|11)\b",
        examples=(
            "Rank 0 scheduler is dead. Please check if there are relevant logs.",
            "Child process unexpectedly failed with an exit code 131. pid=4411",
            "Exit code: -6",
            "RuntimeError: Rank 0 scheduler died during initialization (exit code: 1).",
            "Subprocess scheduler_0 (pid=3417555) crashed with exit code -3. Triggering SIGQUIT for cleanup...",
        ),
    ),
    Failure(
        "sglang-other-rank",
        ("could finish the model loading", "Please see the error messages above"),
        r"TP rank \d+ could finish the model loading, but|Initialization failed\. Please see the error messages above",
        "Another process of SGLang failed while it started; this line only says so.",
        hint="look for the first traceback of the others, on every node; a slow disk: --dist-timeout",
        weight=SYMPTOM,
        examples=(
            "ValueError: TP rank 0 could finish the model loading, but there are other ranks that didn't finish "
            "loading. It is likely due to unexpected failures (e.g., OOM) or a slow node.",
            "RuntimeError: Initialization failed. Please see the error messages above.",
        ),
    ),
    Failure(
        "sglang-context-length",
        "User-specified context_length",
        r"User-specified context_length \((?P<asked>\d+)\) is greater than the derived context_length "
        r"\((?P<has>\d+)\)",
        "--context-length {asked} is more than the {has} tokens that the model was made for.",
        hint="set --context-length {has} or less, or SGLANG_ALLOW_OVERWRITE_LONGER_CONTEXT_LEN=1 if it is meant",
        weight=88,
        examples=(
            "ValueError: User-specified context_length (131072) is greater than the derived context_length (32768).",
        ),
    ),
    Failure(
        "sglang-sizes",
        "must be divisible by d",
        r"(?P<what>[\w ]{2,60}) must be divisible by (?P<by>dp_size|data parallel size)",
        "The ranks cannot be shared out so: {what} must be a multiple of {by}.",
        hint="with --enable-dp-attention --tp is the number of all GPUs, and --dp divides it",
        weight=80,
        examples=("AssertionError: tp_size must be divisible by dp_size",),
    ),
)  # fmt: skip
