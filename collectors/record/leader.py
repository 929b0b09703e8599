"""The server's first process, as keeper wrote it down: it leads a session, and so says who belongs to the run."""

import contextlib
import os
from typing import Any

import msgspec

from collectors.record.clock import boot_id
from collectors.record.folder import RunFolder, RunInfo
from collectors.sources.tree import Leader

_TICKS = os.sysconf("SC_CLK_TCK")


def leader(folder: RunFolder, info: RunInfo) -> Leader | None:
    """None where server.json is missing or damaged, and after a reboot: pids and start times then mean others."""
    if info.boot_id != boot_id():
        return None
    with contextlib.suppress(OSError, msgspec.MsgspecError, KeyError):
        told = msgspec.json.decode(folder.server_json.read_bytes(), type=dict[str, int])
        return Leader(told["pid"], told["start"], _ended(folder))
    return None


def _ended(folder: RunFolder) -> int | None:
    with contextlib.suppress(OSError, msgspec.MsgspecError, KeyError, TypeError):
        told = msgspec.json.decode(folder.exit_json.read_bytes(), type=dict[str, Any])
        return int(told["boottime"] * _TICKS)
    return None
