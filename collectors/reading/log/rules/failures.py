"""All kinds of failure, what is fatal, and what only repeats it. One row each; docs say how to add one."""

import re

from msgspec import Struct

from collectors.reading.log.rules.failure import Matcher
from collectors.reading.log.rules.failures_config import CONFIG
from collectors.reading.log.rules.failures_loading import LOADING
from collectors.reading.log.rules.failures_memory import MEMORY
from collectors.reading.log.rules.failures_runtime import RUNTIME

FAILURES = MEMORY + LOADING + CONFIG + RUNTIME
KINDS = Matcher(FAILURES)

# Exceptions that repeat or follow a failure which another line names: never the cause.
# vLLM's wrappers, V0's, SGLang's; then what a peer's death does to the pipes; then what a stop raises.
ECHO = re.compile(
    r"See root cause above|[Ss]ee stack trace|check the stack trace above|EngineDeadError|AsyncEngineDeadError"
    r"|MQEngineDeadError|Executor failed\.|Background loop has errored|Engine loop (?:is not|has died)"
    r"|Failed core proc|Engine process failed to start|Rank \d+ scheduler died|scheduler died, please see"
    r"|Server process exited with code|warmup error|Test failed for|returned non-zero exit status"
    r"|BrokenPipeError|\bEOFError|ConnectionRefusedError|RuntimeError: cancelled|CancelledError"
    r"|SystemExit|KeyboardInterrupt|Please check the logs for more details"
)


class Fatal(Struct, frozen=True):
    """A line that says that a process of the server ended, or cannot go on.

    `soft`: an orderly stop can print it too, so it counts only while nobody asked for one.
    `start`: fatal only before the server was ready (a running engine survives it).
    """

    id: str
    needle: str
    soft: bool = False
    start: bool = False


FATAL = (
    Fatal("worker-start", "WorkerProc failed to start"),
    Fatal("worker-exception", "WorkerProc hit an exception", start=True),
    Fatal("worker-wrapper", "WorkerProc initialization failed"),
    Fatal("core-start", "EngineCore failed to start"),
    Fatal("core-fatal", "EngineCore encountered a fatal error"),
    Fatal("core-exception", "EngineCore hit an exception"),
    Fatal("core-wrapper", "Engine core initialization failed"),
    Fatal("v0-start", "Engine process failed to start"),
    Fatal("engine-dead", "EngineDeadError", soft=True),
    Fatal("engine-issue", "EngineCore encountered an issue", soft=True),
    Fatal("output-handler", "output_handler failed", soft=True),
    Fatal("engine-loop", "Engine loop has died"),
    Fatal("background-loop", "Background loop has errored"),
    Fatal("v0-method", "This might cause deadlock in distributed execution", start=True),
    Fatal("core-died", "died unexpectedly", soft=True),
    Fatal("core-exited", "engine core exited unexpectedly", soft=True),
    Fatal("v0-worker-died", "died, exit code", soft=True),
    Fatal("arch-inspect", "Error in inspecting model architecture", start=True),
    Fatal("sgl-exception", " hit an exception: Traceback"),
    Fatal("sgl-quit", "Received sigquit from a child process", soft=True),
    Fatal("sgl-sigquit", "SIGQUIT received", soft=True),
    Fatal("sgl-child", "crashed with exit code", soft=True),
    Fatal("sgl-warmup", "Initialization failed. warmup error"),
    Fatal("sgl-watchdog", "atchdog timeout ("),
    Fatal("nccl-watchdog", "Watchdog caught collective operation timeout"),
    Fatal("nccl-takes-down", "taking the entire process down"),
    Fatal("segfault", "Segfault encountered"),
    Fatal("python-fatal", "Fatal Python error:"),
    Fatal("unit-failed", "Main process exited, code="),
    Fatal("engine-timeout", "Timed out waiting for engine"),
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
    "INFO:     Shutting down",
    "KeyboardInterrupt",
    "Received signal 15",
    "Gracefully stopping",
)

READY = ("Application startup complete.", "The server is fired up and ready to roll!")

# ERROR-level tracebacks of these files end a start; those of the others (a client's mistake) are survived.
ENGINE_FILES = (
    "core.py", "multiproc_executor.py", "multiproc_worker_utils.py", "worker_base.py", "engine.py",
    "ray_utils.py", "ray_distributed_executor.py", "ray_executor.py",
)  # fmt: skip

# What a traceback's frames say about when it happened, innermost stretch last.
WHERE = (
    ("init_device", "init"),
    ("load_model", "load"),
    ("profile_run", "profile"),
    ("capture_model", "capture"),
    ("compile_fx", "compile"),
    ("aot_compile", "compile"),
    ("generate_and_run_autotune_block", "compile"),
    ("execute_model", "run"),
    ("event_loop", "run"),
)
