"""A server that specwatch did not start: a run folder for it, and a recorder without a keeper.

Nobody of ours is the server's parent, so its exit code stays unknown; everything else is as for our own.
"""

import os
import stat
import subprocess
import time
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from collectors.errors import ExitCode, SpecwatchError
from collectors.reading.events import RunFacts
from collectors.record import runs
from collectors.record.clock import boot_id
from collectors.record.folder import RunFolder, RunInfo
from collectors.redact import Redactor
from launch import argv, holders, process
from launch import config as configuration
from launch.plan import executable
from launch.selfexec import self_argv

STARTS_S = 5.0


class Target(NamedTuple):
    """What the user pointed at; one of the log's sources at most."""

    log_source: dict[str, Any] | None = None
    url: str | None = None
    pid: int | None = None
    name: str = ""
    argv: tuple[str, ...] = ()  # of the server's process, where a pid leads to it
    doubt: str = ""  # why the pid may be the wrong one


def target(
    log: str | None, log_command: tuple[str, ...], url: str | None, pid: int | None, name: str | None
) -> Target:
    """Checks what was given and fills in what follows from it; SpecwatchError says what is wrong with it."""
    runs.check_name(name)
    if log and log_command:
        raise SpecwatchError("--log and --log-command are two logs", "give one of them")
    source: dict[str, Any] | None = None
    if log == "-":
        source = {"stdin": True}
    elif log:
        source = {"file": str(_log_file(Path(log)))}
    elif log_command:
        executable(log_command[0], os.environ.get("PATH", os.defpath))
        source = {"command": list(log_command)}
    seen = None
    if pid is not None:
        seen = process.look(pid)
        source = source or process.stdout_of(pid)
        url = seen.url if url is None else url
    if url is not None:
        url = _checked(url)
    called = (
        name or (Path(log).stem if log and log != "-" else "") or (f"pid-{pid}" if pid is not None else "")
    )
    return Target(source, url, pid, called, seen.argv if seen else (), seen.doubt if seen else "")


def answers(url: str) -> bool:
    """Whether anything speaks HTTP there, ready or not."""
    import asyncio

    from collectors.sources import http

    async def ask() -> bool:
        async with http.client(url) as session:
            return (await http.get(session, f"{url}/health")).status is not None

    return asyncio.run(ask())


def watched(state: Path, wanted: Target) -> RunFolder | None:
    """The live run of the same server, if there is one: attaching twice watches it once."""
    if wanted.log_source == {"stdin": True}:
        return None
    for folder, info in runs.scan(state).runs:
        same = (info.log_source, info.url, info.foreign_pid) == (wanted.log_source, wanted.url, wanted.pid)
        if same and info.facts.foreign and folder.recorder_lives():
            return folder
    return None


def create(state: Path, wanted: Target, config: str | None) -> RunFolder:
    run_id = runs.new_id()
    said = wanted.argv
    cards = holders.cards()
    info = RunInfo(
        facts=RunFacts(
            id=run_id,
            name=wanted.name,
            argv=Redactor(said).argv(said),
            foreign=True,
            engine=argv.engine_of(said),
            model_path=argv.model_of(said),
            drafter_path=argv.drafter_of(said),
            gpu_names=tuple(card.name for card in cards),
            gpu_total_mib=tuple(card.total_mib for card in cards),
            gpus_of_run=holders.visible(cards, process.visible_devices(wanted.pid)),
            noise=configuration.load(config).noise,
        ),
        created=time.time(),
        boottime0=time.clock_gettime(time.CLOCK_BOOTTIME),
        boot_id=boot_id(),
        pid_namespace=_pid_namespace(),
        host=os.uname().nodename,
        cwd=os.getcwd(),
        url=wanted.url,
        log_source=wanted.log_source,
        foreign_pid=wanted.pid,
        config=config,
    )
    return RunFolder.create(runs.runs_dir(state), info)


def start_recorder(folder: RunFolder, stdin: int = subprocess.DEVNULL) -> None:
    """A recorder of its own session, which outlives this terminal; returns once it holds its lock.

    For `--log -` it inherits our standard input: the pipe is its log from then on.
    """
    with os.fdopen(
        os.open(folder.path / "recorder.err", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), "wb"
    ) as errors:
        child = subprocess.Popen(
            self_argv("record", str(folder.path)),
            stdin=stdin,
            stdout=errors,
            stderr=errors,
            start_new_session=True,
            cwd=Path(__file__).parents[1] if _bare_checkout() else "/",
        )
    deadline = time.monotonic() + STARTS_S
    while not folder.recorder_lives():
        if child.poll() is not None and not folder.recorder_lives():
            if child.returncode == 0:
                return  # a log that was over at once, or another recorder was faster
            raise SpecwatchError(
                f"the recorder ended at once (exit code {child.returncode})",
                f"its own words are in {folder.path / 'recorder.err'}",
                ExitCode.RECORDER_GONE,
            )
        if time.monotonic() > deadline:
            raise SpecwatchError(
                f"the recorder did not start within {STARTS_S:.0f} s",
                f"its own words are in {folder.path / 'recorder.err'}",
                ExitCode.RECORDER_GONE,
            )
        time.sleep(0.05)


def _bare_checkout() -> bool:
    return self_argv()[2] == "launch"


def _log_file(path: Path) -> Path:
    try:
        kind = path.stat().st_mode
        if stat.S_ISDIR(kind):
            raise SpecwatchError(f"{path} is a directory", "name the log file in it")
        if not stat.S_ISREG(kind):  # opening a FIFO would wait for its writer
            raise SpecwatchError(
                f"{path} is not a file", f"`specwatch attach --log - < {path}` reads a stream"
            )
        with path.open("rb"):
            pass
    except FileNotFoundError as error:
        raise SpecwatchError(f"{path} does not exist", "is the server's log elsewhere?") from error
    except OSError as error:
        raise SpecwatchError(
            f"{path} cannot be read: {error.strerror}", "run as the user who owns it"
        ) from error
    return path.resolve()


def _checked(url: str) -> str:
    scheme, mark, rest = url.partition("://")
    if not mark:
        scheme, rest = "http", url
    rest = rest.rstrip("/").removesuffix("/v1").removesuffix("/metrics")
    try:
        parts = urlsplit(f"{scheme}://{rest}")
        good = bool(parts.hostname) and parts.port != 0  # reading a port out of range raises
    except ValueError:
        good = False
    if scheme not in ("http", "https") or not good or "@" in rest:
        raise SpecwatchError(f"{url} is no address of a server", "such as http://127.0.0.1:8000")
    return f"{scheme}://{rest}"


def _pid_namespace() -> str:
    try:
        return os.readlink("/proc/self/ns/pid")
    except OSError:
        return ""
