"""/health: changes only, whose socket answers, bounded in time and size."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

import pytest

from collectors.sources import http
from collectors.sources.health import HealthSource
from collectors.sources.tree import Tree


@asynccontextmanager
async def answering(raw: bytes, *, hang: bool = False) -> AsyncIterator[str]:
    """A server that says `raw` to whatever is asked; `hang`: and then nothing more."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        served.append(writer)
        with suppress(ConnectionError):
            await reader.readuntil(b"\r\n\r\n")
            writer.write(raw)
            await writer.drain()
            if not hang:
                writer.close()

    served: list[asyncio.StreamWriter] = []
    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        server.close()
        for writer in served:
            writer.close()
            with suppress(ConnectionError):
                await writer.wait_closed()


OK = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"
UNWELL = b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n"


async def test_an_answer_is_told_once_until_it_changes() -> None:
    async with answering(OK) as url:
        source = HealthSource(url, lambda: 1.0, Tree("nobody"))
        first = await source.ask()
        assert first is not None
        assert (first.status, first.owner) == (200, "unknown")
        assert await source.ask() is None
        source.forget()
        assert await source.ask() is not None
    refused = await source.ask()
    assert refused is not None
    assert (refused.status, refused.error) == (None, "refused")
    await source.close()


async def test_another_servers_answer_is_not_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    """The socket is this test's; the tree is another process."""
    async with answering(OK) as url:
        source = HealthSource(url, lambda: 1.0, Tree("r", roots=(1,)))
        found = await source.ask()
        assert found is not None
        assert found.owner == "other"
        await source.close()


async def test_an_unwell_server_is_told_by_its_status() -> None:
    async with answering(UNWELL) as url:
        source = HealthSource(url, lambda: 1.0, Tree("r"))
        found = await source.ask()
        assert found is not None
        assert (found.status, found.owner) == (503, "unknown")
        await source.close()


@pytest.mark.parametrize(
    "raw",
    [b"not http at all\r\n\r\n", b"", b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nshort", b"\xff" * 100],
)
async def test_whatever_answers_is_an_answer_and_no_exception(raw: bytes) -> None:
    async with answering(raw) as url, http.client(url) as session:
        answer = await http.get(session, url)
    assert answer.error


async def test_silence_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http, "TIMEOUT_S", 0.2)
    async with answering(b"HTTP/1.1 200 OK\r\n", hang=True) as url, http.client(url) as session:
        assert (await http.get(session, url)).error == "no answer in time"


async def test_size_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http, "LARGEST", 1000)
    page = b"HTTP/1.1 200 OK\r\nContent-Length: 2000\r\n\r\n" + b"x" * 2000
    async with answering(page) as url, http.client(url) as session:
        assert "larger" in str((await http.get(session, url)).error)


@pytest.mark.parametrize(
    ("url", "local"),
    [
        ("http://127.0.0.1:8000", True),
        ("http://127.8.8.8", True),
        ("http://localhost:8000/", True),
        ("http://[::1]:8000", True),
        ("http://0.0.0.0:8000", True),
        ("http://10.0.0.1:8000", False),
        ("http://gpu-box:8000", False),
        ("nonsense", False),
    ],
)
def test_no_proxy_stands_before_loopback(url: str, local: bool) -> None:
    assert http.loopback(url) is local
