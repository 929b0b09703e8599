"""The one way in which sources ask a server: an own httpx client, bounded in time and size."""

import asyncio
import contextlib
import ipaddress
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import httpx

LARGEST = 4 << 20  # bytes after decompression; the page of 8 engines is 190 kB
TIMEOUT_S = 5.0


class Answer(NamedTuple):
    """`status` None: nothing answered, `error` says how. The ports tell the connection that answered."""

    status: int | None
    body: bytes = b""
    error: str | None = None
    server_port: int | None = None
    client_port: int | None = None


def loopback(url: str) -> bool:
    host = urlsplit(url).hostname or ""
    with contextlib.suppress(ValueError):
        address = ipaddress.ip_address(host)
        return address.is_loopback or address.is_unspecified
    return host == "localhost" or host.endswith(".localhost")


def client(url: str) -> httpx.AsyncClient:
    """One kept-alive connection. A proxy of the environment never stands between us and this machine."""
    limits = httpx.Limits(max_connections=1, max_keepalive_connections=1)
    return httpx.AsyncClient(
        trust_env=not loopback(url),
        verify=urlsplit(url).scheme == "https",  # reading the certificates takes 84 ms
        timeout=TIMEOUT_S,
        follow_redirects=True,
        limits=limits,
    )


async def get(session: httpx.AsyncClient, url: str) -> Answer:
    """GET; every failure is an Answer, none an exception."""
    try:
        async with asyncio.timeout(TIMEOUT_S), session.stream("GET", url) as response:
            server_port, client_port = _ports(response)
            body = bytearray()
            async for part in response.aiter_bytes():
                body += part
                if len(body) > LARGEST:
                    return Answer(response.status_code, error=f"the page is larger than {LARGEST} bytes")
            return Answer(response.status_code, bytes(body), None, server_port, client_port)
    except (TimeoutError, httpx.TimeoutException):
        return Answer(None, error="no answer in time")
    except httpx.ConnectError:
        return Answer(None, error="refused")
    except (httpx.HTTPError, httpx.InvalidURL, OSError, UnicodeError) as error:
        return Answer(None, error=f"{type(error).__name__}: {error}".rstrip(": "))


def _ports(response: httpx.Response) -> tuple[int | None, int | None]:
    """(server's, ours) of the connection; asked while it is open: many a server closes it after the body."""
    stream: Any = response.extensions.get("network_stream")
    with contextlib.suppress(OSError, TypeError, AttributeError):
        return stream.get_extra_info("server_addr")[1], stream.get_extra_info("client_addr")[1]
    return None, None
