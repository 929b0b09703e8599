"""A checkpoint folder as doctor sees it: config.json, tensors by name, and what could not be read."""

import glob
import json
import os
from pathlib import Path
from typing import Any

import msgspec

from collectors.checks.safetensors import Broken, Tensor, read_header, regular
from collectors.errors import SpecwatchError

MAX_CONFIG = 16_000_000
MAX_INDEX = 256_000_000  # that of Kimi-K2.5, 211,000 tensors, is 24 MB
MAX_FILES = 4_096


class Checkpoint(msgspec.Struct, frozen=True):
    path: Path
    config: dict[str, Any]
    tensors: dict[str, Tensor]
    broken: tuple[str, ...] = ()  # one sentence a file
    weights: str = "safetensors"  # "safetensors", "bin" (their names are not readable without torch), "none"


def load(given: str) -> Checkpoint:
    """Read a folder, or a Hub id that lies in the local cache. Raises SpecwatchError when there is no config to read."""
    path = _folder(given)
    config = _config(path / "config.json")
    tensors, broken, kind = _tensors(path)
    return Checkpoint(path, config, tensors, tuple(broken), kind)


def _folder(given: str) -> Path:
    path = Path(given).expanduser()
    if path.is_dir():
        return path
    if path.exists():
        raise SpecwatchError(
            f"{given} is a file", "name the checkpoint's folder, the one that holds config.json"
        )
    if given.count("/") == 1 and not given.startswith((".", "/", "~")):
        cached = _cached(given)
        if cached:
            return cached
        raise SpecwatchError(
            f"{given} is not a folder here, and the local Hugging Face cache has no complete copy",
            "doctor reads files only: download it first, or name its folder",
        )
    raise SpecwatchError(
        f"there is no folder {given}", "name the checkpoint's folder, the one that holds config.json"
    )


def _cached(hub_id: str) -> Path | None:
    """The newest snapshot in the Hub cache (layout: huggingface_hub, models--ORG--NAME/snapshots/REVISION)."""
    home = Path(os.environ.get("HF_HOME") or Path.home() / ".cache/huggingface")
    root = Path(os.environ.get("HF_HUB_CACHE") or home / "hub")
    found = [
        p.parent
        for p in root.glob(f"models--{glob.escape(hub_id.replace('/', '--'))}/snapshots/*/config.json")
    ]
    return max(found, key=lambda p: p.stat().st_mtime, default=None)


def _config(path: Path) -> dict[str, Any]:
    """As the engines read it: strict JSON, but for Python's NaN and Infinity, which some configurations hold."""
    raw = _bytes(path, MAX_CONFIG, "a checkpoint's folder holds a config.json")
    try:
        value = json.loads(raw.decode(), parse_int=_whole)
    except (ValueError, RecursionError) as error:
        raise SpecwatchError(
            f"{path} is not a JSON object: {error}",
            "engines read it strictly: no comments, no trailing commas",
        ) from error
    if not isinstance(value, dict):
        raise SpecwatchError(
            f"{path} is not a JSON object: it holds a {type(value).__name__}",
            "a model's configuration is one object",
        )
    return value


def _whole(digits: str) -> int | float:
    return int(digits) if len(digits) < 20 else float(digits)


def _bytes(path: Path, most: int, hint: str) -> bytes:
    try:
        with regular(path) as file:
            raw = file.read(most + 1)
    except FileNotFoundError as error:
        raise SpecwatchError(f"{path} does not exist", hint) from error
    except OSError as error:  # ELOOP of a link that points to itself among them
        raise SpecwatchError(
            f"{path} cannot be read: {error.strerror}", "check the file and its links"
        ) from error
    if len(raw) > most:
        raise SpecwatchError(f"{path} is over {most:,} bytes", "that is no model's")
    return raw


def _tensors(path: Path) -> tuple[dict[str, Tensor], list[str], str]:
    broken: list[str] = []
    names = sorted(p.name for p in path.glob("*.safetensors"))
    indexed = _index(path, broken)
    if indexed is not None:
        promised = set(indexed.values())
        broken += [f"{name}: named by the index, not there" for name in sorted(promised - set(names))]
        names = [name for name in names if name in promised]
    if not names:
        return {}, broken, "bin" if any(path.glob("*.bin")) or any(path.glob("*.pt")) else "none"
    if len(names) > MAX_FILES:
        raise SpecwatchError(f"{path} holds {len(names):,} safetensors files", "name one checkpoint's folder")
    tensors: dict[str, Tensor] = {}
    for name in names:
        try:
            tensors.update(read_header(path / name))
        except Broken as error:
            broken.append(str(error))
    if indexed is not None and not broken:
        missing = sorted(set(indexed) - set(tensors))
        broken += [f"{indexed[name]}: lacks {name}, which the index promises" for name in missing[:5]]
    return tensors, broken, "safetensors"


class _Index(msgspec.Struct):
    weight_map: dict[str, str]


def _index(path: Path, broken: list[str]) -> dict[str, str] | None:
    file = path / "model.safetensors.index.json"
    if not os.path.lexists(file):
        return None
    try:
        return msgspec.json.decode(_bytes(file, MAX_INDEX, ""), type=_Index).weight_map
    except (SpecwatchError, msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        broken.append(f"{file.name}: {error}")
        return None
