"""/health: whether the server answers, and whether it is ours. Asked until ready, then only when /metrics
fails: SGLang generates a token for each /health."""

import asyncio
from collections.abc import Callable

from collectors.reading.events import Health
from collectors.sources import http, ownership
from collectors.sources.tree import Tree


class HealthSource:
    """`ask` gives a Health when the answer changed, else None; `last` is the newest answer."""

    def __init__(self, url: str, clock: Callable[[], float], tree: Tree) -> None:
        self.last: Health | None = None
        self._url = f"{url.rstrip('/')}/health"
        self._clock = clock
        self._tree = tree
        self._client = http.client(url)
        self._local = http.loopback(url)

    @property
    def healthy(self) -> bool:
        """200, and not known to come from another's server."""
        return self.last is not None and self.last.status == 200 and self.last.owner != "other"

    async def ask(self) -> Health | None:
        answer = await http.get(self._client, self._url)
        t = self._clock()
        owner = ownership.Owner("unknown", None)
        if answer.status == 200 and self._local and answer.server_port is not None:
            owner = await asyncio.to_thread(self._owner, answer.server_port, answer.client_port)
        new = Health(t=t, status=answer.status, owner=owner.owner, owner_pid=owner.pid, error=answer.error)
        known, self.last = self.last, new
        return None if known is not None and _same(known, new) else new

    def forget(self) -> None:
        self.last = None

    async def close(self) -> None:
        await self._client.aclose()

    def _owner(self, server_port: int, client_port: int | None) -> ownership.Owner:
        found = ownership.who(server_port, client_port, self._tree.pids)
        if found.owner == "same":
            return found
        self._tree.scan()  # the process that answers may be younger than the last look
        return ownership.who(server_port, client_port, self._tree.pids)


def _same(a: Health, b: Health) -> bool:
    return (a.status, a.owner, a.owner_pid, a.error) == (b.status, b.owner, b.owner_pid, b.error)
