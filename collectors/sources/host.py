"""What the server's processes and the box use, from /proc: 80 µs a process a sample. Blocking: own thread."""

import os
from collections.abc import Callable, Mapping
from pathlib import Path

from collectors.reading.events import Box, HostSample, Proc
from collectors.sources.tree import Stat, Tree, read_proc

RESCAN_S = 10.0
_CGROUP = Path("/sys/fs/cgroup")


class HostSource:
    """`sample` gives what changed since the sample before, or None. `forget` makes the next one whole."""

    def __init__(self, clock: Callable[[], float], tree: Tree) -> None:
        self._clock = clock
        self._tree = tree
        self._scanned: float | None = None
        self._procs: dict[int, Proc] = {}
        self._box: Box | None = None
        self._cgroup = _own_cgroup()

    def forget(self) -> None:
        self._procs = {}
        self._box = None

    def sample(self, gpus_of: Mapping[int, tuple[int, ...]]) -> HostSample | None:
        t = self._clock()
        if self._scanned is None or t - self._scanned >= RESCAN_S or self._tree.grown():
            self._tree.scan()
            self._scanned = t
        now = {pid: _proc(pid, s, gpus_of.get(pid, ())) for pid, s in self._tree.living().items()}
        changed = {pid: proc for pid, proc in now.items() if _differs(self._procs.get(pid), proc)}
        gone = tuple(pid for pid in self._procs if pid not in now)
        box = self._box_now()
        news = box if _box_differs(self._box, box) else None
        self._procs = {pid: self._procs[pid] if pid not in changed else now[pid] for pid in now}
        self._box = news or self._box
        if not changed and not gone and news is None:
            return None
        return HostSample(t=t, procs=changed, gone=gone, box=news)

    def _box_now(self) -> Box:
        meminfo = {}
        for line in Path("/proc/meminfo").read_text().splitlines()[:5]:
            name, _, rest = line.partition(":")
            meminfo[name] = int(rest.split()[0]) >> 10
        total, available = meminfo.get("MemTotal"), meminfo.get("MemAvailable")
        limit = _number(self._cgroup / "memory.max")
        used = _number(self._cgroup / "memory.current")
        if limit is not None and used is not None and (total is None or limit >> 20 < total):
            cached = _keyed(self._cgroup / "memory.stat", "inactive_file") or 0
            total, available = limit >> 20, max(0, limit - used + cached) >> 20
        return Box(
            mem_total_mib=total,
            mem_available_mib=available,
            oom_kills=_keyed(self._cgroup / "memory.events", "oom_kill"),
            load1=round(os.getloadavg()[0], 1),
        )


def _proc(pid: int, s: Stat, gpus: tuple[int, ...]) -> Proc:
    io = dict(line.split(b": ") for line in (read_proc(pid, "io") or b"").splitlines())
    arguments = [a for a in (read_proc(pid, "cmdline") or b"").split(b"\0") if a.strip()]
    # setproctitle leaves one argument ("VLLM::Worker_TP0"); comm is cut at 15 characters ("VLLM::EngineCor").
    title = arguments[0].decode(errors="replace").strip() if len(arguments) == 1 else s.name
    return Proc(
        title=title if "/" not in title else s.name,
        state=s.state,
        rss_mib=s.rss_mib,
        cpu_s=round(s.cpu_s, 1),
        read_bytes=int(io[b"read_bytes"]) if b"read_bytes" in io else None,
        rchar=int(io[b"rchar"]) if b"rchar" in io else None,
        gpus=gpus,
    )


def _differs(old: Proc | None, new: Proc) -> bool:
    """R and S alternate all the time and say nothing; D (waits for storage), Z and T do."""
    if old is None:
        return True
    return (
        (old.title, old.gpus, old.read_bytes) != (new.title, new.gpus, new.read_bytes)
        or (old.state in "RS") != (new.state in "RS")
        or abs(new.rss_mib - old.rss_mib) > max(1, old.rss_mib >> 8)
        or new.cpu_s - old.cpu_s > 0.15
        or (new.rchar or 0) - (old.rchar or 0) >= 1 << 20
    )


def _box_differs(old: Box | None, new: Box) -> bool:
    if old is None or (old.mem_total_mib, old.oom_kills) != (new.mem_total_mib, new.oom_kills):
        return True
    moved = abs((new.mem_available_mib or 0) - (old.mem_available_mib or 0))
    return moved > (new.mem_total_mib or 0) / 200 or abs((new.load1 or 0) - (old.load1 or 0)) >= 1


def _own_cgroup() -> Path:
    """Our cgroup v2 folder: in a container its root is the container. The server's is the same or a child of
    it.
    """
    try:
        for line in Path("/proc/self/cgroup").read_text().splitlines():
            if line.startswith("0::"):
                own = _CGROUP / line[3:].lstrip("/")
                return own if (own / "memory.events").exists() else _CGROUP
    except OSError:
        pass
    return _CGROUP


def _number(path: Path) -> int | None:
    try:
        return int(path.read_text())
    except (OSError, ValueError):  # no cgroup v2, or "max"
        return None


def _keyed(path: Path, key: str) -> int | None:
    try:
        rows = dict(line.split(" ", 1) for line in path.read_text().splitlines())
        return int(rows[key])
    except (OSError, ValueError, KeyError):
        return None
