"""When a run is over, and what the last line says. Exit comes after everything: log drained and quiet, tree
gone.
"""

import asyncio
from typing import Any

import msgspec

from collectors.reading.events import Exit, Reaped, Request
from collectors.record.clock import RunClock
from collectors.record.folder import RunFolder, RunInfo
from collectors.record.index import LogIndex
from collectors.record.writer import RecordWriter
from collectors.sources.foreign import ForeignLog
from collectors.sources.tree import Tree

POLL_S = 0.2
QUIET_S = 0.3
UNQUIET_S = 5.0  # longest wait for a log that others go on writing after the tree is gone
SURVIVORS_NOTED_S = 5.0
SURVIVORS_S = 600.0
KEEPER_STARTS_S = 5.0
DEAD_URL_S = 15.0

KEEPER_KILLED = "the keeper was killed: nobody could take the exit code"
REBOOTED = "the machine was restarted: nobody could take the exit code"


class Ending:
    """`wait` returns the Exit to be written once the run is over."""

    def __init__(
        self,
        folder: RunFolder,
        info: RunInfo,
        writer: RecordWriter,
        clock: RunClock,
        tree: Tree,
        index: LogIndex,
        foreign: ForeignLog | None,
    ) -> None:
        self._folder = folder
        self._info = info
        self._writer = writer
        self._clock = clock
        self._tree = tree
        self._index = index
        self._foreign = foreign

    async def wait(self) -> Exit:
        if not self._clock.same_boot:
            return Exit(t=self._clock(), reason=REBOOTED)
        if self._info.facts.foreign:
            reason = await self._foreign_gone()
            return Exit(t=self._clock(), reason=reason)
        code, signal, reason = await self._own_gone()
        await self._quiet()
        return Exit(t=self._clock(), code=code, signal=signal, reason=reason)

    async def _own_gone(self) -> tuple[int | None, int | None, str]:
        began = self._clock()
        keeper_seen = False
        while True:
            alive = self._folder.keeper_lives()  # asked before exit.json is looked for: it is written first
            keeper_seen = keeper_seen or alive
            if (found := _exit_json(self._folder)) is not None:
                when = found.get("boottime")
                t = self._clock() if when is None else self._clock.at(when)
                reaped = Reaped(t=t, code=found.get("code"), signal=found.get("signal"))
                if self._writer.state.life.reaped is None:
                    self._writer.write(reaped)
                await self._survivors(SURVIVORS_S)
                return reaped.code, reaped.signal, ""
            if not alive and (keeper_seen or self._clock() - began > KEEPER_STARTS_S):
                self._note(f"{KEEPER_KILLED}; the server itself is watched on")
                await self._survivors(None)
                return None, None, KEEPER_KILLED
            await asyncio.sleep(POLL_S)

    async def _survivors(self, longest: float | None) -> None:
        """Until no process of the tree is left; those that outlive the server's own are named in a note."""
        began = self._clock()
        noted = longest is None
        while living := await asyncio.to_thread(self._living):
            waited = self._clock() - began
            if not noted and waited > SURVIVORS_NOTED_S:
                names = ", ".join(f"{name} ({pid})" for pid, name in sorted(living.items()))
                self._note(f"the server's first process is gone, but these of its tree live on: {names}")
                noted = True
            if longest is not None and waited > longest:
                self._note(f"recording ends although {len(living)} processes of the tree live on")
                return
            await asyncio.sleep(POLL_S if waited < SURVIVORS_NOTED_S else 1.0)

    def _living(self) -> dict[int, str]:
        self._tree.scan()
        return {pid: stat.name for pid, stat in self._tree.living().items()}

    async def _quiet(self) -> None:
        began = self._clock()
        while self._clock() - max(self._index.grew, began) < QUIET_S and self._clock() - began < UNQUIET_S:
            await asyncio.sleep(POLL_S / 2)

    async def _foreign_gone(self) -> str:
        """A pid is the surest sign, then the URL that answered once, then the end of the log's source."""
        source_noted = False
        while True:
            await asyncio.sleep(POLL_S)
            stop = self._writer.state.life.stop_asked_t
            ended = self._foreign.ended if self._foreign is not None else None
            if self._info.foreign_pid is not None:
                if not await asyncio.to_thread(self._living):
                    await self._quiet()
                    return "the server's process is gone: nobody could take its exit code"
            elif self._info.url is not None and self._writer.state.life.first_healthy_t is not None:
                if (silent := self._silent_s()) > DEAD_URL_S:
                    return f"nothing answers at {self._info.url} for {silent:.0f} s"
            elif ended is not None:
                await self._quiet()
                return ended
            if stop is not None:
                return "it is no longer watched: a stop was asked for"
            if ended is not None and not source_noted:
                source_noted = self._note(ended)

    def _silent_s(self) -> float:
        life = self._writer.state.life
        if life.health is not None or life.metrics_error is None or life.health_t is None:
            return 0.0
        return self._clock() - life.health_t

    def _note(self, text: str) -> bool:
        if any(text == known for _t, known in self._writer.state.life.notes):
            return True
        return self._writer.write(Request(t=self._clock(), kind="note", id="recorder", label=text))


def _exit_json(folder: RunFolder) -> dict[str, Any] | None:
    try:
        found = msgspec.json.decode(folder.exit_json.read_bytes())
    except (OSError, msgspec.MsgspecError):  # not there, or not yet whole
        return None
    return found if isinstance(found, dict) else None
