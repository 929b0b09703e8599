"""How this program starts another process of itself, wherever it lies: a wheel, an editable install, a checkout."""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def self_argv(*args: str) -> list[str]:
    """`python -P …/launch/selfexec.py ARGS`.

    Not `-m launch`: that would look in the current folder first, which is the user's and may hold a `launch` too.
    """
    return [sys.executable, "-P", str(ROOT / "launch" / "selfexec.py"), *args]


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))
    from launch.cli import main

    main()
