"""The Start-up screen says what became of the launch's patches, and keeps what doctor warned of."""

import pytest
from msgspec import structs

from collectors.reading.events import Proc
from collectors.reading.hosts import HostState
from collectors.reading.report import told
from collectors.reading.state import State
from tests import tui_states
from tests.tui_states import view_of
from tui.panels.patches import doctored, patches
from tui.rows import text_of, width_of
from tui.screens.speculation import speculation
from tui.screens.startup import startup
from tui.view import View

PIDS = [str(pid) for pid in range(100, 110)]  # API server, engine core, eight workers
EVERYWHERE = dict.fromkeys(PIDS, "applied")
EAGLE3 = {
    "eagle3.whitelist": EVERYWHERE,
    "eagle3.image_token": EVERYWHERE,
    "eagle3.interface_deepseek": EVERYWHERE | {"100": "armed"},
    "eagle3.interface_kimi": EVERYWHERE,
}


def view(
    said: dict[str, dict[str, str]], wanted: tuple[str, ...] = ("eagle3",), advice: tuple[str, ...] = ()
) -> View:
    state = tui_states.loading()
    titles = ["vllm", "VLLM::EngineCore", *(f"VLLM::Worker_TP{i}" for i in range(8))]
    procs = {int(pid): Proc(title) for pid, title in zip(PIDS, titles, strict=True)}
    state = State(**{
        **{name: getattr(state, name) for name in state.__struct_fields__},
        "run": structs.replace(state.run, patches=wanted, advice=advice),
        "log": structs.replace(state.log, patches=said),
        "hosts": HostState(procs=procs, t=state.t),
    })  # fmt: skip
    return view_of(told(state))


def shown(found: View, width: int = 80) -> list[str]:
    return [text_of(row) for row in patches(found, width)]


def test_no_row_without_patches() -> None:
    assert shown(view({}, wanted=())) == []


@pytest.mark.parametrize(
    ("said", "wanted", "line"),
    [
        (EAGLE3, ("eagle3",), " patches  eagle3 applied in 9–10 processes (4 parts)"),
        (
            {name: dict.fromkeys(PIDS, "native") for name in EAGLE3},
            ("eagle3",),
            " patches  eagle3 native in 10 processes (4 parts)",
        ),
        (
            {**EAGLE3, "eagle3.interface_kimi": dict.fromkeys(PIDS, "absent")},
            ("eagle3",),
            " patches  eagle3 applied in 9–10 processes (3 parts), absent in 10 (1 part)",
        ),
        (
            {**EAGLE3, "eagle3.interface_kimi": dict.fromkeys(PIDS, "armed")},
            ("eagle3",),
            " patches  eagle3 applied in 9–10 processes (3 parts)",
        ),
        ({"/h/u/mine.py": EVERYWHERE}, ("/h/u/mine.py",), " patches  mine.py applied in 10 processes"),
        (
            {"mine.patch": EVERYWHERE, "eagle3.whitelist": EVERYWHERE},
            ("eagle3.whitelist", "mine.patch"),
            " patches  eagle3.whitelist applied in 10 processes · mine.patch applied in 10 processes",
        ),
    ],
)
def test_one_row_says_what_was_done_in_how_many_processes(
    said: dict[str, dict[str, str]], wanted: tuple[str, ...], line: str
) -> None:
    assert shown(view(said, wanted)) == [line]


def test_where_there_is_room_the_parts_are_named() -> None:
    assert shown(view(EAGLE3), 140) == [
        " patches  eagle3 applied in 9–10 processes "
        "(whitelist 10, image_token 10, interface_deepseek 9, interface_kimi 10)"
    ]


def test_before_the_first_line_it_is_not_heard_of() -> None:
    starting = view({})
    log = structs.replace(
        starting.state.log, phase="starting", steps=starting.state.log.steps[:1], problems=()
    )
    assert shown(view_of(structs.replace(starting.state, log=log))) == [" patches  eagle3 not heard of yet"]


@pytest.mark.parametrize(
    ("said", "first", "error"),
    [
        (
            {**EAGLE3, "eagle3.interface_kimi": dict.fromkeys(PIDS[2:], "failed")},
            " patches  eagle3 failed in 8 processes (1 part), applied in 9–10 (3 parts)",
            " ✗ patch eagle3.interface_kimi failed in 8 processes: the log says why",
        ),
        (
            {"eagle3.whitelist": dict.fromkeys(PIDS, "skipped")},
            " patches  eagle3 skipped in 10 processes (whitelist)",
            " ✗ patch eagle3.whitelist skipped in 10 processes: the log says why",
        ),
        (
            {"eagle3.whitelist": dict.fromkeys(PIDS[:-1], "applied")},
            " patches  eagle3 applied in 9 processes (whitelist)",
            " ✗ the patches did not run in VLLM::Worker_TP7: see the log for its plug-ins",
        ),
        (
            {},
            " patches  eagle3 not heard of yet",
            " ✗ patch eagle3 never ran: no process of the server said so: a sanitised",
        ),
    ],
)
def test_failed_and_missing_are_errors(said: dict[str, dict[str, str]], first: str, error: str) -> None:
    found = view(said)
    rows = patches(found, 80)
    assert [text_of(row).rstrip() for row in rows[:2]] == [first, error]
    assert rows[1][0] == (" ✗ ", "bad")
    assert all(width_of(row) <= 80 for row in rows)


@pytest.mark.parametrize("said", [EAGLE3, {}, {**EAGLE3, "eagle3.whitelist": dict.fromkeys(PIDS, "failed")}])
def test_at_80x24_the_row_stands_and_no_gpu_is_lost(said: dict[str, dict[str, str]]) -> None:
    text = "\n".join(text_of(row) for row in startup(view(said, advice=("doctor, t2d: …",)), 80, 22))
    assert "patches  eagle3" in text
    assert ("✗ patch eagle3" in text) == (said is not EAGLE3)
    assert "◂ behind" in text
    assert "phase " in text
    assert " ─ log " in text


def test_hostile_names_stay_text() -> None:
    row = "".join(shown(view({"x\x1b[31m": {"1": "applied"}}, wanted=("x\x1b[31m",))))
    assert "\x1b" not in row


def test_what_doctor_warned_of_stays() -> None:
    warned = ("doctor, t2d: t2d marks 3 ids of 96; expected the 48", "doctor, rope: " + "x" * 200)
    found = view({}, wanted=(), advice=warned)
    assert [text_of(row) for row in doctored(found, 80)] == [f" ! {warned[0]} (+1)"]
    assert [text_of(row)[:18] for row in doctored(found, 80, 3)] == [
        " ! doctor, t2d: t2",
        " ! doctor, rope: x",
    ]
    for body in (startup(found, 80, 22), startup(found, 120, 38), speculation(found, 80, 22)):
        text = "\n".join(text_of(row) for row in body)
        assert " ! doctor, t2d: t2d marks 3 ids of 96" in text
