"""Safetensors files by their headers alone: 8 bytes of little-endian length, then JSON, then the data.

Format: huggingface/safetensors README. A 64-shard, 547 GB checkpoint is read in a few MB: headers, never weights.
"""

import errno
import os
import stat
import struct
from pathlib import Path
from typing import BinaryIO

import msgspec

# The library's own cap on a header; a file that claims more is broken or hostile.
MAX_HEADER = 100_000_000
DTYPE_BYTES = {"F64": 8, "F32": 4, "F16": 2, "BF16": 2, "I64": 8, "I32": 4, "I16": 2, "I8": 1, "U8": 1, "BOOL": 1,
               "F8_E4M3": 1, "F8_E5M2": 1, "U16": 2, "U32": 4, "U64": 8}  # fmt: skip


class Tensor(msgspec.Struct, gc=False):
    """A header's entry, decoded as it stands there (a checkpoint has 200,000 of them), then told where it lies.

    The defaults are `__metadata__`'s, the one entry that is no tensor: so a header decodes in one go.
    """

    dtype: str = ""
    shape: tuple[int, ...] = ()
    data_offsets: tuple[int, int] = (0, 0)
    name: str = ""
    file: str = ""
    base: int = 0  # where the file's data begins


class Broken(Exception):
    """A file that cannot be what it claims; the message names the file and both values."""


_HEADER = msgspec.json.Decoder(dict[str, Tensor])


def regular(path: Path) -> BinaryIO:
    """Opened for reading; OSError for what is no file: a FIFO would wait for its writer for ever."""
    file = os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb")
    kind = os.fstat(file.fileno()).st_mode
    if stat.S_ISREG(kind):
        return file
    file.close()
    raise OSError(errno.EINVAL, "it is no regular file")


def read_header(path: Path) -> dict[str, Tensor]:
    """The tensors of one file by name. Raises Broken for a file that is cut, lies about its size, or is no header."""
    size, length, raw = _raw_header(path)
    try:
        parsed = _entries(raw)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise Broken(f"{path.name}: the header is not JSON of the safetensors form ({error})") from error
    base = 8 + length
    end = max((tensor.data_offsets[1] for tensor in parsed.values()), default=0)
    if base + end != size:
        raise Broken(f"{path.name}: {size:,} bytes, the header describes {base + end:,}")
    file = path.name
    for name, tensor in parsed.items():
        tensor.name, tensor.file, tensor.base = name, file, base
        _check_extent(tensor)
    return parsed


def _entries(raw: bytes) -> dict[str, Tensor]:
    try:
        entries = _HEADER.decode(raw)
    except msgspec.ValidationError:  # metadata that happens to have a tensor's keys
        parts = msgspec.json.decode(raw, type=dict[str, msgspec.Raw])
        parts.pop("__metadata__", None)
        entries = {name: msgspec.json.decode(value, type=Tensor) for name, value in parts.items()}
    entries.pop("__metadata__", None)
    return entries


def _raw_header(path: Path) -> tuple[int, int, bytes]:
    try:
        with regular(path) as file:
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


def _check_extent(tensor: Tensor) -> None:
    width = DTYPE_BYTES.get(tensor.dtype)
    count = 1
    for n in tensor.shape:
        count *= n
    start, end = tensor.data_offsets
    if not tensor.dtype or not 0 <= start <= end or (width and end - start != count * width):
        raise Broken(
            f"{tensor.file}: tensor {tensor.name} of shape {list(tensor.shape)} {tensor.dtype} "
            f"has {end - start:,} bytes"
        )


def read_data(folder: Path, tensor: Tensor, at: int = 0, most: int | None = None) -> bytes:
    """The bytes of a tensor (`most` of them from `at` on). For d2t and t2d, which are small enough to read whole."""
    start, end = tensor.data_offsets
    size = max(0, end - start - at)
    with regular(folder / tensor.file) as file:
        file.seek(tensor.base + start + at)
        return file.read(size if most is None else min(size, most))
