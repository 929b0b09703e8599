"""The words of the command line as what the benchmark takes."""

from urllib.parse import urlsplit

import click

from collectors.errors import SpecwatchError


def levels(_ctx: click.Context, _param: click.Parameter, value: str) -> tuple[int, ...]:
    """ "1,8" -> (1, 8)."""
    try:
        levels = tuple(int(word) for word in value.split(",") if word.strip())
    except ValueError:
        levels = ()
    if (not levels and value) or any(level < 1 or level > 4096 for level in levels):
        raise click.BadParameter("whole numbers from 1 to 4096, with commas between: 1,8")
    return levels


def temperatures(_ctx: click.Context, _param: click.Parameter, value: str) -> tuple[float, ...]:
    """ "0,0.7" -> (0.0, 0.7)."""
    try:
        found = tuple(dict.fromkeys(float(word) for word in value.split(",") if word.strip()))
    except ValueError:
        found = ()
    if not found or not all(0 <= temperature <= 2 for temperature in found):
        raise click.BadParameter("numbers from 0 to 2, with commas between: 0,0.7")
    return found


def contexts(_ctx: click.Context, _param: click.Parameter, value: str) -> tuple[int, ...]:
    """ "0,8000" -> (0, 8000)."""
    try:
        found = tuple(dict.fromkeys(int(word) for word in value.split(",") if word.strip()))
    except ValueError:
        found = ()
    if not found or not all(0 <= length <= 10_000_000 for length in found):
        raise click.BadParameter("whole numbers of tokens, with commas between: 0,8000")
    return found


def each_once(ctx: click.Context, param: click.Parameter, value: str) -> tuple[int, ...]:
    found = levels(ctx, param, value)
    if not found or len(set(found)) < len(found):
        raise click.BadParameter("each once, with commas between: 1,8")
    return found


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
