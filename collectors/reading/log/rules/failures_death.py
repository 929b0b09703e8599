"""Processes that end without an exception: killed from outside, crashed in native code."""

from collectors.reading.log.rules.failure import DEATH, TRACE, VAGUE, Failure

DEATHS = (
    Failure(
        "killed-worker",
        ("died", "exit code"),
        r"(?:[Ww]orker proc|Worker|Rank) (?P<name>\S+)(?: pid \d+| scheduler)? died"
        r"(?: unexpectedly| during initialization)?[ ,(]+exit code: -(?P<signal>9|7|11)\b",
        "The worker {name} was killed by signal {signal}, with no word of its own.",
        hint="signal 9 most often is the kernel's OOM killer: see dmesg and the container's memory limit "
        "(memory.events); 7 and 11 are a crash in native code or a full /dev/shm",
        weight=75,
        examples=(
            "Worker proc VllmWorker-3 died unexpectedly (exit code: -9), shutting down executor.",
            "Worker VllmWorkerProcess pid 1159 died, exit code: -9",
            "RuntimeError: Rank 0 scheduler died during initialization (exit code: -9). If exit code is -9 "
            "(SIGKILL), a common cause is the OS OOM killer.",
        ),
    ),
    Failure(
        "killed-by-system",
        ("Killed", "status=9/KILL", "Bus error"),
        r"Killed|Bus error|status=9/KILL",
        "The server was killed from outside (signal 9), or by a fault on shared memory.",
        hint="most often the kernel's OOM killer: see dmesg and the container's memory limit; a bus error means "
        "that /dev/shm is full (docker: --shm-size)",
        weight=75,
        examples=(
            "Killed",
            "./serve.sh: line 3: 12345 Killed                  vllm serve m",
            "vllm.service: Main process exited, code=killed, status=9/KILL",
        ),
    ),
    Failure(
        "killed-engine",
        "Failed core proc",
        r"Failed core proc\(s\): \{'(?P<name>\w+)': -(?P<signal>\d+)",
        "{name} was killed by signal {signal} before it could say why.",
        hint="signal 9 most often is the kernel's OOM killer: see dmesg and the container's memory limit "
        "(memory.events)",
        weight=TRACE,
        examples=(
            "RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): "
            "{'EngineCore_DP0': -9}",
        ),
    ),
    Failure(
        "process-died",
        ("died", "exited unexpectedly", "scheduler is dead", "crashed with exit code"),
        r"(?:[Ww]orker proc|Worker|Engine core proc|Engine process|engine core)(?P<name>(?: [\w()-]+){0,4}?)"
        r" (?:died|exited unexpectedly)|Rank (?P<rank>\d+) scheduler (?:died|is dead)"
        r"|Subprocess (?P<child>\S+) \(pid=\d+\) crashed with exit code",
        "The process {name}{rank}{child} vanished without a traceback: killed from outside, or a native crash.",
        hint="see dmesg for the OOM killer or a segfault, and the container's memory limit (memory.events)",
        weight=DEATH,
        examples=(
            "Worker proc VllmWorker-1 died unexpectedly, shutting down executor.",
            "Engine core proc EngineCore_DP0 died unexpectedly, shutting down client.",
            "Subprocess detokenizer (pid=31379) crashed with exit code -6. Triggering SIGQUIT for cleanup...",
            "[shutdown] MPClient: engine core exited unexpectedly; starting cleanup",
            "Worker VllmWorkerProcess pid 1159 died, exit code: -6",
        ),
    ),
    Failure(
        "native-crash",
        (
            "Segmentation fault",
            "Segfault encountered",
            "Fatal Python error",
            "LLVM ERROR",
            "Illegal instruction",
            "*** SIG",
        ),
        r"Fatal Python error: (?P<what>.+)|Segmentation fault|Segfault encountered|LLVM ERROR: (?P<llvm>.+)"
        r"|Illegal instruction|\*\*\* SIG(?:SEGV|ABRT|BUS) received",
        "A process crashed in native code{where}.",
        hint="note the lines around it, and try --enforce-eager or another attention backend "
        "(VLLM_ATTENTION_BACKEND)",
        weight=VAGUE,
        examples=(
            "!!!!!!! Segfault encountered !!!!!!!",
            "Fatal Python error: Segmentation fault",
            "*** SIGSEGV received at time=1740001234 on cpu 12 ***",
            "LLVM ERROR: Unsupported rounding mode for conversion.",
        ),
    ),
    Failure(
        "native-exception",
        "terminate called after throwing",
        r"terminate called after throwing an instance of '?(?P<name>[\w:]{1,80})",
        "A process ended itself: nobody caught an error of its C++ code ({name}).",
        hint="the next line (what():) or those before it name the error",
        weight=DEATH + 2,
        examples=("terminate called after throwing an instance of 'c10::DistBackendError'",),
    ),
)  # fmt: skip
