"""The run folder: where each file of a run is, and the facts that `launch` or `attach` wrote once.

Who writes what, and nobody else does:

| file | writer |
| --- | --- |
| run.json | `launch` / `attach`, once |
| server.log | the server itself; for a foreign server the recorder |
| exit.json | keeper |
| server.json | keeper: `{"pid", "start"}` of the server's first process (start: ticks after boot) |
| inbox/*.json | any front end (file + rename) |
| record.jsonl, checkpoint.json | recorder |
| bench-*.json | `bench` |
| keeper.lock, recorder.lock | held by flock while keeper / recorder live; empty files |
| keeper.err, recorder.err | stderr of keeper / recorder: their own troubles |
"""

import fcntl
import os
from pathlib import Path
from typing import Any

import msgspec

from collectors.errors import ExitCode, SpecwatchError
from collectors.reading.events import RunFacts

VERSION = 1  # of the folder's layout; a newer one is refused, an older one read


class RunInfo(msgspec.Struct, frozen=True, kw_only=True):
    """run.json. Secrets in argv and env stand by reference (`$HF_TOKEN`), never by value."""

    v: int = VERSION
    facts: RunFacts
    created: float  # wall clock, seconds since the epoch
    boottime0: float  # CLOCK_BOOTTIME at t = 0
    boot_id: str
    pid_namespace: str
    host: str
    cwd: str = ""
    env: dict[str, str] = {}  # the chosen part: VLLM_*, CUDA_*, NCCL_*, HF_*, …
    secrets: tuple[str, ...] = ()  # variables that argv and env refer to as `$NAME`
    profile: str | None = None
    versions: dict[str, str] = {}  # specwatch, python, vllm, driver, …
    url: str | None = None  # where the server answers (or will), "http://127.0.0.1:8000"
    log_source: dict[str, Any] | None = None  # foreign: {"file": …} | {"command": […]} | {"stdin": true}
    foreign_pid: int | None = None
    config: str | None = None  # the user's configuration file, read for hooks and noise


class RunFolder:
    """Paths of one run and the two questions that all ask: what is it, does it live."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.run_json = path / "run.json"
        self.server_log = path / "server.log"
        self.exit_json = path / "exit.json"
        self.server_json = path / "server.json"
        self.inbox = path / "inbox"
        self.record = path / "record.jsonl"
        self.checkpoint = path / "checkpoint.json"
        self.keeper_lock = path / "keeper.lock"
        self.recorder_lock = path / "recorder.lock"

    @property
    def id(self) -> str:
        return self.path.name

    @classmethod
    def create(cls, runs: Path, info: RunInfo) -> "RunFolder":
        """Make the folder (0700) and run.json (0600); OSError becomes one clear error."""
        folder = cls(runs / info.facts.id)
        try:
            raw = msgspec.json.format(msgspec.json.encode(info), indent=1)
        except UnicodeEncodeError as error:
            raise SpecwatchError(
                "the name, the command or the folder holds bytes that are not UTF-8",
                "a symbolic link gives a path another name",
            ) from error
        try:
            folder.inbox.mkdir(parents=True, mode=0o700)
            folder.path.chmod(0o700)
            with os.fdopen(
                os.open(folder.run_json, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb"
            ) as file:
                file.write(raw + b"\n")
        except OSError as error:
            raise SpecwatchError(
                f"the run folder {folder.path} cannot be written: {error.strerror}",
                "choose another place with --state-dir or XDG_STATE_HOME",
            ) from error
        return folder

    def info(self) -> RunInfo:
        """run.json; a folder that is unreadable, half written or of a newer layout is a SpecwatchError."""
        try:
            raw = self.run_json.read_bytes()
        except OSError as error:
            raise SpecwatchError(
                f"{self.run_json} cannot be read: {error.strerror}",
                "`specwatch runs` lists the runs that can be",
                ExitCode.NO_SUCH_RUN,
            ) from error
        try:
            version = msgspec.json.decode(raw, type=dict[str, Any]).get("v")
            if isinstance(version, int) and version > VERSION:
                raise SpecwatchError(
                    f"run {self.id} was written by a newer specwatch "
                    f"(layout {version}, this one reads up to {VERSION})",
                    "upgrade specwatch to read it",
                )
            return msgspec.json.decode(raw, type=RunInfo)
        except (msgspec.MsgspecError, RecursionError) as error:
            raise SpecwatchError(
                f"{self.run_json} is damaged: {error}",
                "`specwatch runs --prune` offers to remove such folders",
            ) from error

    @property
    def root(self) -> Path:
        """The state directory that it lies in, below `runs/`."""
        return self.path.parent.parent

    def keeper_lives(self) -> bool:
        return _held(self.keeper_lock)

    def recorder_lives(self) -> bool:
        return _held(self.recorder_lock)


def _held(lock: Path) -> bool:
    """Whether somebody holds the flock: liveness that no reused pid can fake and that other hosts can ask."""
    try:
        fd = os.open(lock, os.O_RDWR | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(fd)
    return False


def hold(lock: Path) -> int | None:
    """Take the lock for this process's life; None when another holds it. Returns the descriptor to keep."""
    fd = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(fd)
        return None
    return fd


def state_dir(given: str | None = None) -> Path:
    """`--state-dir`, else $XDG_STATE_HOME/specwatch, else ~/.local/state/specwatch.

    Not platformdirs: it costs 15 ms that `status` does not have, for one line of the XDG specification.
    """
    if given:
        return Path(given).expanduser()
    return Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local/state") / "specwatch"
