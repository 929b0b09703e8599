"""checkpoint.json: the State at one place in the record: opening a long run costs its last seconds only.

A cache and nothing more: thrown away when it is damaged, when the code that reads has changed, or when the
record is shorter than it says.
"""

import functools
import hashlib
import os
from pathlib import Path

import msgspec

import collectors.reading
from collectors.reading.state import State
from collectors.record.folder import RunFolder

EVERY_S = 30.0


class Checkpoint(msgspec.Struct, frozen=True, kw_only=True):
    code: str  # reading_hash() of the writer
    record_offset: int  # bytes of record.jsonl that `state` holds: always a line's end
    log_offset: int  # bytes of server.log that are indexed up to there
    state: State


@functools.cache
def reading_hash() -> str:
    """A hash of the sources that make a State from events; another hash means another State."""
    digest = hashlib.blake2b(digest_size=16)
    root = Path(collectors.reading.__file__).parent
    for path in sorted(root.rglob("*.py")):
        digest.update(path.relative_to(root).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()


def save(folder: RunFolder, state: State, record_offset: int, log_offset: int) -> None:
    """Write aside and rename. Raises OSError (full disk): the caller goes on without one."""
    raw = msgspec.json.encode(
        Checkpoint(code=reading_hash(), record_offset=record_offset, log_offset=log_offset, state=state)
    )
    aside = folder.checkpoint.with_suffix(".new")
    with os.fdopen(os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
        file.write(raw)
    aside.rename(folder.checkpoint)


def load(folder: RunFolder) -> Checkpoint | None:
    """The checkpoint that still holds for this record and this code, or None."""
    try:
        raw = folder.checkpoint.read_bytes()
        size = folder.record.stat().st_size
        # The hash first: a State of other code may not even decode.
        if msgspec.json.decode(raw, type=_Header).code != reading_hash():
            return None
        found = msgspec.json.decode(raw, type=Checkpoint)
    except (OSError, msgspec.MsgspecError, RecursionError):
        return None
    return found if 0 <= found.record_offset <= size else None


class _Header(msgspec.Struct):
    code: str
