"""Which processes are the server's: tagged by SPECWATCH_RUN, of the server's session, or descendants.

Orphans of a killed API server are found by the session that it led: setproctitle writes over the environment, and so
over the tag, of vLLM's EngineCore and Workers. Who was once of the tree stays it.
"""

import contextlib
import os
from typing import NamedTuple

TAG = "SPECWATCH_RUN"
_CLOCK_TICKS = os.sysconf("SC_CLK_TCK")
_PAGE = os.sysconf("SC_PAGE_SIZE")


class Stat(NamedTuple):
    """The part of /proc/PID/stat (proc_pid_stat(5)) that is wanted."""

    name: str
    state: str
    ppid: int
    session: int
    cpu_s: float
    start: int  # clock ticks after boot: with the pid, who it is
    rss_mib: int


class Leader(NamedTuple):
    """The server's first process, which leads a session of its own. Times in clock ticks after boot."""

    pid: int
    start: int
    ended: int | None = None  # when it was reaped; None: not, or nobody could


def read_proc(pid: int, name: str) -> bytes | None:
    """A file of /proc/PID; None when the process is gone or closed to us."""
    try:
        fd = os.open(f"/proc/{pid}/{name}", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        return os.read(fd, 65536)
    except OSError:
        return None
    finally:
        os.close(fd)


def stat(pid: int) -> Stat | None:
    raw = read_proc(pid, "stat")
    if not raw:
        return None
    # The name stands in parentheses and may hold spaces and parentheses itself.
    head, _, tail = raw.rpartition(b")")
    f = tail.split()
    return Stat(
        name=head.partition(b"(")[2].decode(errors="replace"),
        state=f[0].decode(),
        ppid=int(f[1]),
        session=int(f[3]),
        cpu_s=(int(f[11]) + int(f[12])) / _CLOCK_TICKS,
        start=int(f[19]),
        rss_mib=int(f[21]) * _PAGE >> 20,
    )


class Tree:
    """The server's living processes. `scan` looks at the whole box (11 µs a process), the rest only at the
    tree.
    """

    def __init__(self, run_id: str, roots: tuple[int, ...] = (), leader: Leader | None = None) -> None:
        self._leader = leader
        self._tag = f"{TAG}={run_id}".encode()
        self._roots = roots
        self._members: dict[int, int] = {}  # pid -> start
        self._untagged: dict[int, tuple[int, int]] = {}  # pid -> (start, times its environment was read)

    def scan(self) -> None:
        """Find all members anew. Blocking; call it every 10 s, and when `grown` says so."""
        me = os.getpid()
        pids = [int(name) for name in os.listdir("/proc") if name.isdigit()]
        stats = {pid: s for pid in pids if pid != me and (s := stat(pid)) and s.state != "Z"}
        found = {p for p, start in self._members.items() if p in stats and stats[p].start == start}
        found |= {pid for pid in self._roots if pid in stats}
        found |= {pid for pid, s in stats.items() if pid not in found and self._tagged(pid, s.start)}
        sessions = {pid for pid in found if stats[pid].session == pid}
        found |= {pid for pid, s in stats.items() if s.session in sessions or self._led(s, stats)}
        children: dict[int, list[int]] = {}
        for pid, s in stats.items():
            children.setdefault(s.ppid, []).append(pid)
        todo = list(found)
        while todo:
            new = [pid for pid in children.get(todo.pop(), ()) if pid not in found]
            found.update(new)
            todo += new
        self._members = {pid: stats[pid].start for pid in found}
        self._untagged = {p: v for p, v in self._untagged.items() if p in stats and p not in found}

    def _led(self, member: Stat, stats: dict[int, Stat]) -> bool:
        """Of the server's own session, proved by times: a stranger's session never counts.

        The kernel gives a session's number to nobody while its leader or any member lives, so a stranger's session
        of that number began after our leader had ended, and so did all its members.
        """
        ours = self._leader
        if ours is None or member.session != ours.pid or member.start < ours.start:
            return False
        now = stats.get(ours.pid)
        if now is not None:
            return now.start == ours.start
        return ours.ended is not None and member.start <= ours.ended

    def living(self) -> dict[int, Stat]:
        """The members that still live (zombies do not), with their state now."""
        now = {pid: s for pid in self._members if (s := stat(pid)) is not None}
        return {p: s for p, s in now.items() if s.start == self._members[p] and s.state != "Z"}

    def grown(self) -> bool:
        """Whether a member has a child that is no member yet; only children of main threads are seen."""
        for pid in self._members:
            born = (read_proc(pid, f"task/{pid}/children") or b"").split()
            if any(int(child) not in self._members for child in born):
                return True
        return False

    @property
    def pids(self) -> frozenset[int]:
        return frozenset(self._members)

    def _tagged(self, pid: int, start: int) -> bool:
        """An environment is read twice at most: the first time may have been before exec."""
        known = self._untagged.get(pid)
        if known is not None and known[0] == start and known[1] >= 2:
            return False
        environ = read_proc(pid, "environ")
        if environ is not None and self._tag in environ.split(b"\0"):
            return True
        times = known[1] + 1 if known is not None and known[0] == start else 1
        with contextlib.suppress(KeyError):
            self._untagged.pop(pid)
        self._untagged[pid] = (start, times)
        return False
