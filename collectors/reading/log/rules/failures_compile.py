"""Failures of compiling: Triton, torch.compile, the C and CUDA compilers that kernels need at a start."""

from collectors.reading.log.rules.failure import VAGUE, Failure

COMPILE = (
    Failure(
        "ptxas-too-old",
        ("is not defined for option 'gpu-name'", "invalid value for --gpu-architecture", "Unsupported gpu architecture"),
        r"Value '(?P<arch>sm_\w+)' is not defined for option 'gpu-name'|invalid value for --gpu-architecture"
        r"|Unsupported gpu architecture '(?P<gpu>\w+)'",
        "The CUDA compiler here is older than this GPU: it does not know {arch}{gpu}.",
        hint="install a newer CUDA toolkit, and TRITON_PTXAS_PATH=/usr/local/cuda/bin/ptxas for Triton; or an image for this GPU",
        weight=87,
        examples=(
            "ptxas fatal   : Value 'sm_121a' is not defined for option 'gpu-name'",
            "nvcc fatal   : Unsupported gpu architecture 'compute_120a'",
        ),
    ),
    Failure(
        "triton-compile",
        ("PassManager", "CompilationError", "triton", "PTXASError", "ptxas"),
        r"PassManager::run failed|triton\.compiler\.errors\.CompilationError|PTXASError|ptxas fatal"
        r"|Cannot find (?:a working )?triton|libcuda\.so cannot found|OutOfResources: out of resource",
        "Triton could not compile a kernel for this GPU{where}.",
        hint="choose another attention backend (VLLM_ATTENTION_BACKEND) or --enforce-eager; on GPUs older than "
        "Ampere many kernels do not exist",
        weight=80,
        unless=r"is not defined for option 'gpu-name'",
        examples=(
            "torch._inductor.exc.InductorError: RuntimeError: PassManager::run failed",
            "triton.runtime.errors.OutOfResources: out of resource: shared memory, Required: 147456, Hardware limit: 101376.",
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
            "inja is required",
            "cannot find -l",
            "No such file or directory: '",
        ),
        r"Failed to find C compiler|InvalidCxxCompiler|No working C\+\+ compiler|Python\.h: No such file"
        r"|nvcc(?:'|:)? ?(?:not found|No such file)|Could not find nvcc|Ninja is required|cannot find -l\w{2,40}"
        r"|No such file or directory: '(?:/[\w./-]{0,100}/)?(?:gcc|g\+\+|cc|c\+\+|nvcc|ninja|ptxas)'",
        "A kernel must be compiled here, and the tools for it are missing.",
        hint="install gcc, python3-dev, ninja and the CUDA toolkit (nvcc), or use the engine's container image",
        weight=84,
        examples=(
            "RuntimeError: Failed to find C compiler. Please specify via CC environment variable.",
            "torch._inductor.exc.InductorError: InvalidCxxCompiler: No working C++ compiler found in",
            "torch._inductor.exc.InductorError: FileNotFoundError: [Errno 2] No such file or directory: 'gcc'",
            "FileNotFoundError: [Errno 2] No such file or directory: '/usr/local/cuda/bin/nvcc'",
        ),
    ),
    Failure(
        "kernel-build",
        ("Error building extension", "Ninja build failed", "inja: build stopped", "Command '['ninja'"),
        r"Error building extension '(?P<name>[^']{1,200})'|Ninja build failed|inja: build stopped|Command '\['ninja'",
        "A kernel {name} had to be compiled here, and its compilation failed.",
        hint="the compiler's own lines (error:, nvcc fatal) name why; a CUDA toolkit of PyTorch's version and a supported gcc "
        "cure most, and so does the engine's image; for sampling alone VLLM_USE_FLASHINFER_SAMPLER=0 does without",
        weight=79,
        examples=(
            "RuntimeError: Error building extension 'single_decode_with_kv_cache': [1/3] /usr/local/cuda/bin/x",
            "RuntimeError: Ninja build failed. Ninja output:",
            "subprocess.CalledProcessError: Command '['ninja', '-v', '-C', '/root/.cache/flashinfer']' returned non-zero",
        ),
    ),
    Failure(
        "kernel-build",
        "nvcc fatal",
        r"nvcc fatal {1,4}: (?P<what>[^\n]{3,120}?)(?= ninja: |$|\n)",
        "A kernel had to be compiled here, and nvcc refused: {what}",
        hint="use a CUDA toolkit of PyTorch's version (nvcc --version against torch.version.cuda), or the engine's image; for "
        "sampling alone VLLM_USE_FLASHINFER_SAMPLER=0 does without",
        weight=80,
        unless=r"nvcc fatal {1,4}: Unsupported gpu",
        examples=("nvcc fatal   : Unknown option '-static-global-template-stub=false'",),
    ),
    Failure(
        "compiler-failed",
        "returned non-zero exit status",
        r"Command '\['?[\w/.-]{0,120}(?:gcc|g\+\+|clang|/cc|nvcc)(?:-\d+)?'",
        "The C compiler could not compile a small program that Triton or torch.compile needs.",
        hint="install python3-dev of the Python in use and the build tools (its own line above says what it lacks), or use the "
        "engine's image",
        weight=78,
        examples=(
            "subprocess.CalledProcessError: Command '['/usr/bin/gcc', '/tmp/tmpab/main.c', '-O3', '-shared']' returned "
            "non-zero exit status 1.",
        ),
    ),
    Failure(
        "torch-compile",
        ("torch._dynamo.exc.", "torch._inductor.exc.", "BackendCompilerFailed"),
        r"(?:torch\._dynamo\.exc\.|torch\._inductor\.exc\.)(?P<name>\w+)(?:: (?P<what>[^\n]{3,200}))?|BackendCompilerFailed",
        "torch.compile failed: {name} {what}",
        hint="--enforce-eager starts without it, slower; after an upgrade delete ~/.cache/vllm/torch_compile_cache",
        weight=VAGUE - 8,
        examples=(
            "torch._dynamo.exc.Unsupported: Unexpected type in sourceless builder torch.SymInt",
            "torch._inductor.exc.InductorError: LoweringException: AssertionError: ",
        ),
    ),
    Failure(
        "capture-broken",
        ("stream is capturing", "stream capture"),
        r"operation not permitted when stream is capturing|operation failed due to a previous error during capture"
        r"|(?:previous error|unsupported|invalidated)[^\n]{0,60}stream capture",
        "Capturing the CUDA graphs broke off: something ran meanwhile that cannot be captured.",
        hint="--enforce-eager starts without graphs; an earlier error of another rank, or cudagraph_mode PIECEWISE in "
        "--compilation-config, may be the cure",
        weight=70,
        examples=("RuntimeError: CUDA error: operation not permitted when stream is capturing",),
    ),
    Failure(
        "kernel-internal",
        ("Error Internal", "deep-gemm/", "deep_gemm/", "DeepGEMM"),
        r"Error: (?:\w{1,80}: )?(?P<cutlass>Error Internal)|Assertion error \(\S{0,160}(?P<gemm>deep[-_]gemm)|(?P<d>DeepGEMM)[^\n]{0,100}"
        r"(?:not available|not supported|failed)",
        "A matrix kernel failed in itself ({cutlass}{gemm}{d}): it was not made for this GPU or these sizes.",
        hint="for DeepGEMM VLLM_USE_DEEP_GEMM=0; else a build for this GPU's compute capability, or other weights",
        weight=74,
        examples=(
            "RuntimeError: Error Internal",
            "RuntimeError: Assertion error (/workspace/deep-gemm/csrc/apis/gemm.hpp:44): false and \"Unsupported\"",
        ),
    ),
)  # fmt: skip
