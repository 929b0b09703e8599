"""Safetensors files by their headers alone: 8 bytes of little-endian length, then JSON, then the data.

Format: huggingface/safetensors README. A 64-shard, 547 GB checkpoint is read in a few MB: headers, never weights.
"""

import os
import struct
from pathlib import Path

import msgspec

# The library's own cap on a header; a file that claims more is broken or hostile.
MAX_HEADER = 100_000_000
DTYPE_BYTES = {"F64": 8, "F32": 4, "F16": 2, "BF16": 2, "I64": 8, "I32": 4, "I16": 2, "I8": 1, "U8": 1, "BOOL": 1,
               "F8_E4M3": 1, "F8_E5M2": 1, "U16": 2, "U32": 4, "U64": 8}  # fmt: skip


# gc=False on both: they hold no cycle, and a checkpoint of mixture-of-experts has 200,000 of them.
class Tensor(msgspec.Struct, frozen=True, gc=False):
    """Where a tensor lies: `start` and `end` count from the file's first byte."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    file: str
    start: int
    end: int


class Broken(Exception):
    """A file that cannot be what it claims; the message names the file and both values."""


class _Entry(msgspec.Struct, gc=False):
    """The defaults are `__metadata__`'s, the one entry that is no tensor: so a header decodes in one go."""

    dtype: str = ""
    shape: tuple[int, ...] = ()
    data_offsets: tuple[int, int] = (0, 0)


_HEADER = msgspec.json.Decoder(dict[str, _Entry])


def read_header(path: Path) -> dict[str, Tensor]:
    """The tensors of one file by name. Raises Broken for a file that is cut, lies about its size, or is no header."""
    size, length, raw = _raw_header(path)
    try:
        parsed = _entries(raw)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise Broken(f"{path.name}: the header is not JSON of the safetensors form ({error})") from error
    base = 8 + length
    end = max((entry.data_offsets[1] for entry in parsed.values()), default=0)
    if base + end != size:
        raise Broken(f"{path.name}: {size:,} bytes, the header describes {base + end:,}")
    for name, entry in parsed.items():
        _check_extent(path.name, name, entry)
    return {
        name: Tensor(name, e.dtype, e.shape, path.name, base + e.data_offsets[0], base + e.data_offsets[1])
        for name, e in parsed.items()
    }


def _entries(raw: bytes) -> dict[str, _Entry]:
    try:
        entries = _HEADER.decode(raw)
    except msgspec.ValidationError:  # metadata that happens to have a tensor's keys
        parts = msgspec.json.decode(raw, type=dict[str, msgspec.Raw])
        parts.pop("__metadata__", None)
        entries = {name: msgspec.json.decode(value, type=_Entry) for name, value in parts.items()}
    entries.pop("__metadata__", None)
    return entries


def _raw_header(path: Path) -> tuple[int, int, bytes]:
    try:
        with path.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            head = file.read(8)
            if len(head) < 8:
                raise Broken(f"{path.name}: {size} bytes, too short for a header")
            (length,) = struct.unpack("<Q", head)
            if length > min(MAX_HEADER, size - 8):
                raise Broken(f"{path.name}: claims a header of {length:,} bytes, the file has {size:,}")
            return size, length, file.read(length)
    except OSError as error:
        raise Broken(f"{path.name}: {error.strerror}") from error


def _check_extent(file: str, name: str, entry: _Entry) -> None:
    if not entry.dtype:
        raise Broken(f"{file}: tensor {name} has no dtype")
    width = DTYPE_BYTES.get(entry.dtype)
    count = 1
    for n in entry.shape:
        count *= n
    start, end = entry.data_offsets
    if not 0 <= start <= end or (width and end - start != count * width):
        raise Broken(
            f"{file}: tensor {name} of shape {list(entry.shape)} {entry.dtype} has {end - start:,} bytes"
        )


def read_data(folder: Path, tensor: Tensor, first: int | None = None) -> bytes:
    """The bytes of a tensor (`first`: at most so many). For d2t and t2d, which are small enough to read whole."""
    with (folder / tensor.file).open("rb") as file:
        file.seek(tensor.start)
        return file.read(
            min(tensor.end - tensor.start, first if first is not None else tensor.end - tensor.start)
        )
