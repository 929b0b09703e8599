"""Failures between processes and in kernels: ports, NCCL, time-outs, CUDA, Triton, plug-ins, installation."""

from collectors.reading.log.rules.failure import VAGUE, Failure

RUNTIME = (
    Failure(
        "port-in-use",
        ("ddress already in use", "EADDRINUSE", "Errno 98"),
        r"\[Errno 98\]|EADDRINUSE|[Aa]ddress already in use",
        "The port is taken: another server is still running.",
        hint="stop it (`ss -ltnp` names its pid; an earlier run may have left one), or choose another --port",
        weight=88,
        unless=r"server socket has failed to listen|TCPStore",
        examples=("OSError: [Errno 98] Address already in use",),
    ),
    Failure(
        "rendezvous-port-in-use",
        ("server socket has failed to listen", "TCPStore"),
        r"server socket has failed to listen on any local network address.*(?:EADDRINUSE|ddress already in "
        r"use|-98)",
        "The port on which the ranks find each other is taken: an earlier run is still alive.",
        hint="end the earlier run's processes, or set another VLLM_PORT / --master-port",
        weight=90,
        examples=(
            "RuntimeError: The server socket has failed to listen on any local network address. useIpv6: 0, "
            "code: -98, "
            "name: EADDRINUSE, message: address already in use",
        ),
    ),
    Failure(
        "nccl-timeout",
        "collective operation timeout",
        r"\[Rank (?P<rank>\d+)\] Watchdog caught collective operation timeout: WorkNCCL\(SeqNum=\d+,"
        r" OpType=(?P<op>\w+).*?Timeout\(ms\)=(?P<ms>\d+)",
        "The GPUs could not talk to each other: rank {rank} waited {ms} ms in {op} and gave up.",
        hint="one rank hung or died, or the links are blocked: try NCCL_P2P_DISABLE=1, check `nvidia-smi "
        "topo -m`, "
        "NCCL_DEBUG=INFO shows where",
        weight=84,
        examples=(
            "[rank0]:[E ProcessGroupNCCL.cpp:563] [Rank 0] Watchdog caught collective operation timeout: "
            "WorkNCCL(SeqNum=2, OpType=ALLREDUCE, NumelIn=134217728, NumelOut=134217728, "
            "Timeout(ms)=600000) ran for "
            "600059 milliseconds before timing out.",
        ),
    ),
    Failure(
        "peer-gone",
        ("remote process exited", "Connection closed by peer", "Connection reset by peer", "connection was closed",
         "ncclRemoteError", "failed to recv"),
        r"remote process exited|Connection (?:closed|reset) by (?:remote )?peer|ncclRemoteError|failed to "
        r"recv",
        "Another rank or node went away first; its own log names the reason.",
        hint="look at the other ranks' and nodes' logs",
        weight=20,
        examples=("RuntimeError: [../gloo/transport/tcp/pair.cc:525] Connection closed by peer [10.0.0.1]:51234",),
    ),
    Failure(
        "nccl",
        ("NCCL error", "ncclUnhandledCudaError", "ncclSystemError", "ncclInternalError", "ncclInvalidUsage"),
        r"NCCL error[^:\n]*:? "
        r"?(?P<what>[^\n]{0,160})|nccl(?:UnhandledCuda|System|Internal)Error|ncclInvalidUsage",
        "The GPUs could not join each other over NCCL: {what}",
        hint="NCCL_DEBUG=INFO shows why; in a container give --ipc=host or a larger --shm-size; try "
        "NCCL_P2P_DISABLE=1",
        weight=76,
        unless=r"remote process exited|ncclRemoteError",
        examples=(
            "RuntimeError: NCCL error: unhandled system error (run with NCCL_DEBUG=INFO for details)",
            "torch.distributed.DistBackendError: NCCL error in: "
            "../torch/csrc/distributed/c10d/NCCLUtils.hpp:317, "
            "unhandled cuda error (run with NCCL_DEBUG=INFO for details), NCCL version 2.21.5",
        ),
    ),
    Failure(
        "rendezvous-timeout",
        ("client socket has timed out", "TCPStore", "DistNetworkError", "DistStoreError", "Timed out after"),
        r"client socket has timed out after (?P<t>\w+) while trying to connect to \((?P<to>[^)]*)\)"
        r"|DistStoreError: Timed out|Timed out after (?P<t2>\d+) ?\w+ waiting for clients",
        "The ranks did not find each other in time.",
        hint="check that all nodes run, reach the master's address and port (--master-addr), and were "
        "started alike",
        weight=80,
        examples=(
            "torch.distributed.DistNetworkError: The client socket has timed out after 600s while trying to "
            "connect to "
            "(10.0.0.1, 29500).",
        ),
    ),
    Failure(
        "engine-start-timeout",
        "Timed out waiting for engine",
        r"Timed out waiting for engine(?:s to send| core processes to start)(?:.*?Waited (?P<s>\d+)s)?",
        "The API server gave up waiting for the engine to load{s}.",
        hint="raise VLLM_ENGINE_READY_TIMEOUT_S (600 by default; 3600 for a large model)",
        weight=84,
        examples=(
            "TimeoutError: Timed out waiting for engine core processes to start. This is often caused by "
            "slow weight "
            "loading for large models. Waited 600s (configured by VLLM_ENGINE_READY_TIMEOUT_S).",
        ),
    ),
    Failure(
        "rpc-timeout",
        "timed out",
        r"RPC call to (?P<method>\w+) timed out",
        "A worker did not answer {method} in time: it hangs, or the step took too long.",
        hint="look what the workers do (py-spy dump --pid), and raise VLLM_EXECUTE_MODEL_TIMEOUT_SECONDS if "
        "it is "
        "only slow",
        weight=74,
        examples=("TimeoutError: RPC call to sample_tokens timed out.",),
    ),
    Failure(
        "sglang-watchdog",
        "atchdog timeout",
        r"[Ww]atchdog timeout \((?:self\.)?watchdog_timeout=(?P<s>[\d.]+)|[Ww]atchdog timeout",
        "SGLang's watchdog ended the server: one forward pass took longer than {s} s.",
        hint="raise --watchdog-timeout if a first compile is that slow; else a rank hangs",
        weight=74,
        examples=("Watchdog timeout (self.watchdog_timeout=300)",),
    ),
    Failure(
        "warmup-request",
        "Error in request: ",
        r"Error in request: (?P<what>.{1,300})",
        "The server came up, but its own warm-up request failed: {what}",
        hint="the model cannot run with these kernels; try another attention backend or fewer features",
        weight=VAGUE,
        examples=(
            "Error in request: copy_d2d_baseformat_opapi:build/CMakeFiles/torch_npu.dir/compiler_depend.ts:90 NPU "
            "function error: call aclnnInplaceCopy failed, error code is 161002",
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
        ("Failed to find C compiler", "InvalidCxxCompiler", "No working C++ compiler", "Python.h", "nvcc", "ninja"),
        r"Failed to find C compiler|InvalidCxxCompiler|No working C\+\+ compiler|Python\.h: No such file"
        r"|nvcc(?:'|:)? ?(?:not found|No such file)|Could not find nvcc|Ninja is required",
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
        ("no kernel image", "not compatible with the current PyTorch"),
        r"no kernel image is available for execution on the device",
        "This build has no code for this GPU's architecture.",
        hint="install a build of vLLM and torch for this GPU's compute capability (TORCH_CUDA_ARCH_LIST)",
        weight=88,
        examples=("torch.AcceleratorError: CUDA error: no kernel image is available for execution on the device",),
    ),
    Failure(
        "cuda-driver",
        ("NVIDIA driver", "CUDA driver", "no CUDA-capable device", "No CUDA GPUs", "system not yet initialized",
         "Failed to infer device type", "invalid device ordinal"),
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
        examples=("RuntimeError: CUDA error: CUBLAS_STATUS_NOT_INITIALIZED when calling `cublasCreate(handle)`",),
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
        ("ImportError", "ModuleNotFoundError", "undefined symbol", "cannot open shared object", "cannot import name"),
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
    Failure(
        "ray-worker",
        ("ray.exceptions", "placement group", "Ray"),
        r"(?P<what>ray\.exceptions\.(?:ActorDiedError|RaySystemError|RayActorError"
        r"|OutOfMemoryError)[^\n]{0,160}"
        r"|Cannot provide a placement group[^\n]{0,120}|placement group[^\n]{0,60}(?:timed out|not "
        r"ready)[^\n]*)",
        "Ray could not keep or place a worker: {what}",
        hint="`ray status` shows the cluster's free GPUs and nodes; the worker's own log names its reason",
        weight=VAGUE,
        examples=(
            "ray.exceptions.ActorDiedError: The actor died unexpectedly before finishing this task.",
            "ValueError: Cannot provide a placement group of placement_group_specs=[{'GPU': 1.0}] within "
            "1800 seconds.",
        ),
    ),
)  # fmt: skip
