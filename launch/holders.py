"""Who holds what a launch needs: a port, a GPU; and whether that is an earlier run of ours."""

import contextlib
import errno
import os
import socket
from pathlib import Path

import msgspec

from collectors.record import runs
from collectors.record.folder import RunFolder, RunInfo
from collectors.sources.ownership import name_of, who
from collectors.sources.tree import TAG, read_proc, stat


def described(pid: int, state: Path) -> str:
    """`VLLM::EngineCore (pid 4711), left over from run 20261201-… "base", which has ended`."""
    if stat(pid) is None:
        return f"pid {pid} of another container"
    run_id = run_of(pid)
    text = f"{name_of(pid)} (pid {pid})"
    if run_id is None:
        return text
    folder = RunFolder(runs.runs_dir(state) / run_id)
    how = "of the living run" if folder.keeper_lives() else "left over from run"
    return f"{text}, {how} {run_id}"


def run_of(pid: int) -> str | None:
    """The run that a process is tagged with; None also where its environment is closed to us."""
    tag = f"{TAG}=".encode()
    for item in (read_proc(pid, "environ") or b"").split(b"\0"):
        if item.startswith(tag):
            return item[len(tag) :].decode(errors="replace")
    return None


def living(state: Path) -> list[tuple[RunFolder, RunInfo]]:
    """The runs of ours whose server lives on this host, newest first."""
    host = os.uname().nodename
    return [
        (f, i)
        for f, i in runs.scan(state).runs
        if i.host == host and not i.facts.foreign and f.keeper_lives()
    ]


def bind_trouble(host: str, port: int) -> str | None:
    """Why a server cannot have the address, in words that follow "port N"; None when it can.

    vLLM binds at its very start and listens only when it is loaded: until then its port is taken, and nothing is to be
    seen in /proc/net/tcp. Only a bind without SO_REUSEADDR notices it; but that also fails for the remains of closed
    connections, which no server minds.
    """
    strict = _bind(host, port, reuse=False)
    if strict is None:
        return None
    if strict == errno.EADDRINUSE and _bind(host, port, reuse=True) is None:
        return None if _seen(port) else "is bound by a server that does not listen yet: one that still loads"
    if strict == errno.EADDRINUSE:
        return "is in use"
    if strict == errno.EACCES:
        return "may not be used by this user"
    return f"cannot be had on {host}: {os.strerror(strict)}"


def listener(port: int) -> int | None:
    return who(port, None, frozenset()).pid


def _bind(host: str, port: int, *, reuse: bool) -> int | None:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        if reuse:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except socket.gaierror:
            return errno.EADDRNOTAVAIL
        except OSError as error:
            return error.errno
    return None


def _seen(port: int) -> bool:
    for name in ("tcp", "tcp6"):
        with contextlib.suppress(OSError), open(f"/proc/net/{name}", encoding="ascii") as file:
            if any(int(row.split()[1].rpartition(":")[2], 16) == port for row in file.readlines()[1:]):
                return True
    return False


class Card(msgspec.Struct, frozen=True):
    """One GPU as NVML tells of it; `pids`: who computes on it."""

    index: int
    name: str
    uuid: str
    total_mib: int
    used_mib: int
    pids: tuple[int, ...] = ()


def cards() -> tuple[Card, ...]:
    """All GPUs; () without a driver."""
    import pynvml

    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError:
        return ()
    try:
        handles = [pynvml.nvmlDeviceGetHandleByIndex(i) for i in range(pynvml.nvmlDeviceGetCount())]
        found = []
        for index, handle in enumerate(handles):
            memory = pynvml.nvmlDeviceGetMemoryInfo(handle)
            pids: tuple[int, ...] = ()
            with contextlib.suppress(pynvml.NVMLError):
                pids = tuple(p.pid for p in pynvml.nvmlDeviceGetComputeRunningProcesses(handle))
            name, uuid = pynvml.nvmlDeviceGetName(handle), pynvml.nvmlDeviceGetUUID(handle)
            found.append(Card(index, name, uuid, memory.total >> 20, memory.used >> 20, pids))
        return tuple(found)
    except pynvml.NVMLError:
        return ()
    finally:
        pynvml.nvmlShutdown()


def visible(found: tuple[Card, ...], said: str | None) -> tuple[int, ...] | None:
    """The indexes that CUDA_VISIBLE_DEVICES lets a server see; None: all of them.

    By CUDA's rules: indexes or beginnings of UUIDs, and what follows an unknown one is not seen.
    """
    if said is None:
        return None
    seen: list[int] = []
    for word in filter(None, (part.strip() for part in said.split(","))):
        match = [
            c.index for c in found if word == str(c.index) or (word[:4] == "GPU-" and c.uuid.startswith(word))
        ]
        if len(match) != 1:
            break
        seen += match
    return tuple(seen)
