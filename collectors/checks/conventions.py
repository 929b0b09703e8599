"""What each engine version reads of a drafter's layer ids, and which hidden states it then captures.

Capture index j is the residual stream entering layer j, the output of layer j-1. Two conventions are in use: "before
layer" (vLLM, speculators; default 2, n//2, n-3) and "output of layer" (SpecForge; default 1, n//2-1, n-4). Both
defaults mean the same hidden states. Read in the sources of vLLM 0.8-0.33 and SGLang 0.4.6-0.5.23.
"""

from msgspec import Struct

from collectors.checks.pair import Pair

NEWEST = {"vllm": (0, 33, 0), "sglang": (0, 5, 23)}
KEY = "eagle_aux_hidden_state_layer_ids"


class Capture(Struct, frozen=True):
    ids: tuple[int, ...]  # as capture indexes
    read: tuple[int, ...] | None  # the ids taken from the configuration; None: the engine's default
    place: str  # "top level", "eagle_config", "default"


def given(pair: Pair) -> dict[str, tuple[int, ...]]:
    """The layer ids that the drafter's configuration states, by place."""
    places = {
        "top level": pair.drafter.config.get(KEY),
        "eagle_config": pair.eagle.get(KEY),
        "eagle_config.layer_ids": pair.eagle.get("layer_ids"),
    }
    return {
        place: tuple(ids)
        for place, ids in places.items()
        if isinstance(ids, list) and all(isinstance(i, int) for i in ids)
    }


def default(layers: int) -> tuple[int, ...]:
    return (2, layers // 2, layers - 3)


def output_convention(layers: int) -> tuple[int, ...]:
    return (1, layers // 2 - 1, layers - 4)


def read_places(pair: Pair) -> tuple[str, ...]:
    """Where this engine version looks, in its order."""
    version = pair.options.version
    if pair.options.engine == "sglang":
        return ("eagle_config",)
    if version < (0, 11, 1):
        return ()
    if version < (0, 22):
        return ("top level",)
    if pair.options.runner == "v2":
        return ("top level", "eagle_config.layer_ids")
    return ("top level", "eagle_config")


def capture(pair: Pair) -> Capture | None:
    """What the engine will capture; None when the target's number of layers is unknown."""
    if pair.target_layers is None:
        return None
    ids = given(pair)
    place = next((place for place in read_places(pair) if place in ids), None)
    if place is None:
        return Capture(default(pair.target_layers), None, "default")
    shift = 1 if pair.options.engine == "sglang" and _sglang_shifts(pair, ids[place]) else 0
    return Capture(tuple(i + shift for i in ids[place]), ids[place], place)


def _sglang_shifts(pair: Pair, ids: tuple[int, ...]) -> bool:
    """+1 for all, but DeepSeek and Kimi from 0.5.15 on only where the first id is 1 (sglang#25454)."""
    family = str(pair.t.get("model_type", "")).startswith(("deepseek", "kimi"))
    return not family or pair.options.version < (0, 5, 15) or ids[:1] == (1,)


def parse_version(text: str) -> tuple[int, ...]:
    """ "0.16.0+cpu" -> (0, 16, 0); "0.5.6.post2" -> (0, 5, 6). Raises ValueError."""
    numbers: list[int] = []
    for part in text.strip().lstrip("v").split("+")[0].split("."):
        if not part.isdigit():
            break
        numbers.append(int(part))
    if len(numbers) < 2:
        raise ValueError(text)
    return tuple(numbers)
