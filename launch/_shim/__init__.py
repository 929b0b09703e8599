"""The installed `specwatch` package: puts its own folder first on the path, then runs `launch.cli`."""

import sys
from pathlib import Path


def main() -> None:
    here = Path(__file__).parent
    # Installed from a wheel; an editable install has the repository on its path.
    if (here / "launch").is_dir():
        sys.path.insert(0, str(here))
    from launch.cli import main as run

    run()
