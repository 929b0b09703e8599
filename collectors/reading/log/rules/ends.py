"""The fixed words by which engines, and what runs them, say that a server is ready, stops or is lost. One row each.

What it was lost of is another table's (failures.py).
"""

from msgspec import Struct


class Fatal(Struct, frozen=True):
    """A line that says that a process of the server ended, or cannot go on.

    `soft`: an orderly stop can print it too, so it counts only while nobody asked for one.
    `start`: fatal only before the server was ready (a running engine survives it).
    `names`: the line is a suspect itself, since it may be all that the log says.
    """

    id: str
    needle: str
    soft: bool = False
    start: bool = False
    names: bool = False


FATAL = (
    Fatal("worker-start", "WorkerProc failed to start"),
    Fatal("worker-exception", "WorkerProc hit an exception", start=True),
    Fatal("worker-wrapper", "WorkerProc initialization failed"),
    Fatal("core-start", "EngineCore failed to start"),
    Fatal("core-fatal", "EngineCore encountered a fatal error"),
    Fatal("core-exception", "EngineCore hit an exception"),
    Fatal("core-wrapper", "Engine core initialization failed", names=True),
    Fatal("v0-start", "Engine process failed to start"),
    Fatal("engine-loop-gone", "Engine loop is not running", soft=True, names=True),
    Fatal("engine-dead", "EngineDeadError", soft=True),
    Fatal("engine-issue", "EngineCore encountered an issue", soft=True),
    Fatal("output-handler", "output_handler failed", soft=True),
    Fatal("engine-loop", "Engine loop has died"),
    Fatal("server-ends-itself", "terminating server process"),
    Fatal("worker-signal", "ot fatal signal from worker processes", soft=True),
    Fatal("watchdog-ended", "watchdog thread terminated with exception", soft=True, names=True),
    Fatal("background-loop", "Background loop has errored"),
    Fatal("v0-method", "This might cause deadlock in distributed execution", start=True),
    Fatal("core-died", "died unexpectedly", soft=True, names=True),
    Fatal("core-exited", "engine core exited unexpectedly", soft=True, names=True),
    Fatal("v0-worker-died", "died, exit code", soft=True, names=True),
    Fatal("v0-worker", "Exception in worker VllmWorkerProcess", start=True),
    Fatal("settings", "validation error for ", start=True),  # pydantic's, before there are requests
    Fatal("settings-several", "validation errors for ", start=True),
    Fatal("bind", "error while attempting to bind on address", names=True),
    Fatal("lifespan", "Application startup failed. Exiting", start=True),
    Fatal("sgl-scheduler-died", "scheduler died during initialization", names=True),
    Fatal("sgl-scheduler-dead", "scheduler is dead. Please check", names=True),
    Fatal("arch-inspect", "Error in inspecting model architecture", start=True, names=True),
    Fatal("sgl-exception", " hit an exception: Traceback"),
    Fatal("sgl-quit", "Received sigquit from a child process", soft=True),
    Fatal("sgl-sigquit", "SIGQUIT received", soft=True),
    Fatal("sgl-child", "crashed with exit code", soft=True, names=True),
    Fatal("sgl-child-failed", "Child process unexpectedly failed", soft=True, names=True),
    Fatal("sgl-exit-code", "Exit code: -", soft=True, names=True),
    Fatal("sgl-terminated", " terminated with -", soft=True, names=True),
    Fatal("deepep-timeout", "DeepEP timeout", names=True),
    Fatal("aborted", "Aborted (core dumped)", soft=True, names=True),
    Fatal("heap", "free(): invalid", names=True),
    Fatal("oom-killer", "killed by the OOM killer", names=True),
    Fatal("unit-oom", "result 'oom-kill'", names=True),
    Fatal("kernel-oom", "emory: Killed process", names=True),
    Fatal("slurm-oom", "oom_kill event", names=True),
    Fatal("srun-oom", ": Out Of Memory", names=True),
    Fatal("pod-oom", "  OOMKilled", names=True),  # kubectl describe
    Fatal("pod-oom-line", "Reason: OOMKilled", names=True),
    Fatal("container-killed", "-1 exited with code 137", soft=True, names=True),  # compose's own names only
    Fatal("container-killed-v1", "_1 exited with code 137", soft=True, names=True),
    Fatal("container-crashed", "-1 exited with code 139", soft=True, names=True),
    Fatal("unit-crashed", "code=dumped, status=", soft=True, names=True),
    Fatal("rocm-fault", "Memory access fault by GPU", names=True),
    Fatal("sgl-warmup", "Initialization failed. warmup error"),
    Fatal("sgl-watchdog", "atchdog timeout (self.watchdog", names=True),
    Fatal("nccl-watchdog", "Watchdog caught collective operation timeout", names=True),
    Fatal("nccl-takes-down", "taking the entire process down"),
    Fatal("segfault", "Segfault encountered", names=True),
    Fatal("python-fatal", "Fatal Python error:", names=True),
    Fatal("terminate", "terminate called after throwing", soft=True, names=True),
    Fatal("terminate-what", "what():  ", soft=True, names=True),  # the words of what was thrown
    Fatal("container-refused", "docker: Error response from daemon: ", start=True, names=True),
    Fatal("container-device", "could not select device driver", start=True, names=True),
    Fatal("container-gpu", "nvidia-container-cli: ", start=True, names=True),
    Fatal("no-command", "vllm: command not found", start=True, names=True),
    Fatal("no-command-sh", "vllm: not found", start=True, names=True),
    Fatal("no-module", "Error while finding module specification for", start=True, names=True),
    Fatal("ray-segv", "*** SIGSEGV received", soft=True, names=True),
    Fatal("ray-abort", "*** SIGABRT received", soft=True, names=True),
    Fatal("ray-bus", "*** SIGBUS received", soft=True, names=True),
    Fatal("sigsegv", "Segmentation fault", soft=True, names=True),
    Fatal("unit-killed", "code=killed, status=9/KILL", soft=True, names=True),
    Fatal("unit-failed", "status=1/FAILURE", soft=True),
    Fatal("v0-background", "Engine background task failed"),
    Fatal("v0-engine-died", "Engine process (pid", soft=True, names=True),
    Fatal("engine-timeout", "Timed out waiting for engine"),
)

# From here on an end is an orderly one: said by the API process or its signal handler.
STOPPING = (
    "SIGTERM received",
    "Received SIGTERM",
    "API server: shutdown triggered",
    "trigger received signal=SIG",
    "KeyboardInterrupt",
    "Received signal 15",
    "Gracefully stopping",
    "Gracefully exiting",
    "crashed with exit code -15",  # the signal of a stop, from outside: SGLang's watchdog of its processes
)

# Said by Ray's executor as its workers end, whatever ended them; it quotes a SIGTERM that nobody sent.
RAY_ENDS = "Shutting down Ray distributed executor"

READY = ("Application startup complete.", "The server is fired up and ready to roll!")
