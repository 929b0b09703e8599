"""Ring: bounded, the newest half untouched, the whole span kept."""

from hypothesis import given
from hypothesis import strategies as st

from collectors.reading.series import Ring


def test_the_last_minutes_are_sharp_after_a_day_and_the_day_is_still_there() -> None:
    ring = Ring(240)
    for t in range(86_400):
        ring = ring.add(float(t), float(t))
    newest = [t for t, _ in ring.points[-120:]]
    assert newest == [float(t) for t in range(86_280, 86_400)]
    assert ring.points[0] == (0.0, 0.0)
    gaps = [b[0] - a[0] for a, b in zip(ring.points[:-120], ring.points[1:-119], strict=True)]
    assert max(gaps) < 86_400 / 20
    assert ring.slope(86_300) == 1.0


def test_a_gap_survives_thinning() -> None:
    ring = Ring(40)
    for t in range(400):
        ring = ring.add(float(t), None if 100 <= t < 200 else 1.0)
    assert any(value is None for _, value in ring.points)


@given(st.lists(st.tuples(st.floats(0, 1e6), st.one_of(st.none(), st.floats(-1e9, 1e9))), max_size=300))
def test_never_more_than_its_size_and_the_newest_is_as_it_came(
    points: list[tuple[float, float | None]],
) -> None:
    ring = Ring(40)
    for t, value in sorted(points, key=lambda p: p[0]):
        ring = ring.add(t, value)
        assert len(ring.points) <= 40
        assert ring.points[-1] == (round(t, 3), value)
