"""The words of the command line as what the benchmark takes."""

from collections.abc import Callable
from typing import TypeVar
from urllib.parse import urlsplit

import click

from collectors.errors import SpecwatchError

Words = TypeVar("Words", int, float)


def _numbers(
    value: str, kind: Callable[[str], Words], least: float, most: float, wanted: str
) -> tuple[Words, ...]:
    """ "1,8" -> (1, 8)."""
    try:
        found = tuple(kind(word) for word in value.split(",") if word.strip())
    except ValueError:
        found = ()
    if not found or not all(least <= number <= most for number in found):
        raise click.BadParameter(wanted)
    return found


def requests(_ctx: click.Context, _param: click.Parameter, value: str) -> tuple[int, ...]:
    """() where nothing is asked for."""
    return (
        _numbers(value, int, 1, 4096, "whole numbers from 1 to 4096, with commas between: 1,8")
        if value
        else ()
    )


def concurrency(_ctx: click.Context, _param: click.Parameter, value: str) -> tuple[int, ...]:
    wanted = "whole numbers from 1 to 4096, each once, with commas between: 1,8"
    found = _numbers(value, int, 1, 4096, wanted)
    if len(set(found)) < len(found):
        raise click.BadParameter(wanted)
    return found


def temperatures(_ctx: click.Context, _param: click.Parameter, value: str) -> tuple[float, ...]:
    found = _numbers(value, float, 0, 2, "numbers from 0 to 2, with commas between: 0,0.7")
    return tuple(dict.fromkeys(found))


def contexts(_ctx: click.Context, _param: click.Parameter, value: str) -> tuple[int, ...]:
    found = _numbers(value, int, 0, 10_000_000, "whole numbers of tokens, with commas between: 0,8000")
    return tuple(dict.fromkeys(found))


def address(given: str | None) -> str:
    url = (given or "").rstrip("/").removesuffix("/v1")
    if not url:
        raise SpecwatchError("this run has no address", "give the server's with --url http://HOST:PORT")
    try:
        parts = urlsplit(url)
        known = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:
        known = False
    if not known:
        raise SpecwatchError(f"{url} is no web address", "like http://127.0.0.1:8000")
    return url
