"""What the story of a failure is told in beside its cause: echoes, details, whose traceback it is and when it was."""

import re

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
CLIENTS_FAULT = re.compile(
    r"ValidationError|BadRequest|maximum context length|HTTPException|ClientDisconnect|UnicodeDecode"
)

# Printed by the engine core each minute while a worker does not read its queue.
HANG = "No available shared memory broadcast block found"
HANG_WHOLE = (  # a paste breaks it anywhere
    f"{HANG} in 60 seconds. This typically happens when some processes are hanging or doing some time-consuming work "
    "(e.g. compilation, weight/kv cache quantization)."
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
