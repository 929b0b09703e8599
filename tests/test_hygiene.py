"""What the quick commands import: the cause of their time, which a shared machine does not disturb."""

import json
import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT, Importer

SLOW = (
    "textual",
    "rich",
    "httpx",
    "psutil",
    "platformdirs",
    "importlib.metadata",
    "asyncio",
    "watchdog",
    "pynvml",
)
ENGINE = ("torch", "vllm")

# After the command: what is in sys.modules, by the way that a user's process got there.
PROBE = """
import atexit, json, os, sys
atexit.register(lambda: os.write(9, json.dumps(sorted(sys.modules)).encode()))
sys.argv[0] = "specwatch"
from launch.cli import main
main()
"""


def modules_after(*args: str) -> tuple[list[str], int]:
    """The modules that a command has imported at its end, and its exit code."""
    read, write = os.pipe()
    command = ["bash", "-c", 'exec 9>&"$0"; exec "$@"', str(write), sys.executable, "-c", PROBE, *args]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    with subprocess.Popen(
        command, cwd=ROOT, pass_fds=(write,), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as child:
        os.close(write)
        with os.fdopen(read, "rb") as pipe:
            names = json.loads(pipe.read())
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    print(f"{' '.join(args)}: {cpu * 1000:.0f} ms CPU, {len(names)} modules")  # noqa: T201
    return names, child.returncode


def slow_ones(names: list[str], forbidden: tuple[str, ...]) -> list[str]:
    return [name for name in forbidden if name in names]


@pytest.mark.parametrize("args", [("--help",), ("status", "--help"), ("wait", "--help"), ("runs", "--help")])
def test_help_imports_nothing_slow(args: tuple[str, ...]) -> None:
    names, code = modules_after(*args)
    assert code == 0
    assert not slow_ones(names, SLOW + ENGINE)


@pytest.mark.parametrize("command", [("status",), ("status", "--json"), ("wait",), ("runs",), ("logs",)])
def test_a_command_that_reads_a_run_imports_nothing_slow(
    command: tuple[str, ...], imported: Importer, state: Path
) -> None:
    imported("cpu/31-fail-no-such-model", "failed")
    args = command if command == ("runs",) else (command[0], "failed", *command[1:])
    names, code = modules_after("--state-dir", str(state), *args)
    assert code == (1 if command == ("wait",) else 0)
    assert not slow_ones(names, SLOW + ENGINE)


def test_explain_imports_nothing_slow() -> None:
    names, code = modules_after("explain", "tests/recordings/cpu/31-fail-no-such-model.log", "--json")
    assert code == 0
    assert not slow_ones(names, SLOW + ENGINE)


def test_reading_imports_no_io() -> None:
    """At run time too: import-linter sees what is written, not what is computed."""
    code = (
        "import sys; before = set(sys.modules)\n"
        "import msgspec, re, collections.abc, typing, dataclasses, enum, bisect, json, ast, textwrap, statistics\n"
        "known = set(sys.modules)\n"
        "import pkgutil, importlib, collectors.reading as reading\n"
        "known |= {'pkgutil', 'importlib.util', 'importlib.machinery', 'zipimport'}\n"
        "for module in pkgutil.walk_packages(reading.__path__, 'collectors.reading.'):\n"
        "    importlib.import_module(module.name)\n"
        "print('\\n'.join(sorted(set(sys.modules) - known)))\n"
    )
    answer = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    new = answer.stdout.split()
    assert any(name.startswith("collectors.reading.log") for name in new)
    impure = {
        "socket",
        "pathlib",
        "subprocess",
        "threading",
        "asyncio",
        "datetime",
        "psutil",
        "httpx",
        "tempfile",
    }
    assert not impure & set(new)
    assert not [name for name in new if name.startswith(("collectors.sources", "collectors.record"))]
