"""Which vLLM the demo serves with: the one on PATH where it can run here, else one of our own."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import msgspec

_PROBE = """
import json
from importlib.metadata import version
import torch
print(json.dumps({"version": version("vllm"), "gpu": torch.cuda.is_available()}))
"""


class Engine(msgspec.Struct, frozen=True):
    vllm: Path
    python: Path  # the interpreter that imports it
    version: str  # "0.32.0+cpu"
    gpu: bool  # serves on a GPU; else it is a CPU build

    @property
    def usable(self) -> bool:
        return self.gpu or "cpu" in self.version


def clean_environment() -> dict[str, str]:
    """Ours, without what would make every start compile its imports anew (70–100 s instead of 25 s)."""
    return {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}


def engine_on_path() -> Engine | None:
    """The `vllm` that the user's shell would start, usable or not; None where there is none that answers."""
    found = shutil.which("vllm")
    return probe(Path(found)) if found else None


def probe(vllm: Path) -> Engine | None:
    """Ask its interpreter (3–10 s: it imports torch). None where that cannot import it."""
    python = interpreter_of(vllm)
    if python is None:
        return None
    try:
        asked = subprocess.run(
            [python, "-c", _PROBE], capture_output=True, timeout=300, env=clean_environment(), check=False
        )
        answer = msgspec.json.decode(asked.stdout.strip().rpartition(b"\n")[2], type=dict[str, str | bool])
    except (OSError, subprocess.TimeoutExpired, msgspec.MsgspecError):
        return None
    return Engine(vllm, python, str(answer["version"]), bool(answer["gpu"]))


def interpreter_of(script: Path) -> Path | None:
    """The Python of a console script: its first line's, or the second's where that path was too long."""
    try:
        head = script.read_bytes()[:2048].decode(errors="replace")
    except OSError:
        return None
    match = re.match(r"#!\s*(/\S*python\S*)\s*\n", head) or re.search(
        r"exec' \"?(/[^\"\n]*?python[^\"\s]*)", head
    )
    candidates = [Path(match[1])] if match else []
    candidates.append(script.resolve().parent / "python")
    return next((path for path in candidates if os.access(path, os.X_OK)), None)
