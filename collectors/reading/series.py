"""Bounded series of (t, value) with a span that grows: when full, every second point goes and the grain doubles."""

from msgspec import Struct


class Ring(Struct, frozen=True, array_like=True):
    """At most `size` points over the whole time seen; the newest is always kept as it was.

    A None value is a gap (nothing was known then); plots leave it empty.
    """

    size: int
    grain: float = 0.0  # points closer to the one before than this replace it
    points: tuple[tuple[float, float | None], ...] = ()

    def add(self, t: float, value: float | None) -> "Ring":
        points = self.points
        if len(points) > 1 and value is not None and t - points[-2][0] < self.grain:
            points = points[:-1]
        points = (*points, (round(t, 3), value))
        if len(points) <= self.size:
            return Ring(self.size, self.grain, points)
        span = points[-1][0] - points[0][0]
        thinned = points[:-1:2] + points[-1:]
        return Ring(self.size, max(self.grain * 2, span / self.size * 2), thinned)

    def since(self, t: float) -> tuple[tuple[float, float | None], ...]:
        return tuple(p for p in self.points if p[0] >= t)

    def slope(self, since: float) -> float | None:
        """Change per second between the first and the last known value at or after `since`."""
        known = [(t, v) for t, v in self.points if v is not None and t >= since]
        if len(known) < 2 or known[-1][0] <= known[0][0]:
            return None
        return (known[-1][1] - known[0][1]) / (known[-1][0] - known[0][0])

    @property
    def last(self) -> float | None:
        return self.points[-1][1] if self.points else None
