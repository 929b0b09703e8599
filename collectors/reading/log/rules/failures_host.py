"""Failures of the machine round the server: its addresses, sockets and limits."""

from collectors.reading.log.rules.failure import VAGUE, Failure

HOST = (
    Failure(
        "too-many-files",
        "Too many open files",
        r"\[Errno 24\]|Too many open files",
        "The server may not open that many files.",
        hint="raise the limit where it is started: `ulimit -n 65536` (docker: --ulimit nofile=65536)",
        weight=84,
        examples=("OSError: [Errno 24] Too many open files",),
    ),
    Failure(
        "shm-too-small",
        "creating shared memory segment",
        r"[Ee]rror while (?:creating|attaching to) shared memory segment (?P<path>[^\s(]{0,80})",
        "The shared memory of the container (/dev/shm) is too small for NCCL.",
        hint="give it --ipc=host, or --shm-size=16g",
        weight=86,
        examples=("Error while creating shared memory segment /dev/shm/nccl-aGq9Xh (size 33030528)",),
    ),
    Failure(
        "network-interface",
        ("Unable to find interface for", "Unable to find address for", "ifa != nullptr"),
        r"(?:ifa != nullptr\.? ?)?Unable to find (?:interface|address) for: ?\[?(?P<name>[^\s\]]{0,60})|ifa != nullptr",
        "There is no network interface or address {name} on this node, and the ranks need one to find each other.",
        hint="set GLOO_SOCKET_IFNAME and NCCL_SOCKET_IFNAME to a name that `ip addr` lists, and VLLM_HOST_IP to its address",
        weight=86,
        examples=(
            "RuntimeError: [enforce fail at /pytorch/third_party/gloo/gloo/transport/tcp/device.cc:83] ifa != nullptr. Unable "
            "to find address for: eth1",
        ),
    ),
    Failure(
        "host-address",
        "Errno 99]",
        r"\[Errno 99\]",
        "The server's own address cannot be used: no interface of this machine has it.",
        hint="check --host (0.0.0.0 takes all), VLLM_HOST_IP and --master-addr",
        weight=86,
        examples=("OSError: [Errno 99] Cannot assign requested address",),
    ),
    Failure(
        "host-name",
        "gaierror",
        r"gaierror: \[Errno -?\d+\]",
        "A host's name could not be resolved.",
        hint="the frames above name whose: --host, VLLM_HOST_IP, --master-addr or this machine's own name (/etc/hosts)",
        weight=VAGUE,
        examples=("socket.gaierror: [Errno -2] Name or service not known",),
    ),
    Failure(
        "socket-path",
        "longer than 107",
        r"ipc path .{0,300}longer than 107|longer than 107 characters",
        "The path of a socket between the server's processes is too long.",
        hint="set VLLM_RPC_BASE_PATH or TMPDIR to something short, as /tmp",
        weight=88,
        examples=('zmq.error.ZMQError: ipc path "/a/b" is longer than 107 characters (sizeof(sockaddr_un.sun_path)).',),
    ),
    Failure(
        "too-many-threads",
        ("can't start new thread", "pthread_create failed", "Resource temporarily unavailable"),
        r"can't start new thread|pthread_create failed|\[Errno 11\] Resource temporarily unavailable",
        "The server may not start that many threads or processes.",
        hint="raise `ulimit -u`, or the container's pids limit (docker: --pids-limit -1); OMP_NUM_THREADS=8 needs fewer",
        weight=84,
        examples=("RuntimeError: can't start new thread",),
    ),
)  # fmt: skip
