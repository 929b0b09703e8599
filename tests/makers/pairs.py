"""A healthy target and EAGLE-3 drafter on disk, and sick ones, one fault each; written without torch."""

import array
import json
import shutil
import struct
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

HIDDEN, VOCAB, DRAFT_VOCAB, LAYERS, HEADS, KV, DIM, INNER = 32, 96, 48, 12, 4, 2, 8, 64
Tensors = dict[str, tuple[str, tuple[int, ...], bytes]]


def f32(*shape: int, seed: int = 1) -> tuple[str, tuple[int, ...], bytes]:
    count = 1
    for n in shape:
        count *= n
    values = array.array("f", (((i * 2654435761 + seed * 40503) % 1000) / 1000 - 0.5 for i in range(count)))
    return "F32", shape, values.tobytes()


def i64(values: list[int]) -> tuple[str, tuple[int, ...], bytes]:
    return "I64", (len(values),), array.array("q", values).tobytes()


def flags(marked: set[int], size: int) -> tuple[str, tuple[int, ...], bytes]:
    return "BOOL", (size,), bytes(i in marked for i in range(size))


def write_safetensors(path: Path, tensors: Tensors) -> None:
    header: dict[str, Any] = {}
    at = 0
    for name, (dtype, shape, data) in tensors.items():
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [at, at + len(data)]}
        at += len(data)
    raw = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(raw)) + raw + b"".join(data for _, _, data in tensors.values()))


class Made(NamedTuple):
    target: Path
    drafter: Path
    target_config: dict[str, Any]
    drafter_config: dict[str, Any]
    tensors: Tensors  # the drafter's

    def save(self) -> None:
        (self.target / "config.json").write_text(json.dumps(self.target_config, indent=1))
        (self.drafter / "config.json").write_text(json.dumps(self.drafter_config, indent=1))
        write_safetensors(self.drafter / "model.safetensors", self.tensors)


def healthy(root: Path) -> Made:
    target, drafter = root / "target", root / "eagle3-drafter"
    for folder in (target, drafter):
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
    shared = {
        "hidden_size": HIDDEN,
        "intermediate_size": INNER,
        "num_attention_heads": HEADS,
        "num_key_value_heads": KV,
        "head_dim": DIM,
        "hidden_act": "silu",
        "max_position_embeddings": 4096,
        "rms_norm_eps": 1e-5,
        "rope_theta": 10000.0,
        "vocab_size": VOCAB,
        "torch_dtype": "bfloat16",
        "model_type": "llama",
    }
    target_config = {**shared, "architectures": ["LlamaForCausalLM"], "num_hidden_layers": LAYERS}
    halves: list[Tensors] = [
        {"model.embed_tokens.weight": f32(VOCAB, HIDDEN), "model.norm.weight": f32(HIDDEN)},
        {"lm_head.weight": f32(VOCAB, HIDDEN, seed=5)},
    ]
    weight_map: dict[str, str] = {}
    for i, half in enumerate(halves, 1):
        write_safetensors(target / f"model-0000{i}-of-00002.safetensors", half)
        weight_map |= dict.fromkeys(half, f"model-0000{i}-of-00002.safetensors")
    (target / "model.safetensors.index.json").write_text(json.dumps({"weight_map": weight_map}))
    drafter_config = {
        **shared,
        "architectures": ["LlamaForCausalLMEagle3"],
        "num_hidden_layers": 1,
        "draft_vocab_size": DRAFT_VOCAB,
        "target_hidden_size": HIDDEN,
        "eagle_aux_hidden_state_layer_ids": [2, LAYERS // 2, LAYERS - 3],
        "eagle_config": {"use_aux_hidden_state": True},
    }
    kept = [2 * i for i in range(DRAFT_VOCAB)]
    tensors: Tensors = {
        "d2t": i64([target_id - i for i, target_id in enumerate(kept)]),
        "t2d": flags(set(kept), VOCAB),
        "fc.weight": f32(HIDDEN, 3 * HIDDEN),
        "midlayer.hidden_norm.weight": f32(HIDDEN),
        "midlayer.input_layernorm.weight": f32(HIDDEN),
        "midlayer.post_attention_layernorm.weight": f32(HIDDEN),
        "midlayer.self_attn.q_proj.weight": f32(HEADS * DIM, 2 * HIDDEN),
        "midlayer.self_attn.k_proj.weight": f32(KV * DIM, 2 * HIDDEN),
        "midlayer.self_attn.v_proj.weight": f32(KV * DIM, 2 * HIDDEN),
        "midlayer.self_attn.o_proj.weight": f32(HIDDEN, HEADS * DIM),
        "midlayer.mlp.gate_proj.weight": f32(INNER, HIDDEN),
        "midlayer.mlp.up_proj.weight": f32(INNER, HIDDEN),
        "midlayer.mlp.down_proj.weight": f32(HIDDEN, INNER),
        "norm.weight": f32(HIDDEN),
        "lm_head.weight": f32(DRAFT_VOCAB, HIDDEN),
    }
    made = Made(target, drafter, target_config, drafter_config, tensors)
    made.save()
    return made


class Sick(NamedTuple):
    name: str
    finding: str  # the one id that doctor must name
    severity: str
    spoil: Callable[[Made], object]
    options: Mapping[str, Any] = MappingProxyType({})


def _layer_ids(made: Made, ids: list[int] | None, *, nested: bool = False) -> None:
    del made.drafter_config["eagle_aux_hidden_state_layer_ids"]
    if ids is not None:
        home = made.drafter_config["eagle_config"] if nested else made.drafter_config
        home["eagle_aux_hidden_state_layer_ids"] = ids


def _renamed(made: Made, old: str, new: str) -> None:
    for name in [n for n in made.tensors if n.startswith(old)]:
        made.tensors[new + name.removeprefix(old)] = made.tensors.pop(name)


def _of(made: Made) -> dict[str, Any]:
    return made.drafter_config


SICK: tuple[Sick, ...] = (
    Sick("missing tensor", "names", "error", lambda m: m.tensors.pop("midlayer.self_attn.o_proj.weight")),
    Sick("missing bias", "names", "error", lambda m: _of(m).update(attention_bias=True)),
    Sick("missing hidden norm", "names", "error", lambda m: m.tensors.pop("midlayer.hidden_norm.weight")),
    Sick("names with model.", "names", "error", lambda m: _renamed(m, "", "model.")),
    Sick(
        "a tensor nobody knows", "names", "error", lambda m: m.tensors.update({"frobnicator.weight": f32(4)})
    ),
    Sick("wrong hidden size", "hidden", "error", lambda m: _of(m).update(target_hidden_size=HIDDEN * 2)),
    Sick(
        "fc of another target", "hidden", "error", lambda m: m.tensors.update({"fc.weight": f32(HIDDEN, 100)})
    ),
    Sick(
        "fc for two layers",
        "n-aux",
        "error",
        lambda m: m.tensors.update({"fc.weight": f32(HIDDEN, 2 * HIDDEN)}),
    ),
    Sick("an id beyond the target", "aux-range", "error", lambda m: _layer_ids(m, [2, 6, 40])),
    Sick("ids out of order", "aux-range", "error", lambda m: _layer_ids(m, [6, 2, 9])),
    Sick("nested ids nobody reads", "aux-place", "error", lambda m: _layer_ids(m, [3, 5, 8], nested=True)),
    Sick("output convention", "aux-conv", "error", lambda m: _layer_ids(m, [1, LAYERS // 2 - 1, LAYERS - 4])),
    Sick("no ids", "aux-default", "warning", lambda m: _layer_ids(m, None)),
    Sick("no d2t", "d2t", "error", lambda m: m.tensors.pop("d2t")),
    Sick(
        "absolute d2t",
        "d2t",
        "error",
        lambda m: m.tensors.update(d2t=i64([2 * i for i in range(DRAFT_VOCAB)])),
    ),
    Sick("absolute d2t that fits", "d2t", "error", lambda m: _absolute(m)),
    Sick("absolute d2t, no t2d", "d2t", "warning", lambda m: _absolute(m).tensors.pop("t2d")),
    Sick(
        "d2t past the vocabulary", "d2t", "error", lambda m: m.tensors.update(d2t=i64([VOCAB] * DRAFT_VOCAB))
    ),
    Sick("short d2t", "d2t", "error", lambda m: m.tensors.update(d2t=i64([0] * 7))),
    Sick("all-zero d2t", "vocab-zero", "error", lambda m: m.tensors.update(d2t=i64([0] * DRAFT_VOCAB))),
    Sick("t2d of another run", "t2d", "warning", lambda m: m.tensors.update(t2d=flags({1, 2, 3}, VOCAB))),
    Sick("another vocabulary", "vocab", "error", lambda m: _vocabulary(m, VOCAB + 32)),
    Sick("another vocabulary stated", "vocab", "warning", lambda m: _of(m).update(vocab_size=VOCAB + 32)),
    Sick("no head", "lm-head", "error", lambda m: m.tensors.pop("lm_head.weight")),
    Sick(
        "head of another size",
        "lm-head",
        "error",
        lambda m: m.tensors.update({"lm_head.weight": f32(40, HIDDEN)}),
    ),
    Sick(
        "random embedding",
        "embed",
        "warning",
        lambda m: m.tensors.update({"embed_tokens.weight": f32(VOCAB, HIDDEN, seed=9)}),
    ),
    Sick(
        "embedding cut",
        "embed",
        "error",
        lambda m: m.tensors.update({"embed_tokens.weight": f32(40, HIDDEN)}),
    ),
    Sick("two layers stated", "layers", "error", lambda m: _of(m).update(num_hidden_layers=2)),
    Sick(
        "norm without flag", "flags", "error", lambda m: m.tensors.update({"fc_norm.0.weight": f32(HIDDEN)})
    ),
    Sick("flag without norm", "flags", "error", lambda m: _of(m).update(norm_before_fc=True)),
    Sick(
        "no hidden states, but fc",
        "use_aux",
        "error",
        lambda m: _of(m)["eagle_config"].update(use_aux_hidden_state=False),
    ),
    Sick("wrong MLP width", "shapes", "error", lambda m: _of(m).update(intermediate_size=INNER * 2)),
    Sick("rope theta lost", "rope", "warning", lambda m: _of(m).update(rope_theta=500000.0)),
    Sick("context too short", "ctx", "error", lambda m: _of(m).update(max_position_embeddings=2048)),
    Sick("context shorter", "ctx", "warning", lambda m: _of(m).update(max_position_embeddings=3072)),
    Sick("odd epsilon", "rms/act", "info", lambda m: _of(m).update(rms_norm_eps=0.5)),
    Sick("float16 on bfloat16", "dtype", "warning", lambda m: _of(m).update(torch_dtype="float16")),
    Sick("heads over TP", "tp", "error", lambda m: None, {"tp": 8}),
    Sick("long drafts", "K", "info", lambda m: None, {"k": 12}),
    Sick(
        "quantised drafter",
        "quant",
        "info",
        lambda m: _of(m).update(quantization_config={"quant_method": "fp8"}),
    ),
    Sick(
        "unknown architecture",
        "arch-known",
        "error",
        lambda m: _of(m).update(architectures=["FrobnicatorEagle3"]),
    ),
    Sick("method unstated", "method", "warning", lambda m: None, {"method": "eagle"}),
    Sick("card of another target", "pairing", "warning", lambda m: _card(m)),
    Sick(
        "target not on the list", "target-supported", "error", lambda m: _deepseek(m), {"version": (0, 16, 0)}
    ),
    Sick(
        "rotated target",
        "target-lm",
        "error",
        lambda m: m.target_config.update(quantization_config={"quant_method": "quarot"}),
    ),
    Sick("cut file", "files", "error", lambda m: _cut(m.drafter / "model.safetensors")),
    Sick(
        "missing shard", "files", "error", lambda m: (m.target / "model-00002-of-00002.safetensors").unlink()
    ),
    Sick(
        "header of 2^60 bytes",
        "files",
        "error",
        lambda m: _huge_header(m.target / "model-00001-of-00002.safetensors"),
    ),
)


def _vocabulary(made: Made, size: int) -> None:
    made.drafter_config["vocab_size"] = size
    made.tensors["t2d"] = flags({2 * i for i in range(DRAFT_VOCAB)}, size)


def _absolute(made: Made) -> Made:
    """Ids so low that, taken for offsets, they still rise and stay inside the vocabulary."""
    draft = VOCAB // 3
    made.drafter_config["draft_vocab_size"] = draft
    kept = [2 * i for i in range(draft)]
    made.tensors.update(
        {"d2t": i64(kept), "t2d": flags(set(kept), VOCAB), "lm_head.weight": f32(draft, HIDDEN)}
    )
    return made


def _card(made: Made) -> None:
    made.target_config["_name_or_path"] = "moonshotai/Kimi-K2.5"
    (made.drafter / "README.md").write_text(
        "---\nbase_model: moonshotai/Kimi-K2-Instruct\n---\n# a drafter\n"
    )


def _deepseek(made: Made) -> None:
    made.target_config["model_type"] = "deepseek_v3"


def _cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-100])


def _huge_header(path: Path) -> None:
    path.write_bytes(struct.pack("<Q", 1 << 60) + path.read_bytes()[8:])


def make(root: Path, sick: Sick) -> Made:
    made = healthy(root)
    sick.spoil(made)
    if sick.finding != "files":
        made.save()
    return made


def all_sick(root: Path) -> Iterator[tuple[Sick, Made]]:
    for i, sick in enumerate(SICK):
        yield sick, make(root / f"{i:02d}", sick)
