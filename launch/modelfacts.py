"""What a checkpoint's folder says before anything loads it: shard sizes, broken files, the file system under it."""

import os
import re
from pathlib import Path

import msgspec

from collectors.checks import checkpoint
from collectors.errors import SpecwatchError

_LOCAL = (".", "/", "~")


class ModelFacts(msgspec.Struct, frozen=True):
    """`path` None: not on this machine (a Hub id to be downloaded). `broken`: one sentence a file."""

    given: str
    path: Path | None = None
    shard_bytes: tuple[int, ...] = ()
    filesystem: str | None = None
    broken: tuple[str, ...] = ()
    missing: str | None = None  # why there is no such checkpoint at all


def read(given: str) -> ModelFacts:
    """Headers only: a few MB even of a 547 GB checkpoint."""
    if given.endswith(".gguf") or given.startswith(("s3://", "gs://", "hf://")):
        return ModelFacts(given, filesystem=_filesystem(Path(given)) if Path(given).is_file() else None)
    try:
        found = checkpoint.load(given)
    except SpecwatchError as problem:
        here = given.startswith(_LOCAL) or Path(given).exists()
        return ModelFacts(given, missing=problem.message if here else None)
    broken = found.broken
    if found.weights == "none" and not broken:
        broken = ("no weights: neither *.safetensors nor *.bin nor *.pt",)
    return ModelFacts(given, found.path, _sizes(found), _filesystem(found.path), broken)


def _sizes(found: checkpoint.Checkpoint) -> tuple[int, ...]:
    """In the order of the shards' names, which is the index's and the loader's."""
    names = sorted({tensor.file for tensor in found.tensors.values()}, key=_natural)
    if found.weights == "bin":
        names = sorted((p.name for p in found.path.iterdir() if p.suffix in (".bin", ".pt")), key=_natural)
    return tuple((found.path / name).stat().st_size for name in names)


def _natural(name: str) -> list[tuple[int, str]]:
    """vLLM sorts so (`weight_utils.py: _natural_sort_key`): shard 2 before shard 10."""
    return [(int(part), "") if part.isdecimal() else (0, part) for part in re.split(r"(\d+)", name)]


def _filesystem(path: Path) -> str | None:
    """The type of the mount that holds `path`, from /proc/self/mountinfo (proc_pid_mountinfo(5))."""
    wanted, best, kind = os.path.realpath(path), "", None
    try:
        lines = Path("/proc/self/mountinfo").read_text(errors="replace").splitlines()
    except OSError:
        return None
    for line in lines:
        left, _, right = line.partition(" - ")
        mount = left.split()[4].replace("\\040", " ")
        inside = wanted == mount or wanted.startswith(mount.rstrip("/") + "/")
        if inside and len(mount) >= len(best):
            best, kind = mount, right.split()[0]
    return kind
