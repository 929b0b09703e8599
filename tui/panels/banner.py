"""What must not be overlooked: a stall and its evidence, a gone recorder, a stranger's socket."""

from collectors.reading.life import LifeState
from tui import format as fmt
from tui.panels.header import stale
from tui.rows import Row, clean, wrap
from tui.view import View

_SOURCES = {"gpu": "GPU readings", "host": "process readings", "metrics": "/metrics", "log": "the log"}


def banner(view: View, width: int, limit: int = 3) -> list[Row]:
    """No rows when all is well; at most `limit`."""
    rows: list[Row] = []
    for sign, style, text in _messages(view):
        for n, line in enumerate(wrap(text, width - 4, 2)):
            rows.append(
                ((f" {sign} " if n == 0 else "   ", style), (line, "plain" if style == "warn" else style))
            )
    return rows[:limit]


def _messages(view: View) -> list[tuple[str, str, str]]:
    life = view.state.life
    found = []
    if view.notice:
        found.append(("▸", "accent", view.notice))
    if view.stalled is not None:
        since = fmt.duration(view.stalled.since_s)
        found.append(
            ("✗", "bad", f"Stalled for {since}: " + "; ".join(clean(e) for e in view.stalled.evidence))
        )
    if life.owner == "other" and not view.ended:
        who = f" (process {life.owner_pid})" if life.owner_pid else ""
        found.append(("✗", "bad", f"Another server{who} answers on this port; this one is not ready."))
    if stale(view) and not view.recorder_lives:
        text = "The recorder is gone: this picture is old. The server is not touched by that."
        found.append(("✗", "bad", text))
    if life.stop_asked_t is not None and not view.ended:
        by = f" by {clean(life.stop_asked_by)}" if life.stop_asked_by else ""
        found.append(("▸", "warn", f"A stop was asked for{by} {fmt.ago(view.t - life.stop_asked_t)} ago."))
    found += [("!", "warn", text) for text in _troubles(life)]
    return found


def _troubles(life: LifeState) -> list[str]:
    """Sources that give nothing; NVML's absence is the GPU panel's to say."""
    return [
        f"No {_SOURCES.get(source, source)}: {clean(error)}"
        for source, error in life.sources.items()
        if source != "gpu"
    ]
