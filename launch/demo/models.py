"""The tiny target and drafter, made once by the engine's own interpreter and kept in the cache."""

import hashlib
import os
import shutil
import subprocess
from pathlib import Path

import msgspec

from collectors.errors import SpecwatchError
from launch.demo import HERE
from launch.demo.engines import Engine, clean_environment

MAKER = HERE / "make_tiny.py"


class Pair(msgspec.Struct, frozen=True):
    target: Path
    drafter: Path

    @property
    def target_bytes(self) -> int:
        return sum(shard.stat().st_size for shard in self.target.glob("*.safetensors"))


def tiny_pair(engine: Engine, cache: Path) -> Pair:
    """The pair in `cache`, made first (4 s) where it is not there as this maker makes it.

    It is made beside its place and renamed, so that what is there is always whole.
    """
    kept = cache / f"tiny-{hashlib.sha256(MAKER.read_bytes()).hexdigest()[:12]}"
    if not kept.is_dir():
        making = cache / f"{kept.name}.{os.getpid()}"
        making.mkdir(parents=True, exist_ok=True)
        made = subprocess.run(
            [engine.python, MAKER, making],
            capture_output=True,
            text=True,
            errors="replace",
            env=clean_environment(),
            check=False,
        )
        if made.returncode:
            shutil.rmtree(making, ignore_errors=True)
            raise SpecwatchError(
                f"the tiny models could not be made: {(made.stderr.strip().splitlines() or ['?'])[-1]}",
                f"run it by hand: {engine.python} {MAKER} FOLDER",
            )
        try:
            making.rename(kept)
        except OSError:  # another demo was quicker
            shutil.rmtree(making, ignore_errors=True)
    return Pair(kept / "target", kept / "drafter")
