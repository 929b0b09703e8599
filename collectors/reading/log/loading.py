"""Effects of the loader's own figures: the checkpoint's size, whose weights were read, what they take, the ranks."""

import re

from msgspec import structs

from collectors.reading.log import phases
from collectors.reading.log.lines import Line
from collectors.reading.log.numbers import number
from collectors.reading.log.state import LogState


def checkpoint(state: LogState, line: Line, match: "re.Match[str]") -> LogState:
    """Printed for the target first, then for the drafter: the first is the one that takes long."""
    size = number(match["gib"])
    if state.checkpoint_gib is not None or size is None:
        return state
    memory = {**state.memory_gib, "checkpoint": size}
    return structs.replace(state, checkpoint_gib=size, filesystem=match["fs"], memory_gib=memory)


# Ranks that print no bar. The one that does (the driver, rank 0, the engine core itself) is done when it says so.
_OTHER_RANKS = re.compile(r"Ray|VllmWorkerProcess|(?:TP|PP|DP|EP|rank=)[1-9]")


def reading_on(state: LogState, line: Line) -> bool:
    """Whether the bar that is shown has shards to go, whatever another rank says: of several nodes or pipeline stages
    one is done before the others."""
    if line.process is None or _OTHER_RANKS.search(line.process) is None:
        return False
    bar = next((bar for bar in reversed(state.bars) if bar.kind == "weights"), None)
    return bar is not None and bar.total is not None and bar.done < bar.total


def weights_read(state: LogState, line: Line, match: "re.Match[str]") -> LogState:
    return state if state.drafting or reading_on(state, line) else phases.enter(state, "post", line)


def model_loaded(state: LogState, line: Line, match: "re.Match[str]") -> LogState:
    """Includes the drafter and the repacking of weights; V0 printed GiB as GB."""
    size = number(match["gib"])
    memory = state.memory_gib if size is None else {**state.memory_gib, "model_weights": size}
    state = structs.replace(state, engine="vllm", memory_gib=memory)
    return state if reading_on(state, line) else phases.enter(state, "profile", line)


def rank_seen(state: LogState, line: Line, match: "re.Match[str]") -> LogState:
    label = line.process or f"rank{match['rank']}"
    if line.pid is not None and len(state.ranks) < 512:
        state = structs.replace(state, ranks={**state.ranks, label: line.pid})
    return structs.replace(state, parallel={**state.parallel, "world": int(match["world"])})
