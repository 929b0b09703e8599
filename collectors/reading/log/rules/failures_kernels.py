"""Failures of what an engine's kernels come from: their builds and packages, DeepEP, ROCm, the C++ beneath."""

from collectors.reading.log.rules.failure import DEATH, Failure

KERNELS = (
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
