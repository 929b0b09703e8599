"""Checks on widths and shapes: the target's hidden size as the drafter knows it, and each tensor against config.json."""

from collectors.checks.findings import ERROR, NotApplicable, Trouble
from collectors.checks.pair import Pair, integer


def hidden(pair: Pair) -> list[Trouble]:
    """The target's width as the drafter believes it, and fc's own rows."""
    believed = integer(pair.d.get("target_hidden_size")) or pair.hidden
    if believed is None or pair.target_hidden is None:
        raise NotApplicable
    if believed != pair.target_hidden:
        return [
            Trouble(
                ERROR,
                f"drafter made for hidden size {believed}",
                f"the target's {pair.target_hidden}",
                "it does not load; or it starts, answers /health, and the engine dies at the first request (a CPU's "
                "kernels read on past the hidden states instead, and acceptance falls)",
                "use a drafter that was trained on this target",
            )
        ]
    fc = pair.tensor("fc.weight") if pair.readable else None
    if fc is None:
        return []
    if (
        len(fc.shape) == 2
        and fc.shape[0] == pair.hidden
        and fc.shape[1] > 0
        and fc.shape[1] % pair.target_hidden == 0
    ):
        return []
    return [
        Trouble(
            ERROR,
            f"fc.weight {list(fc.shape)}",
            f"[{pair.hidden}, n x {pair.target_hidden}]",
            "fc joins the captured hidden states of the target: its input is a whole number of them",
            "use a drafter that was trained on this target",
        )
    ]


_NORMS = ("hidden_norm.weight", "input_layernorm.weight", "post_attention_layernorm.weight")


def shapes(pair: Pair) -> list[Trouble]:
    if not pair.readable:
        raise NotApplicable
    hidden_size, heads, kv, dim = pair.hidden, pair.heads, pair.kv_heads, pair.head_dim
    inner = integer(pair.d.get("intermediate_size"))
    if None in (hidden_size, heads, kv, dim) or "Deepseek" in pair.architecture:
        raise NotApplicable
    if isinstance(pair.drafter.config.get("quantization_config"), dict):
        raise NotApplicable  # packed weights have shapes of their own
    assert hidden_size
    assert heads
    assert kv
    assert dim
    want = {
        "self_attn.q_proj.weight": (heads * dim, 2 * hidden_size),
        "self_attn.k_proj.weight": (kv * dim, 2 * hidden_size),
        "self_attn.v_proj.weight": (kv * dim, 2 * hidden_size),
        "self_attn.o_proj.weight": (hidden_size, heads * dim),
        "mlp.gate_proj.weight": (inner, hidden_size),
        "mlp.up_proj.weight": (inner, hidden_size),
        "mlp.down_proj.weight": (hidden_size, inner),
        "self_attn.q_proj.bias": (heads * dim,),
        "self_attn.k_proj.bias": (kv * dim,),
        "self_attn.v_proj.bias": (kv * dim,),
        "self_attn.o_proj.bias": (hidden_size,),
        **dict.fromkeys(_NORMS, (hidden_size,)),
    }
    wrong = [
        (name, list(found.shape), list(shape))
        for name, shape in want.items()
        if (found := pair.tensor(f"midlayer.{name}", f"layers.0.{name}"))
        and found.shape != shape
        and None not in shape
    ]
    last = pair.tensor("norm.weight")
    if last is not None and last.shape != (hidden_size,):
        wrong.append(("norm.weight", list(last.shape), [hidden_size]))
    if not wrong:
        return []
    name, found_shape, shape_wanted = wrong[0]
    return [
        Trouble(
            ERROR,
            f"{name} {found_shape}" + (f" and {len(wrong) - 1} more" if wrong[1:] else ""),
            f"{shape_wanted}, from hidden_size, heads, head_dim and intermediate_size",
            "the layer's input is the embedding and the hidden state side by side; other shapes do not load",
            "correct config.json to what was trained (head_dim must be stated where it is not hidden/heads)",
        )
    ]
