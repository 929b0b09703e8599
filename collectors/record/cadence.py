"""How often to sample: each second while it matters, else as often as the day's bytes allow.

A day of one engine and 8 GPUs is to stay under 60 MB (each further engine adds 20): a bucket holds a third of
that at the start and is refilled with the other two thirds over the day. Loading and benchmarks draw on it
too, but are never slowed.
"""

DAY_S = 86400.0
DAY_BYTES = 58e6  # of 60: the rest is ticks of the seconds between
ENGINE_BYTES = 19e6
IDLE_S = 5.0


class Cadence:
    def __init__(self, t: float, engines: int = 1) -> None:
        self._t = t
        self._spent = 0
        self.engines = engines
        self._credit = self._whole / 3

    @property
    def _whole(self) -> float:
        return DAY_BYTES + ENGINE_BYTES * (self.engines - 1)

    def interval(self, t: float, spent: int, *, urgent: bool, busy: bool) -> float:
        """Seconds until the next sample. `spent`: all bytes written so far; `urgent`: a load or a benchmark
        runs; `busy`: the server has something to do."""
        third = self._whole / 3
        self._credit += (t - self._t) / DAY_S * 2 * third - (spent - self._spent)
        self._credit = max(-third, min(third, self._credit))
        self._t, self._spent = t, spent
        if urgent:
            return 1.0
        if not busy:
            return IDLE_S
        if self._credit > third / 2:
            return 1.0
        return 2.0 if self._credit > third / 4 else 5.0 if self._credit > 0 else 15.0
