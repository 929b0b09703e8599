"""What the server's environment must hold so that the patches run, for that launch only; nothing is installed."""

import hashlib
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from collectors.errors import SpecwatchError
from launch.patches import PATCHES

PLUGIN = "specwatch_vllm_patches"
FOLDER = Path(__file__).parent / "plugin"


# What SPECWATCH_PATCHES can list and a line of the log can tell (collectors/reading/log/rules/vllm_start.py).
_TELLABLE = re.compile(r'[^":\\\x00-\x1f]{1,200}')


def resolved(patches: Sequence[str], engine: str | None = None) -> tuple[str, ...]:
    """As the server's processes will name them: an id of ours, a part of one, a file's whole path, a dotted module.

    Raises SpecwatchError for what is none of these.
    """
    if patches and engine == "sglang":
        raise SpecwatchError("patches are for vLLM, this command starts SGLang", "launch it without --patch")
    return tuple(dict.fromkeys(map(_resolved, patches)))


def _resolved(wanted: str) -> str:
    if wanted in {name for patch in PATCHES for name in (patch.id, *patch.parts)}:
        return wanted
    if wanted.endswith(".py"):
        path = Path(wanted).expanduser().absolute()
        if not path.is_file():
            raise SpecwatchError(
                f"there is no patch file {wanted}", "name a .py file with a function patch()"
            )
        if not _TELLABLE.fullmatch(str(path)):
            raise SpecwatchError(
                f"the path of the patch {path} is too long, or holds a colon, a quote or a backslash",
                "the list of patches and the log's lines could not carry it: give it another place",
            )
        return str(path)
    if "." in wanted and all(part.isidentifier() for part in wanted.split(".")):
        return wanted
    raise SpecwatchError(
        f"there is no patch `{wanted}`",
        f"`specwatch patches` lists them ({', '.join(p.id for p in PATCHES)}); "
        "your own: a .py file or a dotted module",
    )


def additions(
    patches: Sequence[str],
    env: Mapping[str, str],
    *,
    version: tuple[int, ...] | None,
    drafter_config: bytes = b"",
) -> dict[str, str]:
    """Variables to add to the server's environment; {} without patches.

    The user's PYTHONPATH and VLLM_PLUGINS (an allow-list; unset loads all, empty loads none) are extended, never
    replaced. vLLM <= 0.17 keys its compile cache by neither the patch nor the drafter's layer ids
    (`config/speculative.py: compute_hash`): there each combination gets a cache of its own.
    """
    if not patches:
        return {}
    wanted = resolved(patches)
    added = {
        "SPECWATCH_PATCHES": os.pathsep.join(wanted),
        "PYTHONPATH": os.pathsep.join(filter(None, [str(FOLDER), env.get("PYTHONPATH", "")])),
    }
    if "VLLM_PLUGINS" in env:
        named = [name for name in env["VLLM_PLUGINS"].split(",") if name]
        added["VLLM_PLUGINS"] = ",".join(named if PLUGIN in named else [*named, PLUGIN])
    if version is None or version < (0, 18):
        root = Path(
            env.get("VLLM_CACHE_ROOT") or Path(env.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "vllm"
        )
        added["VLLM_CACHE_ROOT"] = str(root / f"specwatch-{_key(wanted, drafter_config)}")
    return added


def _key(patches: Sequence[str], drafter_config: bytes) -> str:
    digest = hashlib.sha256("\0".join(patches).encode() + b"\0" + drafter_config)
    sources = [*sorted((FOLDER / PLUGIN).glob("*.py")), *(Path(p) for p in patches if p.endswith(".py"))]
    for source in sources:
        digest.update(source.read_bytes())
    return digest.hexdigest()[:12]
