"""Checks on the hidden states that an EAGLE-3 drafter is fed with: the layer ids, their place, their convention."""

from collectors.checks.conventions import capture, default, given, output_convention, read_places
from collectors.checks.findings import ERROR, WARNING, NotApplicable, Trouble
from collectors.checks.pair import Pair, integer

_TOP_LEVEL = (
    "serve from a copy of the drafter's folder (weights linked) whose config.json has "
    '"eagle_aux_hidden_state_layer_ids" at top level: every vLLM from 0.11.1 on reads it there first'
)


def _uses_hidden_states(pair: Pair) -> None:
    if pair.eagle.get("use_aux_hidden_state") is False or pair.target_layers is None:
        raise NotApplicable
    if pair.readable and pair.tensor("fc.weight") is None:
        raise NotApplicable


def _inputs(pair: Pair) -> int | None:
    """How many hidden states `fc` takes."""
    fc = pair.tensor("fc.weight")
    if fc is None or len(fc.shape) != 2 or not pair.target_hidden or fc.shape[1] % pair.target_hidden:
        return None
    return fc.shape[1] // pair.target_hidden


def show(ids: tuple[int, ...]) -> str:
    return "(" + ", ".join(map(str, ids)) + ")"


def aux_range(pair: Pair) -> list[Trouble]:
    _uses_hidden_states(pair)
    assert pair.target_layers is not None
    ids = next(iter(given(pair).values()), None)
    if ids is None:
        raise NotApplicable
    sane = all(0 < i <= pair.target_layers for i in ids) and list(ids) == sorted(set(ids))
    return [] if sane else [
        Trouble(
            ERROR,
            show(ids),
            f"increasing ids between 1 and {pair.target_layers}",
            "an id outside the target is never captured, and fc is then fed with too few hidden states",
            "take the ids from the training configuration",
        )
    ]  # fmt: skip


def aux_count(pair: Pair) -> list[Trouble]:
    """What fc takes, what the engine builds it for, and what it captures: three numbers that must be one."""
    _uses_hidden_states(pair)
    inputs, taken = _inputs(pair), capture(pair)
    if inputs is None or taken is None:
        raise NotApplicable
    built, states = _built(pair), len(taken.ids) if taken.read is not None else inputs
    if built is not None and inputs != built:
        flexible = pair.options.version >= (0, 22)
        return [
            Trouble(
                ERROR,
                f"fc takes {inputs} hidden states",
                f"{built}",
                "fc is built for num_aux_hidden_states, else for the ids in eagle_config, else for 3: the load ends with "
                "`Tried to load weights of size`"
                if flexible
                else "this version builds fc for 3: the load ends with `Tried to load weights of size`",
                f'state "num_aux_hidden_states": {inputs} in the drafter\'s config.json'
                if flexible
                else "serve it with vLLM 0.22 or newer",
            )
        ]
    return [] if states == inputs else [
        Trouble(
            ERROR,
            f"fc takes {inputs} hidden states",
            f"{states}, as many as layers are captured",
            "it starts, and the first request dies in fc (mat1 and mat2 shapes, or an invalid shape)",
            "give as many layer ids as fc was trained with",
        )
    ]  # fmt: skip


def _built(pair: Pair) -> int | None:
    """The hidden states that the engine builds fc for, whatever the weights say; None where that was not read."""
    if pair.options.engine != "vllm":
        return None
    if pair.options.version < (0, 22):
        return 3
    nested = given(pair).get("eagle_config")
    return integer(pair.drafter.config.get("num_aux_hidden_states")) or (len(nested) if nested else 3)


def aux_place(pair: Pair) -> list[Trouble]:
    """Ids that stand where this engine does not look: it takes its default instead, and says nothing."""
    _uses_hidden_states(pair)
    stated, taken = given(pair), capture(pair)
    assert pair.target_layers is not None
    if not stated or taken is None:
        raise NotApplicable
    if taken.read is not None:
        return []
    place, ids = next(iter(stated.items()))
    fallback = default(pair.target_layers)
    looks = " or ".join(read_places(pair)) or "nowhere"
    meant = {ids, tuple(i + 1 for i in ids)} if ids == output_convention(pair.target_layers) else {ids}
    if fallback in meant and len(set(fallback)) == len(fallback):
        return []
    degenerate = len(set(fallback)) < len(fallback) or min(fallback) < 0
    return [
        Trouble(
            ERROR,
            f"{show(ids)} in {place}; this engine reads {looks}",
            f"the default {show(fallback)} it will take",
            "ids that are not read are replaced by the default without a word: 1.2 % acceptance instead of 58.9 % (vllm#50170)"
            + (
                "; here the default does not even name distinct layers, and the first request kills the engine"
                if degenerate
                else ""
            ),
            _TOP_LEVEL,
        )
    ]


def aux_convention(pair: Pair) -> list[Trouble]:
    """Ids in the other convention: every capture one layer off."""
    _uses_hidden_states(pair)
    taken, layers = capture(pair), pair.target_layers
    if taken is None or taken.read is None or layers is None or layers < 8:
        raise NotApplicable
    right = default(layers)
    if taken.read == output_convention(layers) and taken.ids != right:
        made, kind = right, "ids count the layer whose output is meant (SpecForge's convention)"
    elif taken.read == right and taken.ids != right:
        made, kind = right, "ids count the layer before which is captured (vLLM's convention)"
    else:
        return []
    return [
        Trouble(
            ERROR,
            f"this engine will capture layers {show(taken.ids)}",
            f"the drafter was made with {show(made)}",
            f"these {kind}, this engine counts the other way: off by one costs 45 % -> 10 % at position 0 on "
            "MiniMax (vllm#43671), 0.10 of length on Kimi (sglang#25454)",
            f"state {show(tuple(i - (taken.ids[0] - taken.read[0]) for i in made))} for this engine; "
            + _TOP_LEVEL,
        )
    ]


def aux_default(pair: Pair) -> list[Trouble]:
    _uses_hidden_states(pair)
    if given(pair):
        return []
    assert pair.target_layers is not None
    fallback = default(pair.target_layers)
    broken = len(set(fallback)) < len(fallback) or min(fallback) < 0
    return [
        Trouble(
            ERROR if broken else WARNING,
            "no layer ids in the drafter's config",
            f"the ids it was trained with; the engine will guess {show(fallback)}",
            "a wrong guess is silent: 1.2 % acceptance instead of 58.9 % (vllm#50170)",
            "add eagle_aux_hidden_state_layer_ids from the training configuration, at top level",
        )
    ]
