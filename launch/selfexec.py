"""How this program starts another process of itself."""

import importlib.util
import sys


def self_argv(*args: str) -> list[str]:
    """`python -m specwatch ARGS` where it is installed, `python -m launch ARGS` in a bare checkout."""
    module = "specwatch" if importlib.util.find_spec("specwatch") else "launch"
    return [sys.executable, "-m", module, *args]
