"""What the user did, or the machine, that ends a command: one `error:` line, one `hint:`, an exit code."""

from enum import IntEnum


class ExitCode(IntEnum):
    """The public exit codes (docs/exit-codes.md is generated from these)."""

    OK = 0
    SERVER_FAILED = 1
    USAGE = 2
    TIMED_OUT = 3
    NO_SUCH_RUN = 4
    STALLED = 5
    RECORDER_GONE = 6


class SpecwatchError(Exception):
    """Bad input or a machine that refuses: printed as `error: MESSAGE` and `hint: HINT`, never as a traceback."""

    def __init__(self, message: str, hint: str = "", code: ExitCode = ExitCode.USAGE) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.code = code
