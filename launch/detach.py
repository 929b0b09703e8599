"""Starts the keeper so that it outlives this terminal, and hears from it whether the server could be executed."""

import ctypes
import errno
import json
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NoReturn

from collectors.errors import SpecwatchError
from collectors.record.folder import RunFolder
from launch import keeper
from launch.selfexec import self_argv

_PR_SET_CHILD_SUBREAPER = 36  # linux/prctl.h; kept over execve(2), not over fork(2)


def start(
    folder: RunFolder,
    program: str,
    argv: Sequence[str],
    env: dict[str, str],
    *,
    prefix: Sequence[str] = (),
    secrets: Sequence[str] = (),
) -> int:
    """Start keeper, server and recorder of `folder`; the server's pid.

    `prefix`: a command that executes the one after it (`systemd-run --user --scope …`). `secrets`: handed on to the
    recorder in its environment, which only this user can read, for its hooks to hide. Raises SpecwatchError when the
    server cannot be executed; nothing runs then.
    """
    order = keeper.Order(str(folder.path), program, list(argv), env, self_argv("record", str(folder.path)))
    errors = os.open(folder.path / "keeper.err", os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
    theirs, to_keeper = os.pipe()
    from_keeper, answer = os.pipe()
    # -S -E: no site-packages, no PYTHON* of the user's: 8.6 MB instead of 15, and nothing but the library.
    command = [*prefix, sys.executable, "-S", "-E", str(Path(keeper.__file__))]
    ours = {k: v for k, v in os.environ.items() if k != "SPECWATCH_RUN"} | {
        "SPECWATCH_SECRETS": json.dumps(secrets)
    }
    prctl = ctypes.CDLL(
        None, use_errno=True
    ).prctl  # looked up here: between fork and exec as little as can be
    child = os.fork()
    if child == 0:
        _become(command, ours, prctl, theirs, answer, errors)
    for fd in (theirs, answer, errors):
        os.close(fd)
    os.waitpid(child, 0)  # the one in between; the keeper itself is init's child by now
    try:
        with os.fdopen(to_keeper, "wb") as pipe:
            pipe.write(order.encode())
    except BrokenPipeError:
        pass  # it could not be executed: its answer below is empty
    with os.fdopen(from_keeper, "rb") as pipe:
        said = pipe.readline().decode().split()
    match said:
        case ["ok", pid]:
            return int(pid)
        case ["errno", number]:
            raise _not_started(program, argv[0], int(number))
    raise SpecwatchError(
        "the keeper did not start" + _last_words(folder), "does this machine allow another process?"
    )


def _become(
    command: list[str], env: dict[str, str], prctl: Callable[..., Any], stdin: int, stdout: int, stderr: int
) -> NoReturn:
    """In the forked child: a session of its own, no descriptor of ours but the three, then the keeper."""
    try:
        os.setsid()
        if os.fork():
            os._exit(0)
        prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        for fd, number in ((stdin, 0), (stdout, 1), (stderr, 2)):
            os.dup2(fd, number)
        # A pipe that our caller gave us and waits to see closed (`id=$(… launch)`) must not live on in a server.
        os.closerange(3, os.sysconf("SC_OPEN_MAX"))
        os.execvpe(command[0], command, env)
    finally:
        os._exit(127)


def _not_started(program: str, word: str, number: int) -> SpecwatchError:
    reasons = {
        errno.ENOENT: ("its interpreter (the path after #!) does not exist", f"`head -1 {program}` shows it"),
        errno.ENOEXEC: ("it is no program of this machine, nor a script with a #! line", f"`file {program}`"),
        errno.EACCES: ("it, or the interpreter it names, is not executable", f"chmod +x {program}"),
        errno.ENOSPC: (
            "the disk of the state folder is full",
            "free some, or choose another with --state-dir",
        ),
        errno.E2BIG: ("arguments and environment are too long for this machine", "put them into a file"),
    }
    why, hint = reasons.get(number, (os.strerror(number), "does it run by hand?"))
    return SpecwatchError(f"`{word}` could not be started: {why}", hint)


def _last_words(folder: RunFolder) -> str:
    try:
        lines = (folder.path / "keeper.err").read_text(errors="replace").strip().splitlines()
    except OSError:
        return ""
    return f": {lines[-1]}" if lines else ""
