"""Failures of kernels, compilers, drivers, plug-ins and the installation."""

from collectors.reading.log.rules.failure import VAGUE, Failure

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
        "triton-compile",
        ("PassManager", "CompilationError", "triton", "PTXASError", "ptxas"),
        r"PassManager::run failed|triton\.compiler\.errors\.CompilationError|PTXASError|ptxas fatal"
        r"|Cannot find (?:a working )?triton|libcuda\.so cannot found|OutOfResources: out of resource",
        "Triton could not compile a kernel for this GPU{where}.",
        hint="choose another attention backend (VLLM_ATTENTION_BACKEND) or --enforce-eager; on GPUs older "
        "than "
        "Ampere many kernels do not exist",
        weight=80,
        examples=(
            "torch._inductor.exc.InductorError: RuntimeError: PassManager::run failed",
            "triton.runtime.errors.OutOfResources: out of resource: shared memory, Required: 147456, "
            "Hardware limit: "
            "101376.",
        ),
    ),
    Failure(
        "compiler-missing",
        (
            "Failed to find C compiler",
            "InvalidCxxCompiler",
            "No working C++ compiler",
            "Python.h",
            "nvcc",
            "inja",
        ),
        r"Failed to find C compiler|InvalidCxxCompiler|No working C\+\+ compiler|Python\.h: No such file"
        r"|nvcc(?:'|:)? ?(?:not found|No such file)|Could not find nvcc|Ninja is required|Ninja build failed",
        "A kernel must be compiled here, and the tools for it are missing.",
        hint="install gcc, python3-dev and the CUDA toolkit (nvcc), or use the engine's container image",
        weight=84,
        examples=(
            "RuntimeError: Failed to find C compiler. Please specify via CC environment variable.",
            "torch._inductor.exc.InductorError: InvalidCxxCompiler: No working C++ compiler found in",
        ),
    ),
    Failure(
        "illegal-memory-access",
        ("illegal memory access", "device-side assert", "misaligned address", "unspecified launch failure"),
        r"(?P<what>an illegal memory access was encountered|device-side assert triggered|misaligned address"
        r"|unspecified launch failure)",
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
        ("no kernel image", "invalid device function"),
        r"no kernel image is available for execution on the device|invalid device function",
        "This build has no code for this GPU's architecture.",
        hint="install a build of vLLM and torch for this GPU's compute capability (TORCH_CUDA_ARCH_LIST)",
        weight=88,
        examples=(
            "torch.AcceleratorError: CUDA error: no kernel image is available for execution on the device",
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
        ),
        r"(?P<what>The NVIDIA driver on your system is too old|Found no NVIDIA driver|CUDA driver "
        r"(?:version is"
        r" insufficient|initialization failed)|no CUDA-capable device is detected|No CUDA GPUs are available"
        r"|system not yet initialized|Failed to infer device type|invalid device ordinal)",
        "The GPU cannot be used: {what}.",
        hint="check nvidia-smi inside the same container, CUDA_VISIBLE_DEVICES, --gpus all, and the "
        "driver's version",
        weight=86,
        examples=(
            "RuntimeError: No CUDA GPUs are available",
            "RuntimeError: The NVIDIA driver on your system is too old (found version 11040).",
            "RuntimeError: Failed to infer device type, please set the environment variable "
            "`VLLM_LOGGING_LEVEL=DEBUG`",
        ),
    ),
    Failure(
        "cuda-error",
        ("CUDA error:", "HIP error:", "CUBLAS_STATUS", "cudaError"),
        r"(?:CUDA|HIP) error: (?P<what>[^\n]{3,120})|(?P<cublas>CUBLAS_STATUS_\w+)",
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
        "torchvision-mismatch",
        "torchvision::nms",
        r"operator torchvision::nms does not exist",
        "torchvision was built for another torch (CPU against CUDA, or another version).",
        hint="install torch and torchvision of the same version from the same index",
        weight=90,
        examples=("RuntimeError: operator torchvision::nms does not exist",),
    ),
    Failure(
        "broken-install",
        (
            "ImportError",
            "ModuleNotFoundError",
            "undefined symbol",
            "cannot open shared object",
            "cannot import name",
        ),
        r"(?:ImportError|ModuleNotFoundError|OSError): (?P<what>[^\n]{3,200})",
        "The installation is broken: {what}",
        hint="install vLLM with its own torch in a fresh environment; undefined symbols mean a torch of "
        "another version",
        weight=70,
        unless=r"OSError: (?!.*(?:shared object|undefined symbol))",
        examples=(
            "ImportError: libcudart.so.12: cannot open shared object file: No such file or directory",
            "ModuleNotFoundError: No module named 'flash_attn'",
            "ImportError: /site-packages/vllm/_C.abi3.so: undefined symbol: "
            "_ZN3c106detail23torchInternalAssertFailE",
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
)
