"""The braille canvas, row by row."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tui.canvas import Line, Mark, nice_top, plot
from tui.rows import text_of, width_of


def drawn(lines: list[Line], **more: object) -> list[str]:
    wanted: dict[str, object] = {"t0": 0.0, "t1": 20.0, "width": 17, "height": 4, **more}
    return [text_of(row) for row in plot(lines, **wanted)]  # type: ignore[arg-type]


def ramp(count: int = 21, top: float = 100.0) -> list[tuple[float, float | None]]:
    return [(float(t), t * top / (count - 1)) for t in range(count)]


def test_a_ramp_climbs_one_dot_at_a_time() -> None:
    assert drawn([Line("a", "fill", ramp())]) == [
        "  100 ┬      ⢀⣠⠴⠚",
        "   50 ┤   ⣀⡴⠚⠉   ",
        "    0 ┴⡤⠖⠋⠁      ",
        "       -20 s  now",
    ]


def test_an_area_is_filled_down_to_zero() -> None:
    assert drawn([Line("a", "fill", ramp(), area=True)]) == [
        "  100 ┬      ⢀⣠⣴⣾",
        "   50 ┤   ⣀⣴⣾⣿⣿⣿⣿",
        "    0 ┴⣤⣶⣿⣿⣿⣿⣿⣿⣿⣿",
        "       -20 s  now",
    ]


def test_a_none_breaks_the_line_and_so_does_a_silence() -> None:
    points = [(t, None if t == 10 else 100.0) for t in range(21)]
    assert drawn([Line("a", "fill", points)])[0] == "  100 ┬⠉⠉⠉⠉⠉⠈⠉⠉⠉⠉"
    sparse: list[tuple[float, float | None]] = [(0.0, 100.0), (4.0, 100.0), (16.0, 100.0), (20.0, 100.0)]
    assert drawn([Line("a", "fill", sparse)], gap=10)[0] == "  100 ┬⠉⠉⠁     ⠉⠉"
    assert drawn([Line("a", "fill", sparse)], gap=12)[0] == "  100 ┬⠉⠉⠉⠉⠉⠉⠉⠉⠉⠉"


def test_missing_data_is_an_empty_frame_not_a_line_at_zero() -> None:
    assert drawn([Line("a", "fill", [])]) == [
        "    1 ┬          ",
        " 0.50 ┤          ",
        "    0 ┴          ",
        "       -20 s  now",
    ]


def test_two_series_are_told_apart_without_colour_and_the_later_one_colours_the_cell() -> None:
    high: list[tuple[float, float | None]] = [(t, 100.0) for t in range(21)]
    low: list[tuple[float, float | None]] = [(t, 30.0) for t in range(21)]
    rows = plot(
        [Line("accepted", "accepted", low, area=True), Line("drafted", "drafted", high)],
        t0=0, t1=20, width=17, height=4,
    )  # fmt: skip
    assert [text_of(row)[7:] for row in rows[:3]] == ["⠉" * 10, " " * 10, "⣿" * 10]
    assert rows[0][-1] == ("⠉" * 10, "drafted")
    assert rows[2][-1] == ("⣿" * 10, "accepted")


def test_marks_are_dotted_lines_behind_the_data_with_their_labels() -> None:
    assert drawn([Line("a", "fill", ramp())], marks=[Mark(4, "c1"), Mark(14)]) == [
        "  100 ┬  ┊c1 ⢀⣠⠴⠚",
        "   50 ┤  ┊⣀⡴⠚⠉┊  ",
        "    0 ┴⡤⠖⠋⠁   ┊  ",
        "       -20 s  now",
    ]


def test_a_label_goes_lower_where_the_first_row_is_taken_and_away_where_none_is_free() -> None:
    high: list[tuple[float, float | None]] = [(t, 100.0) for t in range(21)]
    assert drawn([Line("a", "fill", high)], marks=[Mark(4, "c8")])[1] == "   50 ┤  ┊c8     "
    full: list[tuple[float, float | None]] = [(t, 100.0) for t in range(21)]
    rows = drawn([Line("a", "fill", full, area=True)], marks=[Mark(4, "c8")])
    assert not any("c8" in row for row in rows)


def test_a_label_from_outside_is_inert() -> None:
    rows = drawn([Line("a", "fill", [])], marks=[Mark(4, "\x1b[b]")])
    assert rows[0] == "    1 ┬  ┊·[b]   "


def test_ascii_has_no_braille() -> None:
    rows = drawn([Line("a", "fill", ramp(), area=True)], ascii_only=True)
    assert [row[7:] for row in rows[:3]] == ["      .:|#", "   .|#####", ":|########"]


@pytest.mark.parametrize(
    ("value", "top"),
    [
        (0, 1),
        (0.8, 0.8),
        (1, 1),
        (1.1, 1.2),
        (1453.7, 1500),
        (3031.7, 3500),
        (9.2, 10),
        (10.01, 12),
        (2.3e6, 2.5e6),
    ],
)
def test_the_top_is_a_number_that_people_like(value: float, top: float) -> None:
    assert nice_top(value) == pytest.approx(top)


@given(st.floats(min_value=1e-6, max_value=1e12))
def test_the_top_holds_the_value_and_wastes_less_than_half(value: float) -> None:
    assert value <= nice_top(value) * (1 + 1e-6)
    assert nice_top(value) <= value * 1.7


@given(
    st.lists(st.tuples(st.floats(-5, 30), st.one_of(st.none(), st.floats(0, 1e6)))),
    st.integers(1, 60),
    st.integers(0, 12),
    st.booleans(),
)
def test_any_series_at_any_size_fills_its_frame_exactly(
    points: list[tuple[float, float | None]], width: int, height: int, area: bool
) -> None:
    rows = plot(
        [Line("a", "fill", sorted(points, key=lambda p: p[0]), area)],
        t0=0, t1=20, width=width, height=height, marks=[Mark(3, "模型"), Mark(19.9, "end")],
    )  # fmt: skip
    assert all(width_of(row) == width for row in rows)
    assert len(rows) in (0, height)


def test_not_a_number_is_a_gap() -> None:
    assert drawn([Line("a", "fill", [(t, math.nan) for t in range(21)])])[0].strip() == "1 ┬"
