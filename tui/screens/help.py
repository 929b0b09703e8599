"""Help: what the keys do, what the numbers mean."""

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.screen import ModalScreen

from tui import keys
from tui.page import Page
from tui.rows import Row, left, wrap

MEANINGS = (
    ("acceptance", "Accepted draft tokens / drafted tokens. Of the window that is named beside it."),
    ("mean length", "1 + accepted / drafts: tokens a step yields, the target's own (bonus) token included."),
    (
        "pos 0, 1, …",
        "Share of drafts whose token at this position was accepted; positions count from 0, as vLLM's.",
    ),
    ("if 0 was", "The same, of those drafts only whose position before it was accepted."),
    ("tok/s", "Generated tokens a second while requests ran; idle time is not counted."),
    ("step", "Mean time between two outputs of a request: one step of the engine, drafting included."),
    ("TTFT", "Mean time from a request's arrival to its first token."),
    ("KV", "Share of the KV cache in use, of the fullest engine."),
    (
        "ready in ~",
        "Median of earlier starts of this launch (n of them), else bytes read, else the bar's pace.",
    ),
    ("GiB/min", "Growth of a GPU's memory over the last 30 s. Behind: less than 85 % of the others' median."),
    ("cache", "Share of the bytes read that came from the page cache, not from storage."),
    ("—", "Unknown. It is never written as 0."),
)


class HelpScreen(ModalScreen[None]):
    CSS_PATH = "help.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,question_mark,f1,enter,ctrl+c", "dismiss", show=False),
        Binding("down,j,space,pagedown", "scroll_rows(8)", show=False),
        Binding("up,k,pageup", "scroll_rows(-8)", show=False),
    ]

    def __init__(self, mode: str) -> None:
        super().__init__()
        self._mode = mode
        self._top = 0
        self._last = 0

    def compose(self) -> ComposeResult:
        yield Page(self._draw_help, id="help")

    def on_mount(self) -> None:
        self.query_one(Page).show()

    def action_scroll_rows(self, by: int) -> None:
        self._top = max(0, min(self._last, self._top + by))
        self.query_one(Page).show()

    def _draw_help(self, width: int, height: int) -> list[Row]:
        rows = help_rows(self._mode, width)
        self._last = max(0, len(rows) - height + 1)
        more = " ↓ more" if self._top < self._last else ""
        foot: Row = ((" Esc", "key"), (" back  ", "muted"), ("↑ ↓", "key"), (f" scroll {more}", "muted"))
        return [*rows[self._top : self._top + height - 1], foot]


def help_rows(mode: str, width: int) -> list[Row]:
    rows: list[Row] = [((" Keys", "title"),)]
    for key in keys.of_screen(mode):
        rows += _entry(key.shown, key.help, "key", width)
    rows += [(), ((" What the numbers mean", "title"),)]
    for name, meaning in MEANINGS:
        rows += _entry(name, meaning, "strong", width)
    return rows


def _entry(name: str, text: str, style: str, width: int) -> list[Row]:
    lines = wrap(text, max(10, width - 16))
    first: Row = ((" " + left(name, 13) + " ", style), (lines[0], "plain"))
    return [first, *[((" " * 15 + line, "plain"),) for line in lines[1:]]]
