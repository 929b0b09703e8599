"""Reading a growing file by offset, safe against rotation and truncation. Nothing here waits: the caller
polls.
"""

import contextlib
import os
from pathlib import Path

LIMIT = 256 * 1024  # bytes a read: bounds what one record line points to and what the reducer chews at once


class Tail:
    """Bytes of the file at `path` from `offset` on; `took` moves on, so a reader that failed reads them
    again.

    Rotation (another inode at the path): the old file is read to its end first, then the new one from 0.
    Truncation (shorter than `offset`): from 0 again. Both raise `era`, and `offset` counts within the era's
    file.
    """

    def __init__(self, path: Path, offset: int = 0) -> None:
        self.path = path
        self.offset = offset
        self.era = 0
        self.inode: int | None = None
        self.truncated = False  # the last new era began by truncation: bytes may be lost
        self._fd: int | None = None

    def read(self, limit: int = LIMIT) -> bytes:
        """What stands at `offset`, at most `limit` bytes; b"" when there is nothing (yet). Raises OSError."""
        if self._fd is None and not self._open(self.path):
            return b""
        assert self._fd is not None
        size = os.fstat(self._fd).st_size
        if size < self.offset:
            self._begin(truncated=True)
        data = os.pread(self._fd, limit, self.offset)
        if data or not self._rotated():
            return data
        # Once more: the old file may have grown between the read and the look at the path.
        if data := os.pread(self._fd, limit, self.offset):
            return data
        self.close()
        self._begin(truncated=False)
        return self.read(limit) if self._open(self.path) else b""

    def took(self, count: int) -> None:
        self.offset += count

    def resume(self, inode: int) -> bool:
        """Open the file that had `inode` before, under the path or under the name rotation gave it; else
        False.
        """
        for path in (self.path, *self.path.parent.glob(f"{self.path.name}*")):
            with contextlib.suppress(OSError):
                if path.stat().st_ino == inode:
                    return self._open(path)
        return False

    def close(self) -> None:
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None

    def _begin(self, *, truncated: bool) -> None:
        self.offset = 0
        self.era += 1
        self.truncated = truncated

    def _open(self, path: Path) -> bool:
        try:
            self._fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        except FileNotFoundError:
            return False
        self.inode = os.fstat(self._fd).st_ino
        return True

    def _rotated(self) -> bool:
        try:
            return self.path.stat().st_ino != self.inode
        except OSError:  # moved away, the new one not there yet
            return False
