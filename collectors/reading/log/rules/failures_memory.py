"""Failures for want of memory: on the GPU, in the KV cache, on the host."""

from collectors.reading.log.rules.failure import Failure

_LESS = (
    "lower --gpu-memory-utilization (SGLang: --mem-fraction-static) or --max-num-batched-tokens, "
    "which leaves room for the peak"
)
_BIGGER = "spread it over more GPUs (--tensor-parallel-size), or use quantised weights or a smaller model"

MEMORY = (
    Failure(
        "kv-cache-too-small",
        "max seq len",
        r"max seq len \((?P<len>\d+)\), \((?P<need>[\d.]+) Gi?B KV cache is needed, which is larger than the "
        r"available"
        r" KV cache memory \((?P<have>-?[\d.]+) Gi?B\).*?estimated maximum model length is\s+(?P<fits>\d+)",
        "The KV cache is too small for one request of {len} tokens: {need} GiB needed, {have} GiB free.",
        hint="set --max-model-len {fits} or less, or raise --gpu-memory-utilization",
        weight=91,
        examples=(
            "ValueError: To serve at least one request with the model's max seq len (262144), (18.35 GiB KV "
            "cache is "
            "needed, which is larger than the available KV cache memory (8.72 GiB). Based on the available "
            "memory, "
            "the estimated maximum model length is 121840. Try increasing `gpu_memory_utilization`",
        ),
    ),
    Failure(
        "kv-cache-too-small",
        "max seq len",
        r"max seq len\s+\((?P<len>\d+)\),\s+\((?P<need>[\d.]+)\s+Gi?B\s+KV\s+cache\s+is\s+needed"
        r"(?:,\s+which\s+is\s+larger\s+than\s+the\s+available\s+KV\s+cache\s+memory\s+\((?P<have>-?[\d.]+)\s+Gi?B)?",
        "The KV cache is too small for one request of {len} tokens: {need} GiB needed, {have} GiB free.",
        hint="lower --max-model-len, or raise --gpu-memory-utilization",
        weight=90,
        examples=(
            "ValueError: To serve at least one request with the models's max seq len (131072), (4.54 GiB KV "
            "cache is "
            "needed, which is larger than the available KV cache memory (1.71 GiB).",
        ),
    ),
    Failure(
        "kv-cache-too-small",
        "stored in KV cache",
        r"max seq len \((?P<len>\d+)\) is larger than the maximum number "
        r"of\s+tokens\s+that\s+can\s+be\s+stored\s+in\s+KV\s+cache"
        r" \((?P<fits>\d+)\)",
        "The KV cache holds {fits} tokens, the model may ask for {len} in one request.",
        hint="set --max-model-len {fits} or less, or raise --gpu-memory-utilization",
        weight=90,
        examples=(
            "ValueError: The model's max seq len (32768) is larger than the maximum number of tokens that "
            "can be "
            "stored in KV cache (7344). Try increasing `gpu_memory_utilization` or decreasing "
            "`max_model_len`",
        ),
    ),
    Failure(
        "no-cache-blocks",
        (
            "No available memory for the cache blocks",
            "Not enough memory. Please try to increase --mem-fraction",
        ),
        r"No available memory for\s+the cache blocks|Not enough memory\. Please try to increase "
        r"--mem-fraction-static",
        "After the weights and the peak of a forward pass no GPU memory is left for the KV cache.",
        hint="raise --gpu-memory-utilization (SGLang: --mem-fraction-static), or " + _BIGGER,
        weight=85,
        examples=(
            "ValueError: No available memory for the cache blocks. Try increasing `gpu_memory_utilization` "
            "when "
            "initializing the engine.",
            "RuntimeError: Not enough memory. Please try to increase --mem-fraction-static.",
        ),
    ),
    Failure(
        "gpu-memory-held",
        "Free memory on device",
        r"Free memory on\s+device\s+(?P<device>\w+:\d+)?\s*\((?P<free>[\d.]+)/(?P<total>[\d.]+) "
        r"GiB\)\s+on\s+startup\s+is\s+less\s+than"
        r"(?:\s+desired\s+GPU\s+memory\s+utilization\s+\((?P<util>[\d.]+), (?P<want>[\d.]+) GiB)?",
        "The GPU {device} was not free at the start: {free} of {total} GiB, and {want} GiB were wanted; "
        "another process holds the rest.",
        hint="find it with nvidia-smi and end it (an earlier server may still live), or lower "
        "--gpu-memory-utilization to {share}",
        weight=90,
        examples=(
            "ValueError: Free memory on device cuda:0 (54.34/79.18 GiB) on startup is less than desired GPU "
            "memory "
            "utilization (0.92, 72.84 GiB). Decrease GPU memory utilization or reduce GPU memory used by "
            "other "
            "processes.",
            "ValueError: Free memory on device (3.22/4.0 GiB) on startup is less than desired GPU memory "
            "utilization (0.9, 3.6 GiB). Decrease GPU memory utilization",
        ),
    ),
    Failure(
        "gpu-memory-moved",
        ("Error in memory profiling", "memory capacity is unbalanced"),
        r"Error in memory profiling|memory capacity is unbalanced",
        "Another process took or gave back memory on this GPU while the server measured it.",
        hint="let no other process start or end on these GPUs meanwhile; nvidia-smi names them",
        weight=88,
        examples=(
            "AssertionError: Error in memory profiling. Initial free memory 10.0 GiB, current free memory 12.0 GiB.",
            "ValueError: The memory capacity is unbalanced. Some GPUs may be occupied by other processes.",
        ),
    ),
    Failure(
        "host-memory-wanted",
        "Available memory on node",
        r"Available memory on node (?P<node>\d+) \((?P<free>[\d.]+)/(?P<total>[\d.]+) GiB\) on startup is "
        r"less than"
        r" desired CPU memory utilization \((?P<util>[\d.]+), (?P<want>[\d.]+) GiB\)",
        "The host has {free} of {total} GiB free on node {node}, and the server wants {want} GiB ({util} of "
        "it).",
        hint="lower --gpu-memory-utilization (on the CPU backend it means host memory), or free memory",
        weight=90,
        examples=(
            "ValueError: Available memory on node 0 (19.83/22.09 GiB) on startup is less than desired CPU "
            "memory "
            "utilization (0.92, 20.32 GiB). On the CPU backend, the `--gpu-memory-utilization` flag controls",
        ),
    ),
    Failure(
        "gpu-oom",
        ("out of memory", "OutOfMemoryError", "UR_RESULT_ERROR_OUT_OF"),
        r"(?:CUDA|HIP|NPU|XPU)(?: error:)? out of memory\.?(?: Tried to allocate (?P<want>[\d.]+ "
        r"\w+))?(?:.*?GPU"
        r" (?P<gpu>\d+) has a total capacity of (?P<total>[\d.]+ \w+) of which (?P<free>[\d.]+ \w+) is free)?"
        r"|(?:Cuda|CUDA) failure \d* ?'out of memory'|OutOfMemoryError|UR_RESULT_ERROR_OUT_OF",
        "The GPU ran out of memory{where}.",
        hint=_LESS + "; or " + _BIGGER,
        hints={
            "load": "the weights do not fit: " + _BIGGER,
            "profile": "lower --max-num-batched-tokens and --max-num-seqs, or " + _BIGGER,
            "compile": "the compiler's own buffers did not fit: --enforce-eager, or " + _BIGGER,
            "capture": "lower --gpu-memory-utilization or --max-num-seqs (fewer graphs), or --enforce-eager",
            "run": _LESS + "; or --max-num-seqs",
        },
        weight=82,
        unless=r"ray\.exceptions\.OutOfMemoryError",
        examples=(
            "torch.AcceleratorError: CUDA error: out of memory",
            "RuntimeError: CUDA out of memory occurred when warming up sampler with 1024 dummy requests.",
            "torch.distributed.DistBackendError: NCCL error: unhandled cuda error Cuda failure 2 'out of "
            "memory'",
        ),
    ),
    Failure(
        "gpu-oom",
        "Tried to allocate",
        r"(?:CUDA|HIP|NPU|XPU) out of memory\.\s+Tried to allocate (?P<want>[\d.]+ \w+)(?:\.\s+GPU"
        r" (?P<gpu>\d+) has a total capacity of (?P<total>[\d.]+ \w+) of which (?P<free>[\d.]+ \w+) is free)",
        "GPU {gpu} ran out of memory{where}: {want} asked for, {free} of {total} free.",
        hint=_LESS + "; or " + _BIGGER,
        hints={
            "load": "the weights do not fit: " + _BIGGER,
            "profile": "lower --max-num-batched-tokens and --max-num-seqs, or " + _BIGGER,
            "compile": "the compiler's own buffers did not fit: --enforce-eager, or " + _BIGGER,
            "capture": "lower --gpu-memory-utilization or --max-num-seqs (fewer graphs), or --enforce-eager",
            "run": _LESS + "; or --max-num-seqs",
        },
        weight=84,
        examples=(
            "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 50.00 MiB. GPU 0 has a total "
            "capacity of "
            "23.56 GiB of which 21.75 MiB is free. Including non-PyTorch memory, this process has 23.50 GiB",
            "torch.OutOfMemoryError: HIP out of memory. Tried to allocate 2.00 GiB. GPU 3 has a total "
            "capacity of "
            "191.98 GiB of which 1.20 GiB is free.",
            "torch._inductor.exc.InductorError: RuntimeError: Failed to run autotuning code block: CUDA out "
            "of memory."
            " Tried to allocate 1.02 GiB. GPU 0 has a total capacity of 14.56 GiB of which 111.81 MiB is "
            "free.",
        ),
    ),
    Failure(
        "host-oom",
        (
            "DefaultCPUAllocator",
            "Cannot allocate memory",
            "MemoryError",
            "std::bad_alloc",
            "No space left on device",
            "unable to allocate shared memory",
            "unable to open shared memory",
        ),
        r"DefaultCPUAllocator: can't allocate memory|\[Errno 12\]|\bMemoryError\b|std::bad_alloc"
        r"|unable to (?:allocate|open) shared memory",
        "The host ran out of memory{where}.",
        hint="give the container or job more memory and shared memory (docker: --shm-size, --ipc=host), "
        "and see that nothing else holds it",
        weight=85,
        unless=r"OutOfMemoryError",
        examples=(
            "RuntimeError: [enforce fail at alloc_cpu.cpp:118] err == 0. DefaultCPUAllocator: can't "
            "allocate memory: "
            "you tried to allocate 1073741824 bytes. Error code 12 (Cannot allocate memory)",
            "OSError: [Errno 12] Cannot allocate memory",
        ),
    ),
    Failure(
        "disk-full",
        ("No space left on device", "Disk quota exceeded"),
        r"\[?(?:Errno 28|os error 28)?\]?\)?:? ?No space left on device|Disk quota exceeded",
        "A disk (or /dev/shm) is full.",
        hint="free the disk that holds the model cache (HF_HOME, VLLM_CACHE_ROOT), or enlarge /dev/shm",
        weight=85,
        examples=("OSError: [Errno 28] No space left on device",),
    ),
    Failure(
        "gpu-oom",
        ("Triton Error [CUDA]: out of memory", "STATUS_ALLOC_FAILED", "hipErrorOutOfMemory", "cudaErrorMemoryAllocation"),
        r"Triton Error \[CUDA\]: out of memory|CU(?:BLAS|DNN|SPARSE)_STATUS_ALLOC_FAILED|hipErrorOutOfMemory"
        r"|cudaErrorMemoryAllocation",
        "The GPU ran out of memory{where}: a library could not get its working space.",
        hint=_LESS,
        weight=81,
        unless=r"^Search for",
        examples=(
            "RuntimeError: Triton Error [CUDA]: out of memory",
            "RuntimeError: CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`",
        ),
    ),
    Failure(
        "swap-space",
        "swap space",
        r"Too large swap space\. (?P<want>[\d.]+) GiB out of the (?P<has>[\d.]+) GiB",
        "The swap space of {want} GiB is more than this host's memory of {has} GiB can give.",
        hint="lower --swap-space (GiB for each GPU; 0 goes too)",
        weight=88,
        examples=(
            "ValueError: Too large swap space. 16.00 GiB out of the 15.56 GiB total CPU memory is allocated for the swap",
        ),
    ),
    Failure(
        "gpu-oom",
        "total capacity;",
        r"(?:CUDA|HIP|NPU|XPU) out of memory\. Tried to allocate (?P<want>[\d.]+ \w+) \(\w{3,6} (?P<gpu>\d+); (?P<total>[\d.]+ \w+)"
        r" total capacity;[^)]{0,120}? (?P<free>[\d.]+ \w+) free;",
        "GPU {gpu} ran out of memory{where}: {want} asked for, {free} of {total} free.",
        hint=_LESS + "; or " + _BIGGER,
        hints={"load": "the weights do not fit: " + _BIGGER, "run": _LESS + "; or --max-num-seqs"},
        weight=84,
        examples=(
            "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB (GPU 0; 23.69 GiB total capacity; "
            "21.01 GiB already allocated; 1.33 GiB free; 21.02 GiB reserved in total by PyTorch)",
        ),
    ),
)  # fmt: skip
