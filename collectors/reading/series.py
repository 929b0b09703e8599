"""Bounded series of (t, value): the newest points as they came, the older ones at a grain that grows with their span.

So a plot of the last minutes is sharp after a day too, and the day is still there.
"""

from msgspec import Struct

Point = tuple[float, float | None]


class Ring(Struct, frozen=True, array_like=True):
    """At most `size` points; the newest half is never thinned, the older ones are `grain` seconds apart.

    A None value is a gap (nothing was known then); plots leave it empty, and thinning keeps it.
    """

    size: int
    grain: float = 0.0
    points: tuple[Point, ...] = ()

    def add(self, t: float, value: float | None) -> "Ring":
        points = (*self.points, (round(t, 3), value))
        if len(points) <= self.size:
            return Ring(self.size, self.grain, points)
        older, newest = points[: -self.size // 2], points[-self.size // 2 :]
        room = self.size // 4
        least = (older[-1][0] - older[0][0]) / (room - 1)
        grain = self.grain if self.grain >= least else max(2 * self.grain, least)
        kept = _thinned(older, grain, gaps=True)
        if len(kept) > room:  # more gaps than there is room for
            kept = _thinned(older, grain, gaps=False)[-room:]
        return Ring(self.size, grain, (*kept, *newest))

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


def _thinned(points: tuple[Point, ...], grain: float, *, gaps: bool) -> tuple[Point, ...]:
    """Points at least `grain` apart; with `gaps` also those where known turns to unknown or back."""
    kept = [points[0]]
    for point in points[1:]:
        turns = (point[1] is None) != (kept[-1][1] is None)
        if point[0] - kept[-1][0] >= grain or (gaps and turns):
            kept.append(point)
    return tuple(kept)
