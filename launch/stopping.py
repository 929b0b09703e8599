"""Ends a server of ours: proves that a process is the run's, signals it, and sees that nothing of it is left."""

import contextlib
import os
import signal
import time
from collections.abc import Set

from collectors.errors import ExitCode, SpecwatchError
from collectors.reading.report import phase
from collectors.record import inbox
from collectors.record.folder import RunFolder, RunInfo
from collectors.record.follow import Follower
from collectors.record.leader import leader
from collectors.sources.ownership import name_of
from collectors.sources.tree import Leader, Stat, Tree, stat
from launch import holders, output

POLL_S = 0.1
SAY_S = 10.0  # a loading vLLM hears no SIGTERM for a minute: such a wait is no hang
ORPHANS_S = 3.0  # a server that ends in order takes its Engine along within 2 s (recordings 50-54)
_ENGINE = ("VLLM::", "sglang::")  # what the processes with the model call themselves
DYING_S = 8.0  # vLLM 0.16 and 0.32 take 4 s from the error to the end; SIGTERM meanwhile makes that 60
KILLED_S = 10.0  # a SIGKILLed process that holds GPU memory takes seconds to be gone
RECORDED_S = 10.0  # the recorder drains the log, then writes Exit
GPU_FREED_S = 5.0  # NVML goes on naming a process for a moment


def stop(folder: RunFolder, *, timeout: float, kill: bool, by: str = "stop") -> str:
    """Stop the run's server; what was seen afterwards, in one sentence. SpecwatchError when something is left."""
    info = folder.info()
    _check_ours(info)
    first = leader(folder, info)
    tree = Tree(info.facts.id, leader=first)
    tree.scan()
    pids = set(tree.pids)
    if not pids:
        return f"{folder.id} ended before; {_left_behind(info, pids)}"
    engines = {pid for pid, seen in tree.living().items() if seen.name.startswith(_ENGINE)}
    # Before the signal: the end that follows was asked for, and is no failure.
    with contextlib.suppress(SpecwatchError):  # a full disk is no reason to let a server run
        inbox.post(folder, "stop", label=by)
    began = time.monotonic()
    if not _ends_by_itself(folder, tree):
        if first is not None:
            _signal(first.pid, first.start, signal.SIGTERM)
        end = f"SIGKILL after {timeout:.0f} s" if kill else f"it has {timeout:.0f} s"
        _say(f"asked {info.facts.name} ({folder.id}) to stop; {end}")
    left = _wait_gone(tree, pids, timeout, first, engines)
    if left and kill:
        _say(f"after {timeout:.0f} s there are still {_names(left)}: killed")
        _signal_all(left, signal.SIGKILL)
        left = _wait_gone(tree, pids, KILLED_S, first, kill_new=True)
    if left:
        raise SpecwatchError(
            f"after {time.monotonic() - began:.0f} s there are still {_names(left)}",
            "nothing can end a process that the kernel holds (state D): see `dmesg`"
            if kill
            else f"`specwatch stop {folder.id} --kill` ends them, or wait longer with --timeout",
            ExitCode.TIMED_OUT,
        )
    seen = _left_behind(info, pids)
    _wait_recorded(folder)
    return f"{folder.id} stopped after {time.monotonic() - began:.1f} s; {seen}"


def _ends_by_itself(folder: RunFolder, tree: Tree) -> bool:
    """Whether a server that has failed is gone on its own: asked to stop just then, vLLM hangs for a minute."""
    run = Follower(folder)
    run.advance()
    deadline = time.monotonic() + DYING_S
    while phase(run.state) == "failed" and time.monotonic() < deadline:
        tree.scan()
        if not tree.living():
            return True
        time.sleep(POLL_S)
    return False


def _say(text: str) -> None:
    """Whoever hung up meanwhile, a stop goes on to its end."""
    with contextlib.suppress(OSError):
        output.say(text)


def _names(living: dict[int, Stat]) -> str:
    return ", ".join(f"{seen.name} (pid {pid})" for pid, seen in sorted(living.items()))


def _check_ours(info: RunInfo) -> None:
    if info.facts.foreign:
        raise SpecwatchError(
            f"specwatch did not start {info.facts.name or info.facts.id}: it only watches it",
            f"`kill {info.foreign_pid}` asks it to stop"
            if info.foreign_pid
            else "stop it where it was started",
        )
    here = os.uname().nodename
    if info.host != here:
        raise SpecwatchError(
            f"the run is on {info.host}, this is {here}", f"`ssh {info.host} specwatch stop …`"
        )
    if info.pid_namespace != os.readlink("/proc/self/ns/pid"):
        raise SpecwatchError("the run is in another container of this host", "stop it from there")


def _signal(pid: int, start: int, number: signal.Signals) -> None:
    """Through a pidfd: between look and signal the number cannot become another process's."""
    with contextlib.suppress(ProcessLookupError):
        fd = os.pidfd_open(pid)
        try:
            now = stat(pid)
            if now is not None and now.start == start:
                signal.pidfd_send_signal(fd, number)
        finally:
            os.close(fd)


def _signal_all(living: dict[int, Stat], number: signal.Signals) -> None:
    for pid, seen in living.items():
        _signal(pid, seen.start, number)


def _wait_gone(
    tree: Tree,
    pids: set[int],
    seconds: float,
    first: Leader | None,
    engines: Set[int] = frozenset(),
    *,
    kill_new: bool = False,
) -> dict[int, Stat]:
    """What still lives when the time is over; `pids` gathers all that were ever seen.

    Engine and Workers end with their API server; those of one that was killed, or died first, are asked themselves.
    vLLM 0.32 asked amid a request ends its Engine at once and then waits for the connection, which nobody answers any
    more: asked again, it ends within a second.
    """
    orphans_s = ORPHANS_S if first else 0.0
    now = time.monotonic()
    deadline, say_at, ask_at = now + seconds, now + SAY_S, now + orphans_s
    asked = False
    while True:
        left = tree.living()
        if not left:
            tree.scan()  # what was born since the last look
            pids |= tree.pids
            left = tree.living()
        if not left or time.monotonic() >= deadline:
            return left
        if time.monotonic() >= say_at:
            _say(f"{deadline - time.monotonic():.0f} s left; there are still {_names(left)}")
            say_at += SAY_S
        if kill_new:
            _signal_all(left, signal.SIGKILL)
        elif first is not None and first.pid in left and (not engines or engines & left.keys()):
            ask_at = time.monotonic() + orphans_s
        elif not asked and time.monotonic() >= ask_at:
            _signal_all(left, signal.SIGTERM)
            asked = True
        time.sleep(POLL_S)


def _left_behind(info: RunInfo, pids: set[int]) -> str:
    """The sentence about port and GPUs; SpecwatchError when memory of a GPU is still held by the run."""
    seen = ["no process of it is left"]
    port = int(info.url.rpartition(":")[2]) if info.url and info.url.rpartition(":")[2].isdecimal() else None
    if port is not None:
        holder = holders.listener(port)
        named = (
            f"port {port} is now held by {name_of(holder)} (pid {holder})"
            if holder
            else f"port {port} is free"
        )
        seen.append(named)
    deadline = time.monotonic() + GPU_FREED_S
    while cards := holders.cards():
        held = [card.index for card in cards if pids & set(card.pids)]
        if not held:
            seen.append("it holds no GPU memory")
            break
        if time.monotonic() > deadline:
            gpus = ", ".join(map(str, held))
            raise SpecwatchError(
                f"its processes are gone, but the driver still counts their memory on GPU {gpus}",
                "`nvidia-smi` shows it; it may be freed in a moment",
                ExitCode.TIMED_OUT,
            )
        time.sleep(0.5)
    return ", ".join(seen)


def _wait_recorded(folder: RunFolder) -> None:
    """So that `status` right after this tells of the end."""
    deadline = time.monotonic() + RECORDED_S
    while (folder.keeper_lives() or folder.recorder_lives()) and time.monotonic() < deadline:
        time.sleep(POLL_S)


def lives(folder: RunFolder) -> bool:
    tree = Tree(folder.id, leader=leader(folder, folder.info()))
    tree.scan()
    return bool(tree.pids)
