"""The only writer to the terminal outside the screen: data on stdout, all else on stderr."""

import shutil
import sys
from typing import Any

import msgspec


def data(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def json(value: Any) -> None:
    """One JSON object on one line; structs as objects, unknown as null."""
    data(msgspec.json.encode(value).decode())


def say(text: str) -> None:
    sys.stderr.write(text + "\n")
    sys.stderr.flush()


def rewrite(text: str) -> None:
    """Show `text` in place of stderr's current line, cut to the width; "" clears it. For terminals only."""
    shown = "".join(c if c.isprintable() else " " for c in text)[: shutil.get_terminal_size().columns - 1]
    sys.stderr.write(f"\r{shown}\x1b[K")
    sys.stderr.flush()


def error(message: str, hint: str = "") -> None:
    say(f"error: {message}")
    if hint:
        say(f"hint: {hint}")
