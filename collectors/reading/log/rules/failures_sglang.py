"""Failures in the words of SGLang (its KV pool, graph capture, processes), of DeepEP and of ROCm."""

from collectors.reading.log.rules.failure import DEATH, SYMPTOM, Failure

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
        "deepep-batch",
        "num_max_dispatch_tokens_per_rank",
        r"num_max_dispatch_tokens_per_rank",
        "More tokens went to the experts in one step than DeepEP's low-latency buffer holds.",
        hint="lower --cuda-graph-max-bs and --max-running-requests, or raise "
        "SGLANG_DEEPEP_NUM_MAX_DISPATCH_TOKENS_PER_RANK (128; more memory)",
        weight=86,
        examples=(
            "RuntimeError: Failed: Assertion error deep_ep.cpp:1105 'x.size(0) == topk_idx.size(0) and x.size(0) "
            "<= num_max_dispatch_tokens_per_rank'",
        ),
    ),
    Failure(
        "deepep-timeout",
        ("DeepEP error: ", "DeepEP timeout"),
        r"DeepEP error: (?:.{0,40}?timeout.{0,40})|DeepEP timeout",
        "A rank waited in vain for the others' tokens (DeepEP): one of them hangs, compiles or is dead.",
        hint="look at the other ranks first; a first compile may take longer than the wait: precompile DeepGEMM "
        "(python -m sglang.compile_deep_gemm), and check NVLink/RDMA (NVSHMEM) between the GPUs",
        weight=83,
        examples=(
            "RuntimeError: DeepEP error: CPU recv timeout",
            "RuntimeError: DeepEP error: timeout (dispatch CPU)",
            "DeepEP timeout check failed: rank = 3, thread = 12, value = 1024)",
        ),
    ),
    Failure(
        "deepep",
        ("deep_ep", "DeepEP/"),
        r"Failed: (?P<what>Assertion|CUDA) error \S{0,200}(?:deep_ep|DeepEP/)",
        "DeepEP refused or lost a GPU ({what} error).",
        hint="its assertion names the condition; DeepEP wants its own NVSHMEM, RDMA and hidden sizes of 128n",
        weight=78,
        examples=("RuntimeError: Failed: CUDA error /sgl-workspace/DeepEP/csrc/kernels/runtime.cu:58 'invalid'",),
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
        "sglang-gpu-unsupported",
        ("only supports sm", "GPUs (SM", "requires SM"),
        r"only supports sm(?P<sm>\d+) and above|only supported on (?P<kind>\w+) GPUs \(SM(?P<of>\d+)|requires SM(?P<least>\d+)",
        "This GPU cannot do what was asked for: it takes {kind} SM {sm}{least}{of} or newer.",
        hint="choose another --attention-backend or --moe-runner-backend, or leave the flag that asks for it out",
        weight=80,
        examples=(
            "RuntimeError: SGLang only supports sm75 and above.",
            "ValueError: FlashInfer allreduce fusion requires SM90 or SM10X NVIDIA GPUs.",
            "ValueError: TRTLLM MLA backend is only supported on Blackwell GPUs (SM100/SM12x). Please use a different",
        ),
    ),
    Failure(
        "native-abort",
        ("Aborted (core dumped)", "free(): ", "double free or corruption", "corrupted size vs"),
        r"Aborted \(core dumped\)|free\(\): invalid|double free or corruption|corrupted size vs",
        "A process ended itself in native code (abort).",
        hint="an uncaught C++ error, mostly a library's of another version: look at the lines before it, and try the "
        "engine's container image",
        weight=DEATH,
        examples=(
            "./run.sh: line 3: 1234 Aborted (core dumped) python3 -m sglang.launch_server",
            "free(): invalid pointer",
        ),
    ),
    Failure(
        "sampling-nan",
        "probability tensor contains",
        r"probability tensor contains either",
        "The model's outputs were not numbers (NaN or infinite), so no token could be drawn.",
        hint="a wrong dtype, quantisation or KV cache scale, or a defective kernel: try --dtype bfloat16, "
        "--kv-cache-dtype auto, another --attention-backend",
        weight=78,
        examples=("RuntimeError: probability tensor contains either `inf`, `nan` or element < 0",),
    ),
    Failure(
        "rocm-memory-fault",
        "Memory access fault by GPU",
        r"Memory access fault by GPU (?P<node>node-\d+)",
        "A kernel touched memory that is not its own on the AMD GPU {node}, and the driver ended the process.",
        hint="a defect of a kernel: try another --attention-backend, without AITER (SGLANG_USE_AITER=0, "
        "VLLM_ROCM_USE_AITER=0), or --disable-cuda-graph / --enforce-eager",
        weight=79,
        examples=(
            "Memory access fault by GPU node-9 (Agent handle: 0x9c1f0d0) on address 0x7f0e8bc00000. Reason: Unknown.",
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
        "block-size-split",
        ("is not divisible by weight quantization block", "weight_block_size_n=", "block_n = "),
        r"(?P<what>[\w ]{3,40}) = (?P<size>\d+) is not divisible by weight quantization block_[nk] = (?P<block>\d+)"
        r"|% weight_block_size_n=",
        "The weights are quantised in blocks that this many GPUs cannot share ({size} by {block}).",
        hint="lower --tp (or raise --ep: each GPU then holds whole experts)",
        weight=86,
        examples=(
            "ValueError: Weight output_partition_size = 192 is not divisible by weight quantization block_n = 128.",
        ),
    ),
    Failure(
        "sglang-package-version",
        "minimum required version",
        r"(?P<what>[\w.-]{1,60}) (?:is installed with version (?P<has>[\w.+]{1,40}), which is less than the|with) "
        r"minimum required version (?P<needs>[\w.+]{1,40})",
        "The package {what} {has} is older than SGLang needs ({needs}), or missing.",
        hint="pip install '{what}>={needs}', as the line says, or use SGLang's container image",
        weight=86,
        examples=(
            "Exception: flashinfer_python is installed with version 0.2.3, which is less than the minimum required "
            "version 0.2.5. Please uninstall the old version and reinstall the latest version",
            "Exception: sgl-kernel with minimum required version 0.1.0 is not installed. Please install it",
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
    Failure(
        "kernel-build",
        "Error building extension",
        r"Error building extension '(?P<name>[^']{1,200})'",
        "The kernel {name} had to be compiled here, and its compilation failed.",
        hint="the compiler's own lines (error:) name why; a CUDA toolkit of PyTorch's version and a supported gcc cure "
        "most, and so does the engine's container image",
        weight=79,
        examples=("RuntimeError: Error building extension 'single_decode_with_kv_cache': [1/3] /usr/local/cuda/bin/x",),
    ),
    Failure(
        "sglang-kernel-library",
        ("common_ops", "operator sgl_kernel::"),
        r"Could not load any common_ops library|operator sgl_kernel::\w{1,120} does not exist",
        "The kernels of sgl_kernel were not built for this GPU, CUDA or PyTorch.",
        hint="install the sgl-kernel wheel of this CUDA version and the PyTorch that it names, or use the image",
        weight=86,
        examples=(
            "ImportError: [sgl_kernel] CRITICAL: Could not load any common_ops library!",
            "RuntimeError: operator sgl_kernel::sgl_per_token_group_quant_fp8 does not exist",
        ),
    ),
)  # fmt: skip
