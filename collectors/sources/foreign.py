"""The log of a server that specwatch did not start: copied from a file, stdin or a command into server.log.

From there on it is a log like any other. After a restart of the recorder a file goes on without loss or
repetition: `source.json` holds at which place of server.log the present file (inode) began, so the size of
server.log says where in the file we were. A command that tells its history again (`docker logs -f`) is
skipped as far as it agrees.
"""

import contextlib
import os
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import IO, Any

import msgspec

from collectors.sources.logtail import LIMIT, Tail

POLL_S = 0.1
WRITER_CHECK_S = 3.0  # looks through every open file of the box


class Origin(msgspec.Struct):
    """source.json: byte `at` of server.log is byte `offset` of the file with `inode`."""

    inode: int
    at: int
    offset: int = 0


class ForeignLog(threading.Thread):
    """Copies until the source ends. `ended`: why it did, None while it lives; `trouble`: what is amiss."""

    def __init__(self, source: dict[str, Any], server_log: Path) -> None:
        super().__init__(name="foreign log", daemon=True)
        self.ended: str | None = None
        self.trouble: str | None = None
        self.child: subprocess.Popen[bytes] | None = None
        self._source = source
        self._origin_file = server_log.parent / "source.json"
        self._out = os.open(server_log, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        self._leaving = threading.Event()

    def run(self) -> None:
        try:
            if "file" in self._source:
                self._copy_file(Path(self._source["file"]))
            elif "command" in self._source:
                self._copy_command(self._source["command"])
            else:
                self._copy_stream(sys.stdin.buffer)
                self.ended = self.ended or "standard input ended"
        except OSError as error:
            self.ended = f"the log's source failed: {error.strerror or error}"

    def stop(self) -> None:
        self._leaving.set()
        if self.child is not None:
            with contextlib.suppress(ProcessLookupError):
                self.child.terminate()

    def _copy_file(self, path: Path) -> None:
        tail = Tail(path)
        origin = self._resume(tail)
        era = tail.era
        written_by = _WriterCheck(path)
        while not self._leaving.is_set():
            data = self._read(tail)
            if tail.inode is not None and (origin is None or tail.era != era):
                origin, era = Origin(tail.inode, self._size()), tail.era
                self._origin_file.write_bytes(msgspec.json.encode(origin))
                if tail.truncated:
                    self.trouble = f"{path} was cut short and is read from its start again"
            if data:
                self._write(data)
                tail.took(len(data))
            elif written_by.ended() and not self._read(tail):
                self.ended = f"no process writes to {path} any more"
                return
            else:
                self._leaving.wait(POLL_S)

    def _read(self, tail: Tail) -> bytes:
        try:
            data = tail.read()
        except OSError as error:  # a network file system that went away: it may come back
            self.trouble = f"{tail.path} cannot be read: {error.strerror}"
            return b""
        if data:
            self.trouble = None
        return data

    def _resume(self, tail: Tail) -> Origin | None:
        try:
            origin = msgspec.json.decode(self._origin_file.read_bytes(), type=Origin)
        except (OSError, msgspec.MsgspecError):
            return None
        if not tail.resume(origin.inode):
            self.trouble = f"{tail.path} was replaced meanwhile: the end of the old one is missing"
            return None
        tail.offset = origin.offset + self._size() - origin.at
        return origin

    def _copy_command(self, argv: list[str]) -> None:
        with subprocess.Popen(
            argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        ) as self.child:
            assert self.child.stdout is not None
            self._copy_stream(self.child.stdout)
        self.ended = self.ended or f"`{argv[0]}` ended with exit code {self.child.returncode}"

    def _copy_stream(self, stream: IO[bytes]) -> None:
        """What an earlier recorder copied already is compared and not copied again."""
        known = self._size()
        agreed = 0
        while data := os.read(stream.fileno(), LIMIT):
            while agreed < known and data:
                old = os.pread(self._out, min(len(data), known - agreed), agreed)
                if not data.startswith(old):
                    agreed = known  # another history: it all counts as new
                    break
                agreed += len(old)
                data = data[len(old) :]
            self._write(data)

    def _write(self, data: bytes) -> None:
        """All of it, however long the disk stays full; the source waits meanwhile."""
        while data and not self._leaving.is_set():
            try:
                data = data[os.write(self._out, data) :]
                self.trouble = None
            except OSError as error:
                self.trouble = f"server.log cannot be written: {error.strerror}"
                self._leaving.wait(1.0)

    def _size(self) -> int:
        return os.fstat(self._out).st_size


class _WriterCheck:
    """A file that had writers on this box and has none left has ended; one without may grow from afar."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._had = False
        self._next = 0.0

    def ended(self) -> bool:
        if (now := time.monotonic()) < self._next:
            return False
        self._next = now + WRITER_CHECK_S
        writes = _has_writer(self._path)
        ended = self._had and not writes
        self._had = self._had or writes
        return ended


def _has_writer(path: Path) -> bool:
    """Whether a process that we can see has `path` open for writing."""
    try:
        target = path.stat()
    except OSError:
        return False
    for pid in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            for fd in os.listdir(f"/proc/{pid}/fd"):
                with contextlib.suppress(OSError, ValueError):
                    there = os.stat(f"/proc/{pid}/fd/{fd}")
                    if (there.st_ino, there.st_dev) == (target.st_ino, target.st_dev) and _writes(pid, fd):
                        return True
    return False


def _writes(pid: str, fd: str) -> bool:
    """The access mode in /proc/PID/fdinfo (proc_pid_fdinfo(5)): octal flags, 1 write only, 2 both."""
    for line in Path(f"/proc/{pid}/fdinfo/{fd}").read_text().splitlines():
        if line.startswith("flags:"):
            return int(line.split()[1], 8) & os.O_ACCMODE != os.O_RDONLY
    return False
