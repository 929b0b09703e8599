"""How a screen's blocks share its height: what matters less gives way first, the last takes the rest."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from tui.rows import Row


class Block(NamedTuple):
    """Rows that stand or fall together. The block with the highest `rank` is the first to go."""

    rank: int
    rows: Sequence[Row]


def pile(
    blocks: Sequence[Block],
    height: int,
    rest: Callable[[int], Sequence[Row]] | None = None,
    rest_min: int = 3,
    airy: bool = True,
) -> list[Row]:
    """At most `height` rows. `rest(n)` draws the n rows left over, if possible at least `rest_min`.

    Where there is room for it, an empty row stands between the blocks (`airy`).
    """
    kept = [block for block in blocks if block.rows]
    wanted = rest_min if rest is not None else 0
    while kept and sum(len(block.rows) for block in kept) + wanted > height:
        worst = max(kept, key=lambda block: block.rank)
        if worst.rank == 0:
            break
        kept.remove(worst)
    used = sum(len(block.rows) for block in kept)
    gaps = airy and used + len(kept) + max(wanted, 6 if rest else 0) <= height
    rows: list[Row] = []
    for block in kept:
        rows += block.rows
        if gaps:
            rows.append(())
    if rest is not None and height > len(rows):
        rows += rest(height - len(rows))
    return rows[:height]
