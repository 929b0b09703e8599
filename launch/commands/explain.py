"""`specwatch explain FILE`: a saved server log, read as an expert would."""

import codecs
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import click

from collectors.errors import SpecwatchError
from collectors.reading.events import Log, UserNoise
from collectors.reading.log.state import LogState
from collectors.reading.report import report
from collectors.reading.state import State, step
from launch import config, explained, output

BLOCK = 1 << 20


@click.command("explain")
@click.argument("file", required=False)
@click.option("--json", "as_json", is_flag=True, help="One JSON object (docs/json.md).")
@click.option("--metrics", "page", metavar="FILE", help="Read a saved /metrics page instead.")
@click.pass_obj
def command(options: dict[str, Any], file: str | None, as_json: bool, page: str | None) -> None:
    """Read a saved server log, as an expert would: where it stands, what it died of, what to do.

    FILE is a log of vLLM or SGLang, through any wrapper, or - for standard input. Exit code 0 whatever it says.
    """
    if (file is None) == (page is None):
        raise SpecwatchError(
            "explain reads one file", "specwatch explain server.log, or explain --metrics page.txt"
        )
    if page is not None:
        _tell_page(_page(page), as_json)
        return
    muted = config.load(options.get("config")).noise
    found, year = _log(file or "-", muted), _year(file)
    if as_json:
        output.json(report(found, year))
        return
    for line in explained.lines(found, report(found, year)):
        output.data(line)


def _tell_page(found: State, as_json: bool) -> None:
    from launch import page

    if as_json:
        output.json(report(found))
        return
    for line in (*explained.lines(found, report(found)), *page.lines(found)):
        output.data(line)


def _log(name: str, muted: tuple[UserNoise, ...] = ()) -> State:
    state = State(log=LogState(noise=muted))
    offset = 0
    for block in _blocks(name):
        state = step(state, Log(t=0.0, offset=offset, data=block))
        offset += len(block)
    return state


def _page(name: str) -> State:
    """One scrape: what its counters say since the server's start."""
    from collectors.reading.exposition import NotMetrics
    from launch import page

    text = b"".join(_blocks(name)).decode("utf-8", "replace")
    try:
        found = page.read(text)
    except NotMetrics as why:
        raise SpecwatchError(f"{name}: {why.reason}", "save one: curl URL/metrics > page.txt") from None
    if found is None:
        raise SpecwatchError(
            f"{name} has no metric of vLLM or SGLang", "save one: curl URL/metrics > page.txt"
        )
    return found


def _blocks(name: str) -> Iterator[bytes]:
    try:
        with _opened(name) as stream:
            block = stream.read(BLOCK)
            text = _decoder_of(block)
            while block:
                yield text.decode(block).encode() if text is not None else block
                block = stream.read(BLOCK)
    except OSError as problem:
        reason = (problem.strerror or str(problem)).lower()
        raise SpecwatchError(
            f"cannot read {name}: {reason}", "give a log file, or - for standard input"
        ) from None


def _decoder_of(begin: bytes) -> codecs.IncrementalDecoder | None:
    """For a file with a byte order mark, such as PowerShell's `>` makes; a log in UTF-8 is read as the bytes it is."""
    for mark, encoding in (
        (codecs.BOM_UTF16_LE, "utf-16"),
        (codecs.BOM_UTF16_BE, "utf-16"),
        (codecs.BOM_UTF8, "utf-8-sig"),
    ):
        if begin.startswith(mark):
            return codecs.getincrementaldecoder(encoding)("replace")
    return None


def _opened(name: str) -> IO[bytes]:
    if name == "-":
        return sys.stdin.buffer
    return Path(name).open("rb")


def _year(name: str | None) -> int | None:
    """vLLM's stamps have no year: a file was last written in the year of its last line."""
    if name is None or name == "-":
        return None
    import time

    try:
        return time.localtime(Path(name).stat().st_mtime).tm_year
    except (OSError, OverflowError, ValueError):
        return None
