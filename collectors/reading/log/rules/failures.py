"""All kinds of failure, what is fatal, and what only repeats it. One row each; docs say how to add one."""

import re

from msgspec import Struct

from collectors.reading.log.rules.failure import Matcher
from collectors.reading.log.rules.failures_architecture import ARCHITECTURE
from collectors.reading.log.rules.failures_compile import COMPILE
from collectors.reading.log.rules.failures_config import CONFIG
from collectors.reading.log.rules.failures_death import DEATHS
from collectors.reading.log.rules.failures_distributed import DISTRIBUTED
from collectors.reading.log.rules.failures_drafter import DRAFTER
from collectors.reading.log.rules.failures_host import HOST
from collectors.reading.log.rules.failures_hub import HUB
from collectors.reading.log.rules.failures_install import INSTALL
from collectors.reading.log.rules.failures_kernels import KERNELS
from collectors.reading.log.rules.failures_memory import MEMORY
from collectors.reading.log.rules.failures_outside import OUTSIDE
from collectors.reading.log.rules.failures_quantisation import QUANTISATION
from collectors.reading.log.rules.failures_runtime import RUNTIME
from collectors.reading.log.rules.failures_serving import SERVING_FAILURES
from collectors.reading.log.rules.failures_sglang import SGLANG_FAILURES
from collectors.reading.log.rules.failures_weights import WEIGHTS

FAILURES = (
    MEMORY
    + DEATHS
    + HUB
    + QUANTISATION
    + WEIGHTS
    + DRAFTER
    + CONFIG
    + ARCHITECTURE
    + DISTRIBUTED
    + HOST
    + RUNTIME
    + COMPILE
    + INSTALL
    + KERNELS
    + SERVING_FAILURES
    + OUTSIDE
    + SGLANG_FAILURES
)
KINDS = Matcher(FAILURES)

# Exceptions that repeat or follow a failure which another line names: never the cause.
# vLLM's wrappers, V0's, SGLang's; then what a peer's death does to the pipes; then what a stop raises.
ECHO = re.compile(
    r"See root cause above|[Ss]ee stack trace|EngineDeadError|Executor failed\.|Background loop has errored"
    r"|Engine loop (?:is not|has died)|Failed core proc|Engine process failed to start"
    r"|Server process exited with code|warmup error|Test failed for|ChildFailedError"
    r"|models\.registry'?\]?'? returned non-zero exit status"
    r"|died, exit code: -15|BrokenPipeError|\bEOFError|ConnectionRefusedError|RuntimeError: cancelled|CancelledError"
    r"|SystemExit|KeyboardInterrupt"
)

# The engine core's echo of a worker's exception, and V0's of its engine's, with its words.
QUOTE = re.compile(
    r"(?:Worker failed with error '|stacktrace to find the original error: )(?!ZMQError)"
    r"(?P<what>.*?)(?:', please check the stack trace above|$)",
    re.DOTALL,
)

# A client's mistake or absence, answered with a 4xx: no trouble of the server.
CLIENT = re.compile(
    r"ValidationError|BadRequest|maximum context length|HTTPException|ClientDisconnect|UnicodeDecode"
)

# Printed by the engine core each minute while a worker does not read its queue.
HANG = "No available shared memory broadcast block found"
HANG_WHOLE = (  # a paste breaks it anywhere
    f"{HANG} in 60 seconds. This typically happens when some processes are hanging or doing some time-consuming work "
    "(e.g. compilation, weight/kv cache quantization)."
)


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

# Lines of compilers and libraries that name a cause, though only another line says that it was the end.
WORDS = (
    ": fatal error: ",
    "nvcc fatal",
    "ptxas fatal",
    "CUDA error (/",
    "NPU function error: call",
    "shared memory segment",
    "/ld: cannot find -l",
)

# Lines that belong to a failure's story without naming it: folded away, never problems of their own.
DETAIL = (
    "[dump_input.py",
    "Dumping input data",
    "Dumping scheduler output",
    "Dumping scheduler stats",
    "LLVM ERROR",
    "CUDA kernel errors might be asynchronously reported",
    "Search for `cudaError",
    "Compile with `TORCH_USE_CUDA_DSA`",
    "For debugging consider passing CUDA_LAUNCH_BLOCKING",
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

# ERROR-level tracebacks of these files end a start; those of the others (a client's mistake) are survived.
ENGINE_FILES = (
    "core.py",
    "multiproc_executor.py",
    "multiproc_worker_utils.py",
    "worker_base.py",
    "engine.py",
    "ray_utils.py",
    "ray_distributed_executor.py",
    "ray_executor.py",
    "async_llm_engine.py",
)

# Their exceptions may be why, though other words must say that it is the end.
SUSPECT_FILES = (*ENGINE_FILES, "registry.py", "async_llm.py", "launcher.py")

# What a traceback's frames say about when it happened, innermost stretch last.
WHERE = (
    ("init_device", "init"),
    ("load_model", "load"),
    ("profile_run", "profile"),
    ("capture", "capture"),
    ("compile_fx", "compile"),
    ("aot_compile", "compile"),
    ("generate_and_run_autotune_block", "compile"),
    ("execute_model", "run"),
    ("event_loop", "run"),
)

# One of these stands in every line that the finder must see. Few: blocks of the log are searched for each.
NEEDLES: tuple[str, ...] = (
    "Error",
    "ERROR",
    "CRITICAL",
    "Exception",
    "Traceback",
    'File "',
    "Value error, ",
    "validation error",
    "OutOfResources",
    ": error: ",
    "died",
    "unexpectedly",
    "sigquit",
    "SIGQUIT",
    "crashed with",
    "Exit code: -",
    " terminated with -",
    "DeepEP timeout",
    "Memory access fault",
    "OOM killer",
    "'oom-kill'",
    "oom_kill event",
    "Out Of Memory",
    "OOMKilled",
    "exited with code ",
    "code=dumped",
    "Aborted (core",
    "free(): invalid",
    "scheduler is dead",
    "warmup error",
    "atchdog",
    "terminating server process",
    "fatal signal from worker",
    "taking the entire process down",
    "Segfault",
    "Segmentation fault",
    "Fatal Python",
    "terminate called",
    "errno: 98",
    "attempting to bind",
    "startup failed",
    "status=9/KILL",
    "status=1/FAILURE",
    "background task failed",
    "Engine process",
    "Killed",
    "Bus error",
    "Illegal instruction",
    "what():  ",
    "*** SIG",
    *WORDS,
    "command not found",
    "could not select device driver",
    "nvidia-container-cli: ",
    "vllm: not found",
    "Terminated",
    "deadlock in distributed",
    "startup complete",
    "ready to roll",
    "SIGTERM",
    "shutdown triggered",
    "signal=SIG",
    "Received signal 15",
    "Shutting down",
    "KeyboardInterrupt",
    "Gracefully stopping",
    "Gracefully exiting",
    "broadcast block",
    "never retrieved",
    "Logging error",
    "Failed to load plugin",
    "Timed out waiting",
    "Engine loop",
    "Background loop",
    "failed to start",
    "initialization failed",
    "encountered a",
    "hit an exception",
    "handler failed",
)
