"""Failures between processes: ports, NCCL, rendezvous, time-outs, Ray, limits."""

from collectors.reading.log.rules.failure import VAGUE, Failure

DISTRIBUTED = (
    Failure(
        "port-in-use",
        ("ddress already in use", "EADDRINUSE", "Errno 98"),
        r"\[Errno 98\]|EADDRINUSE|[Aa]ddress already in use",
        "The port is taken: another server is still running.",
        hint="stop it (`ss -ltnp` names its pid; an earlier run may have left one), or choose another --port",
        weight=88,
        unless=r"server socket has failed to listen|TCPStore",
        examples=(
            "OSError: [Errno 98] Address already in use",
            "[Errno 98] error while attempting to bind on address ('0.0.0.0', 8000): address already in use",
        ),
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
        "nccl-timeout",
        "collective operation timeout",
        r"Watchdog caught collective operation timeout",
        "The GPUs could not talk to each other: a rank waited in a collective operation until it gave up.",
        hint="one rank hung or died, or the links are blocked: try NCCL_P2P_DISABLE=1, check `nvidia-smi topo -m`, "
        "NCCL_DEBUG=INFO shows where",
        weight=83,
        examples=("[Rank 0] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=2,",),
    ),
    Failure(
        "peer-gone",
        (
            "remote process exited",
            "Connection closed by peer",
            "Connection reset by peer",
            "connection was closed",
            "ncclRemoteError",
            "failed to recv",
        ),
        r"remote process exited|Connection (?:closed|reset) by (?:remote )?peer|ncclRemoteError|failed to "
        r"recv",
        "Another rank or node went away first; its own log names the reason.",
        hint="look at the other ranks' and nodes' logs",
        weight=20,
        examples=(
            "RuntimeError: [../gloo/transport/tcp/pair.cc:525] Connection closed by peer [10.0.0.1]:51234",
        ),
    ),
    Failure(
        "nccl",
        (
            "NCCL error",
            "ncclUnhandledCudaError",
            "ncclSystemError",
            "ncclInternalError",
            "ncclInvalidUsage",
            "Hccl",
            "HCCL",
        ),
        r"NCCL error[^:\n]*:? "
        r"?(?P<what>[^\n]{0,160})|nccl(?:UnhandledCuda|System|Internal)Error|ncclInvalidUsage"
        r"|\bHCCL\b[^\n]{0,80}(?:fail|error)|HcclCommInit\w*",
        "The GPUs could not join each other: {what}",
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
        ("client socket has", "Gloo connect", "TCPStore", "DistNetworkError", "DistStoreError", "Timed out after", "wait timeout"),
        r"client socket has failed to connect|Gloo connectFullMesh failed|client socket has timed out after (?P<t>\w+) while trying to connect to \((?P<to>[^)]*)\)"
        r"|DistStoreError: Timed out|Timed out after (?P<t2>\d+) ?\w+ waiting for clients|wait timeout after \d+ ?ms",
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
        r"Timed out waiting for engine(?:s to send| core processes to start)(?:.*?(?P<s>Waited \d+s))?",
        "The API server gave up waiting for the engine to load. {s}",
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
        "didn't reply within",
        r"[Ss]erver didn't reply within (?P<ms>\d+) ?ms",
        "The engine's process did not answer its API server within {ms} ms.",
        hint="raise VLLM_RPC_TIMEOUT (milliseconds); the engine may have died or still be loading: see its lines above",
        weight=74,
        examples=("TimeoutError: Server didn't reply within 5000 ms",),
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
    Failure(
        "custom-allreduce",
        ("custom_all_reduce", "peer access is not supported"),
        r"custom_all_reduce\.cuh:\d+|peer access is not supported between",
        "vLLM's own all-reduce kernel could not reach the other GPU's memory.",
        hint="add --disable-custom-all-reduce (NCCL does it then); without direct links between the GPUs NCCL_P2P_DISABLE=1 too",
        weight=84,
        examples=(
            "RuntimeError: custom_all_reduce.cuh:455 'invalid argument'",
            "RuntimeError: CUDA error: peer access is not supported between these two devices",
        ),
    ),
    Failure(
        "duplicate-gpu",
        "Duplicate GPU detected",
        r"Duplicate GPU detected ?: rank (?P<a>\d+) and rank (?P<b>\d+)",
        "The ranks {a} and {b} were given the same GPU.",
        hint="each rank needs a GPU of its own: check CUDA_VISIBLE_DEVICES, and what else sets the local rank (Ray, torchrun, MIG)",
        weight=86,
        examples=("Duplicate GPU detected : rank 1 and rank 0 both on CUDA device 5e000",),
    ),
    Failure(
        "ray-node-memory",
        "node running low on memory",
        r"killed due to the node running low on memory",
        "Ray ended a worker because the node's memory was nearly used up.",
        hint="give the node or container more memory, or load with less (--safetensors-load-strategy lazy); "
        "RAY_memory_usage_threshold moves the limit",
        weight=84,
        examples=("ray.exceptions.OutOfMemoryError: Task was killed due to the node running low on memory.",),
    ),
)  # fmt: skip
