"""Rows, numbers and the key table: what every screen stands on."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from collectors.reading.events import Exit, RunFacts
from collectors.reading.life import LifeState
from collectors.reading.state import State
from tui import format as fmt
from tui import keys, rows
from tui.app import Monitor
from tui.panels.header import footer
from tui.rows import STYLES, text_of, width_of
from tui.screens.log import LogScreen
from tui.screens.runs import RunsScreen
from tui.screens.stop import StopScreen
from tui.view import View

ANY = st.text(max_size=60)


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("plain", "plain"),
        ("[bold red]x[/]", "[bold red]x[/]"),
        ("\x1b[31mred\x1b]0;title\x07", "·[31mred·]0;title·"),
        ("a\tb\x00c\x9bd", "a b·c·d"),
        ("abc\u202egpj.exe", "abc·gpj.exe"),
        ("zero\u200bwidth\u2060\ufeff", "zero·width··"),
        ("soft\u00adhyphen", "soft·hyphen"),
        ("line\u2028sep", "line·sep"),
        ("模型 한국", "模型 한국"),
        ("ok\ufe0f", "ok"),
    ],
)
def test_what_comes_from_outside_is_inert(said: str, shown: str) -> None:
    assert rows.clean(said) == shown


@given(ANY)
def test_clean_text_holds_nothing_that_a_terminal_obeys(text: str) -> None:
    cleaned = rows.clean(text)
    assert not any(ord(char) < 32 or 0x7F <= ord(char) < 0xA0 for char in cleaned)
    assert rows.clean(cleaned) == cleaned


@given(ANY, st.integers(0, 40))
def test_any_text_is_cut_and_filled_to_the_cell(text: str, width: int) -> None:
    text = rows.clean(text)
    assert cell_len(rows.cut(text, width)) <= width
    assert cell_len(rows.left(text, width)) == width
    assert cell_len(rows.right(text, width)) == width


@given(st.lists(st.tuples(ANY, st.sampled_from(STYLES)), max_size=5), st.integers(0, 40))
def test_any_row_fits_exactly(spans: list[tuple[str, str]], width: int) -> None:
    row = tuple((rows.clean(text), style) for text, style in spans)
    assert width_of(rows.fit(row, width)) == width


@given(ANY, st.integers(1, 30), st.integers(1, 5))
def test_wrapped_lines_are_no_wider_and_no_more_than_asked(text: str, width: int, limit: int) -> None:
    lines = rows.wrap(rows.clean(text), width, limit)
    assert len(lines) <= limit
    assert all(cell_len(line) <= max(2, width) for line in lines)


def test_a_cut_row_says_so_and_keeps_its_styles() -> None:
    row = (("abc", "good"), ("defgh", "bad"))
    assert rows.fit(row, 6) == (("abc", "good"), ("de…", "bad"))
    assert rows.spread((("left", "plain"),), (("right", "plain"),), 12) == (
        ("left", "plain"), ("   ", "plain"), ("right", "plain"),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("fraction", "shown"),
    [(0, "────"), (None, "────"), (0.5, "██──"), (1, "████"), (2, "████"), (0.001, "▏───"), (0.53, "██▏─")],
)
def test_bars_are_fine_to_an_eighth_and_something_is_never_nothing(
    fraction: float | None, shown: str
) -> None:
    assert text_of(rows.bar(fraction, 4)) == shown


def test_the_thin_bar_is_full_only_when_it_is() -> None:
    assert text_of(rows.line_bar(63 / 64, 10)) == "━━━━━━━━━╸"
    assert text_of(rows.line_bar(1, 10)) == "━" * 10


@given(ANY)
def test_the_ascii_twin_has_the_same_cells(text: str) -> None:
    row = ((rows.clean("█▏━╸─│┊⣿✓" + text), "plain"),)
    twin = rows.to_ascii(row)
    assert text_of(twin).isascii()
    assert width_of(twin) == width_of(row)


@pytest.mark.parametrize(
    ("value", "shown"),
    [(None, "—"), (0, "0"), (0.87, "0.87"), (12.44, "12.4"), (868.2, "868"), (3031.7, "3032"), (24_576, "24.6k"),
     (123_456, "123k"), (1.2e6, "1.2M"), (-2.5, "-2.50")],
)  # fmt: skip
def test_numbers(value: float | None, shown: str) -> None:
    assert fmt.number(value) == shown


def test_units() -> None:
    assert fmt.percent(0.55886) == "55.9 %"
    assert fmt.percent(None) == "—"
    assert fmt.milliseconds(0.00578) == "5.78 ms"
    assert fmt.milliseconds(0.0255) == "25.5 ms"
    assert fmt.milliseconds(12.3) == "12.3 s"
    assert fmt.gib(143_771) == "140.4"
    assert fmt.gib(None) == "—"
    assert fmt.clock(4 * 3600 + 22 * 60 + 5) == "04:22:05"


def test_every_key_has_its_action() -> None:
    for key in keys.KEYS:
        name = "action_" + key.action.partition("(")[0]
        where = [Monitor] if key.screens == keys.EVERYWHERE else [
            {"log": LogScreen, "runs": RunsScreen}[screen] for screen in key.screens
        ]  # fmt: skip
        assert all(hasattr(one, name) for one in where), key


def test_no_key_means_two_things_on_one_screen() -> None:
    for screen in keys.SCREEN_NAMES:
        named = [name for key in keys.of_screen(screen) for name in key.keys.split(",")]
        assert len(named) == len(set(named)), screen


def test_the_page_of_keys_is_fresh() -> None:
    page = Path(__file__).parent.parent / "docs" / "keys.md"
    assert page.read_text() == keys.markdown(), "run `python -m tui.keys > docs/keys.md`"


@pytest.mark.parametrize(
    ("view", "shown", "missing"),
    [
        (View(phase="loading"), ["q leave it running", "s stop"], ["m mark", "b bench"]),
        (View(phase="serving"), ["q leave it running", "s stop", "m mark", "b bench"], []),
        (View(phase="serving", pace=1.0), ["q leave the replay"], ["s stop", "m mark", "b bench"]),
        (
            View(phase="failed", state=State(life=LifeState(exit=Exit(t=1.0, code=1)))),
            ["q leave "],
            ["s stop", "b bench"],
        ),
        (View(phase="serving", leave="leave the screen"), ["q leave the screen", "s stop"], ["it running"]),
        (
            View(phase="serving", state=State(run=RunFacts(foreign=True))),
            ["q leave it running", "b bench"],
            ["s stop"],
        ),
    ],
)
def test_the_footer_names_what_can_be_done_now(view: View, shown: list[str], missing: list[str]) -> None:
    text = text_of(footer(view, "speculation", 80))
    assert [words for words in shown if words not in text] == []
    assert [words for words in missing if words in text] == []


@pytest.mark.parametrize("width", [60, 64, 200])
def test_the_question_before_a_stop_is_whole(width: int) -> None:
    rows_ = StopScreen("a-run-with-quite-a-long-name")._draw_question(min(width, 62), 7)
    assert "given back." in " ".join(text_of(row).strip() for row in rows_)
