"""What the user did, or the machine, that ends a command: one `error:` line, one `hint:`, an exit code."""

from enum import IntEnum


class ExitCode(IntEnum):
    """The public exit codes (docs/exit-codes.md is generated from these lines)."""

    OK = 0  # fine; also `status` of a loading server and `explain` of a failed one
    SERVER_FAILED = 1  # the server failed or was stopped before it was ready
    USAGE = 2  # bad usage or bad input: an unknown option, a file that cannot be read, a port in use
    TIMED_OUT = 3  # `wait --timeout` ran out; the server may still be loading
    NO_SUCH_RUN = 4  # no run has that id or name, or this host has none
    STALLED = 5  # `wait --stall-exit`: nothing moves any more
    RECORDER_GONE = 6  # nothing records the run any more, so nobody can say whether the server is ready
    FAULT = 70  # a fault of specwatch itself (sysexits' EX_SOFTWARE); the traceback is in a file
    INTERRUPTED = 130  # Ctrl-C, as shells count it; the server runs on


class SpecwatchError(Exception):
    """Bad input or a machine that refuses: printed as `error: …` and `hint: …`, never as a traceback."""

    def __init__(self, message: str, hint: str = "", code: ExitCode = ExitCode.USAGE) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.code = code
