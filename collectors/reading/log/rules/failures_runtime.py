"""Failures of kernels, compilers, drivers, plug-ins and the installation."""

from collectors.reading.log.rules.failure import SYMPTOM, VAGUE, Failure

RUNTIME = (
    Failure(
        "warmup-request",
        "Error in request: ",
        r"Error in request: (?P<what>.{1,300})",
        "The server came up, but its own warm-up request failed: {what}",
        hint="the model cannot run with these kernels; try another attention backend or fewer features",
        weight=VAGUE,
        examples=(
            "Error in request: copy_d2d_baseformat_opapi:build/CMakeFiles/torch_npu.dir/compiler_depend.ts:90"
            " NPU function error: call aclnnInplaceCopy failed, error code is 161002",
        ),
    ),
    Failure(
        "illegal-memory-access",
        ("illegal memory access", "device-side assert", "misaligned address", "unspecified launch failure", "illegal instruction"),
        r"(?P<what>an illegal memory access was encountered|device-side assert triggered|misaligned address"
        r"|unspecified launch failure|an illegal instruction was encountered)",
        "A GPU kernel went wrong{where}: {what}. The lines name where it was noticed, not where it happened.",
        hint="run once with CUDA_LAUNCH_BLOCKING=1 and --enforce-eager to find the kernel; ids out of range "
        "(drafter "
        "or LoRA vocabulary) are a frequent reason",
        weight=72,
        examples=(
            "torch.AcceleratorError: CUDA error: an illegal memory access was encountered",
            "RuntimeError: CUDA error: device-side assert triggered",
        ),
    ),
    Failure(
        "no-kernel-image",
        (
            "no kernel image",
            "invalid device function",
            "kernel image is invalid",
            "hipErrorNoBinaryForGpu",
            "TensileLibrary",
            "No supported CUDA architectures",
        ),
        r"no kernel image is available for execution on the device|invalid device function|kernel image is invalid"
        r"|hipErrorNoBinaryForGpu|Cannot read \S{0,80}TensileLibrary|No supported CUDA architectures found",
        "This build has no code for this GPU's architecture.",
        hint="install a build of vLLM and torch for this GPU's compute capability (TORCH_CUDA_ARCH_LIST)",
        weight=88,
        examples=(
            "torch.AcceleratorError: CUDA error: no kernel image is available for execution on the device",
            "RuntimeError: Triton Error [CUDA]: device kernel image is invalid",
            "RuntimeError: No supported CUDA architectures found for major versions [9, 10, 11, 12].",
        ),
    ),
    Failure(
        "cuda-driver",
        (
            "NVIDIA driver",
            "CUDA driver",
            "no CUDA-capable device",
            "No CUDA GPUs",
            "system not yet initialized",
            "Failed to infer device type",
            "invalid device ordinal",
            "cudaGetDeviceCount",
            "NVMLError",
            "NVML Shared Library",
            "Device string must not be empty",
        ),
        r"(?P<what>The NVIDIA driver on your system is too old|Found no NVIDIA driver|CUDA driver "
        r"(?:version is"
        r" insufficient|initialization failed)|no CUDA-capable device is detected|No CUDA GPUs are available"
        r"|system not yet initialized|Failed to infer device type|invalid device ordinal|Device string must not be empty"
        r"|Unexpected error from cudaGetDeviceCount\(\)|NVML Shared Library Not Found|NVMLError_\w{3,60})",
        "The GPU cannot be used: {what}.",
        hint="check nvidia-smi inside the same container, CUDA_VISIBLE_DEVICES, --gpus all, and the "
        "driver's version",
        weight=86,
        examples=(
            "RuntimeError: No CUDA GPUs are available",
            "RuntimeError: The NVIDIA driver on your system is too old (found version 11040).",
            "pynvml.NVMLError_LibraryNotFound: NVML Shared Library Not Found",
            "RuntimeError: Failed to infer device type, please set the environment variable "
            "`VLLM_LOGGING_LEVEL=DEBUG`",
        ),
    ),
    Failure(
        "cuda-error",
        ("CUDA error:", "HIP error:", "CUBLAS_STATUS", "cudaError", "CUDA error (/", "CUDA Error: "),
        r"(?:CUDA|HIP) [eE]rror(?: \([^)\n]{1,300}\))?: (?P<what>[^\n]{3,120})|(?P<cublas>CUBLAS_STATUS_\w+)",
        "The GPU reported an error{where}: {what}{cublas}.",
        hint="see dmesg for Xid lines (hardware); CUDA_LAUNCH_BLOCKING=1 finds the kernel",
        weight=VAGUE,
        unless=r"out of memory|no kernel image|illegal memory|device-side",
        examples=(
            "RuntimeError: CUDA error: CUBLAS_STATUS_NOT_INITIALIZED when calling `cublasCreate(handle)`",
        ),
    ),
    Failure(
        "cuda-fork",
        "re-initialize CUDA in forked subprocess",
        r"Cannot re-initialize CUDA in forked subprocess",
        "CUDA was used in the parent before the worker processes were forked.",
        hint="set VLLM_WORKER_MULTIPROC_METHOD=spawn, and use no CUDA before the server starts",
        weight=90,
        examples=(
            "RuntimeError: Cannot re-initialize CUDA in forked subprocess. To use CUDA with multiprocessing, you must "
            "use the 'spawn' start method",
        ),
    ),
    Failure(
        "plugin-failed",
        "Failed to load plugin",
        r"Failed to load plugin (?P<name>\S+)",
        "The plug-in {name} could not be imported; the server goes on without it.",
        hint="see the traceback below it; VLLM_PLUGINS= names the plug-ins to load",
        weight=50,
        examples=("Failed to load plugin eagle3_patches",),
    ),
    Failure(
        "ptx-toolchain",
        "unsupported toolchain",
        r"PTX was compiled with an unsupported toolchain",
        "The GPU's driver is older than the CUDA that a kernel was compiled with.",
        hint="update the driver, or use a build of vLLM for the CUDA version that nvidia-smi shows",
        weight=88,
        examples=("RuntimeError: CUDA error: the provided PTX was compiled with an unsupported toolchain.",),
    ),
    Failure(
        "tpu-busy",
        ("TPU is already in use", "libtpu", "TPU initialization failed"),
        r"TPU is already in use by (?:a )?process(?: with pid (?P<pid>\d+))?|Internal error when accessing libtpu|TPU initialization failed[^\n]{0,80}resource busy",
        "The TPU is held by another process {pid}.",
        hint="end it (`lsof /dev/accel*` or /dev/vfio/* names it) and launch again",
        weight=86,
        examples=("RuntimeError: The TPU is already in use by process with pid 4712. Not attempting to load libtpu.so",),
    ),
    Failure(
        "npu-error",
        ("NPU error", "NPU function error", "EZ9999", "EE9999", "EI9999"),
        r"NPU (?:function )?error: (?P<what>[^\n]{3,160})|(?P<code>E[ZEI]9999)",
        "The NPU reported an error{where}: {what}{code}.",
        hint="its own lines (E…) and ~/ascend/log name the operator; check that CANN, torch-npu and vllm-ascend are a set",
        weight=VAGUE - 2,
        examples=("RuntimeError: InnerRun:torch_npu/csrc/framework/OpParamMaker.cpp:247 NPU error, NPU error: code 507015",),
    ),
    Failure(
        "expandable-segments",
        "Expandable segments are not compatible",
        r"Expandable segments are not compatible with memory pool",
        "PYTORCH_CUDA_ALLOC_CONF asks for expandable segments, which sleep mode and this memory pool cannot use.",
        hint="unset PYTORCH_CUDA_ALLOC_CONF (expandable_segments), or leave --enable-sleep-mode out",
        weight=90,
        examples=("RuntimeError: Expandable segments are not compatible with memory pool. Please track https://x",),
    ),
    Failure(
        "dtypes-mixed",
        ("expected scalar type", "to have the same dtype"),
        r"(?P<what>expected scalar type \w+ but found \w+|expected \w+ and \w+ to have the same dtype[^\n]{0,60})",
        "Two number types met that do not go together{where}: {what}.",
        hint="set --dtype to that of the weights (config.json's torch_dtype)",
        weight=VAGUE,
        examples=("RuntimeError: expected scalar type BFloat16 but found Half",),
    ),
    Failure(
        "npu-inner",
        "The Inner error is reported as above",
        r"The Inner error is reported as above",
        "An operator of the NPU failed; its own lines (E…, ERR…) name the reason and are not in view.",
        hint="look above for EZ9999 and the like, or in ~/ascend/log; ASCEND_LAUNCH_BLOCKING=1 names the place",
        weight=SYMPTOM + 1,
        examples=("RuntimeError: The Inner error is reported as above. The process exits for this inner error, and the",),
    ),
)  # fmt: skip
