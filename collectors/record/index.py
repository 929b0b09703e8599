"""LogIndex: server.log's growth -> Log events, at most 100 ms after the bytes came."""

from collectors.reading.events import Log, Source
from collectors.record.clock import RunClock
from collectors.record.folder import RunFolder
from collectors.record.writer import RecordWriter
from collectors.sources.logtail import Tail


class LogIndex:
    """What the record has indexed is the only position: a chunk that could not be recorded is read again."""

    def __init__(self, folder: RunFolder, writer: RecordWriter, clock: RunClock) -> None:
        self._tail = Tail(folder.server_log, writer.log_offset)
        self._writer = writer
        self._clock = clock
        self._era = self._tail.era
        self.grew = clock()  # when the log last grew

    def step(self) -> bool:
        """Index what is new; True when there was anything. Raises OSError when the log cannot be read."""
        data = self._tail.read()
        if self._tail.era != self._era:
            self._era = self._tail.era
            what = "cut short" if self._tail.truncated else "replaced"
            self._writer.write(
                Source(
                    t=self._clock(), source="log", error=f"server.log was {what} by others: bytes are lost"
                )
            )
        if not data:
            return False
        t = self._clock()
        if not self._writer.write(Log(t=t, offset=self._tail.offset, data=data)):
            return False
        self._tail.took(len(data))
        self.grew = t
        return True

    def drain(self) -> None:
        while self.step():
            pass
