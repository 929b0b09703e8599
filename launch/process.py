"""Another's process, as /proc shows it: its command line, where it answers, whether it is a server at all."""

import contextlib
import os
from collections.abc import Iterable, Sequence
from pathlib import Path, PurePath
from typing import Any, NamedTuple

from collectors.errors import SpecwatchError
from collectors.sources.ownership import name_of
from collectors.sources.tree import Tree, stat
from launch import argv

# What the engines call their processes (setproctitle); those of _PARTS answer no request themselves.
_TITLES = ("VLLM::", "sglang::")
_PARTS = ("EngineCore", "Worker", "scheduler", "detokenizer")


class Process(NamedTuple):
    """`argv`: of the server in its tree, else its own; `url`: None where nothing tells; `doubt`: "" or a sentence."""

    argv: tuple[str, ...]
    url: str | None
    doubt: str


def look(pid: int) -> Process:
    """SpecwatchError when there is no such process, or none that we may read."""
    own = argv_of(pid)
    family = (pid, *_children(pid))
    if (server := next(filter(served_by, _commands(family)), None)) is not None:
        return Process(server, _address(server, served_by(server)), "")
    title = own[0] if own and own[0].startswith(_TITLES) else ""
    if any(part in title for part in _PARTS):
        return Process(own, None, _part_of(pid, title))
    listening = _listening(family)
    url = _address(own, None) if argv.value(own, "--port") else None
    if url is None and len(listening) == 1:
        url = argv.url_of(listening[0])
    if title or listening:
        return Process(own, url, "")
    return Process(
        own, url, f"process {pid} ({name_of(pid)}) names neither vLLM nor SGLang and listens nowhere"
    )


def _address(said: Sequence[str], engine: str | None) -> str | None:
    if argv.has(said, "--config") and not argv.has(said, "--port"):
        return None  # vLLM's file may name the port
    bound = argv.address(said, engine)
    return argv.url_of(bound) if bound else None


def argv_of(pid: int) -> tuple[str, ...]:
    try:
        raw = Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError as error:
        raise SpecwatchError(
            f"there is no process {pid} that can be read", "`ps` lists the servers"
        ) from error
    if (now := stat(pid)) is None or now.state == "Z":
        raise SpecwatchError(f"process {pid} has ended", "`ps` lists the servers")
    return tuple(word.decode(errors="replace") for word in raw.split(b"\0") if word)


def served_by(said: Sequence[str]) -> str | None:
    """The engine of a server's command line; None for `tail vllm.log`, `vllm bench serve` and the like."""
    for word, after in zip(said, (*said[1:], ""), strict=False):
        engine = PurePath(word).name.partition(".")[0]
        starts = after == "serve" or ".entrypoints." in word or word.endswith(".launch_server")
        if engine in argv.DEFAULT_PORT and starts:
            return engine
    return None


def visible_devices(pid: int | None) -> str | None:
    """CUDA_VISIBLE_DEVICES of the process, where we may read its environment."""
    try:
        raw = Path(f"/proc/{pid}/environ").read_bytes() if pid is not None else b""
    except OSError:
        return None
    words = dict(word.partition(b"=")[::2] for word in raw.split(b"\0"))
    said = words.get(b"CUDA_VISIBLE_DEVICES")
    return None if said is None else said.decode(errors="replace")


def stdout_of(pid: int) -> dict[str, Any] | None:
    """The file that the process writes its output to; a terminal or a pipe cannot be read by a third."""
    try:
        path = Path(os.readlink(f"/proc/{pid}/fd/1"))
        return {"file": str(path)} if path.is_file() else None
    except OSError:
        return None


def _children(pid: int) -> list[int]:
    """What the recorder will watch beside it: a server that a script started is the script's child."""
    tree = Tree("", (pid,))
    tree.scan()
    return sorted(tree.pids - {pid})


def _commands(pids: Iterable[int]) -> Iterable[tuple[str, ...]]:
    for pid in pids:
        with contextlib.suppress(SpecwatchError):
            yield argv_of(pid)


def _part_of(pid: int, title: str) -> str:
    above = stat(pid)
    while above is not None and above.ppid > 1:
        for said in _commands((above.ppid,)):
            if served_by(said):
                return f"{title} is a part of the server of process {above.ppid}: --pid {above.ppid} watches all of it"
        above = stat(above.ppid)
    return f"{title} is a part of a server: give the pid of its first process to watch all of it"


def _listening(pids: Iterable[int]) -> list[tuple[str, int]]:
    """Host and port of each TCP port that one of them listens on."""
    import psutil

    found = {}
    for pid in pids:
        with contextlib.suppress(psutil.Error, OSError):
            for socket in psutil.Process(pid).net_connections("tcp"):
                if socket.status == psutil.CONN_LISTEN and socket.laddr:
                    found[socket.laddr.port] = socket.laddr.ip
    return [(host, port) for port, host in sorted(found.items())]
