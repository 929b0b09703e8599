"""Checks on the drafter's tensors: files, names, shapes, and the flags that must go with them."""

import re

from collectors.checks.findings import ERROR, INFO, NotApplicable, Trouble
from collectors.checks.pair import Pair, integer

_LAYER = re.compile(r"(?:^|\.)(?:midlayer|layers\.(\d+))\.")
_KNOWN = re.compile(
    r"(?:^|\.)(?:(?:midlayer|layers\.\d+)\..+|(?:fc|norm|fc_norm|input_norm|lm_head|embed_tokens)(?:\.\d+)?\.\w+|d2t|t2d|"
    r"mask_hidden|verifier_lm_head\.weight|verifier_norm\.weight|rotary_emb\.inv_freq)$"
)


def files(pair: Pair) -> list[Trouble]:
    troubles = []
    for who, checkpoint in (("target", pair.target), ("drafter", pair.drafter)):
        for sentence in checkpoint.broken[:5]:
            troubles.append(
                Trouble(
                    ERROR,
                    f"{who}: {sentence}",
                    "complete safetensors files, as long as their headers say",
                    "the load stops at this file, however far it has come",
                    "copy or download that file again",
                )
            )
        if checkpoint.weights == "none" and not checkpoint.broken:
            troubles.append(
                Trouble(
                    ERROR,
                    f"{who}: no weights",
                    "*.safetensors",
                    "there is nothing to load",
                    "download the weights",
                )
            )
    if pair.drafter.weights == "bin":
        troubles.append(
            Trouble(
                INFO,
                "drafter: weights as *.bin or *.pt",
                "*.safetensors",
                "only torch can read those: names, shapes, d2t and the head were not checked",
                "convert them to safetensors and run doctor again",
            )
        )
    return troubles


def _readable(pair: Pair) -> None:
    if not pair.readable:
        raise NotApplicable


def names(pair: Pair) -> list[Trouble]:
    """Tensors that the loader cannot place, and ones that it will not miss: it leaves those uninitialised."""
    _readable(pair)
    prefixed = [n for n in pair.drafter.tensors if n.startswith("model.")]
    if prefixed:
        return [
            Trouble(
                ERROR,
                prefixed[0] + (f" and {len(prefixed) - 1} more" if prefixed[1:] else ""),
                "names without `model.` in front",
                "the loader adds `model.` itself: `model.model.` is a KeyError at load",
                "rename the tensors",
            )
        ]
    troubles = []
    strange = [n for n in pair.drafter.tensors if not _KNOWN.search(n)]
    if strange:
        troubles.append(
            Trouble(
                ERROR,
                ", ".join(strange[:3]),
                "midlayer.* or layers.0.*, fc, norm, lm_head, d2t, t2d",
                "the loader knows no place for it: a KeyError at load",
                "remove it, or rename it as the engine's EAGLE-3 model does",
            )
        )
    missing = _missing(pair)
    if missing:
        troubles.append(
            Trouble(
                ERROR,
                "missing: "
                + ", ".join(missing[:4])
                + (f" and {len(missing) - 4} more" if missing[4:] else ""),
                "every tensor that the configuration describes",
                "vLLM does not complain: the parameter keeps uninitialised memory, and acceptance is about 0",
                "export the drafter again, or correct the flag that asks for it (attention_bias, mlp_bias)",
            )
        )
    return troubles


def _missing(pair: Pair) -> list[str]:
    """Names that the configuration asks for. Quantised weights (weight_packed, qweight) stand for a weight."""
    if "Deepseek" in pair.architecture or pair.architecture in ("", "PEagleDraftModel"):
        return []
    have = pair.drafter.tensors
    layers = sorted({m[0].strip(".") for n in have if (m := _LAYER.search(n))}) or ["midlayer"]
    wanted = ["norm.weight"]
    for layer in layers[:1]:
        parts = [f"self_attn.{p}_proj" for p in "qkvo"] + [f"mlp.{p}_proj" for p in ("gate", "up", "down")]
        wanted += [f"{layer}.{p}.weight" for p in parts]
        wanted += [
            f"{layer}.{n}.weight" for n in ("input_layernorm", "post_attention_layernorm", "hidden_norm")
        ]
        if pair.d.get("attention_bias") is True:
            wanted += [f"{layer}.self_attn.{p}_proj.bias" for p in "qkvo"]
        if pair.d.get("mlp_bias") is True:
            wanted += [f"{layer}.mlp.{p}_proj.bias" for p in ("gate", "up", "down")]
    if pair.eagle.get("use_aux_hidden_state") is not False:
        wanted.append("fc.weight")
    fused = {"q": "qkv", "k": "qkv", "v": "qkv", "gate": "gate_up", "up": "gate_up"}

    def there(name: str) -> bool:
        stem, _, kind = name.rpartition(".")
        joined = re.sub(r"\.(q|k|v|gate|up)_proj$", lambda m: f".{fused[m[1]]}_proj", stem)
        kinds = ("weight", "weight_packed", "qweight", "weight_scale") if kind == "weight" else (kind,)
        return any(pair.tensor(f"{s}.{k}") is not None for s in {stem, joined} for k in kinds)

    return [name for name in wanted if not there(name)]


def layers(pair: Pair) -> list[Trouble]:
    _readable(pair)
    stated = integer(pair.d.get("num_hidden_layers"))
    found = {m[1] or "0" for n in pair.drafter.tensors if (m := _LAYER.search(n))}
    if stated is None or not found:
        raise NotApplicable
    return [] if stated == len(found) else [
        Trouble(
            ERROR,
            f"{len(found)} layer{'s' if len(found) > 1 else ''} in the checkpoint",
            f"num_hidden_layers = {stated}",
            "a layer without weights stays uninitialised; one without a place does not load",
            "set num_hidden_layers to the layers that are there",
        )
    ]  # fmt: skip


def flags(pair: Pair) -> list[Trouble]:
    """fc_norm / input_norm tensors go with a flag, and both with an engine that knows them."""
    _readable(pair)
    version, vllm = pair.options.version, pair.options.engine == "vllm"
    has_norm = any(re.search(r"(^|\.)(fc_norm|input_norm)\.", n) for n in pair.drafter.tensors)
    flagged = [f for f in ("fc_norm", "norm_before_fc") if pair.d.get(f) or pair.eagle.get(f)]
    need = {"norm_before_fc": (0, 18), "fc_norm": (0, 22), "norm_output": (0, 22)}
    unknown = [f for f in need if (pair.d.get(f) or pair.eagle.get(f)) and vllm and version < need[f]]
    if has_norm != bool(flagged):
        return [
            Trouble(
                ERROR,
                "fc_norm / input_norm tensors" if has_norm else f"the flag {flagged[0]} without its tensors",
                "the tensors and their flag (fc_norm, norm_before_fc) together",
                "a norm that is trained and not applied, or applied and not trained, degrades every draft (vllm#38111)",
                "set the flag as in the training configuration",
            )
        ]
    if unknown:
        known = ".".join(map(str, need[unknown[0]]))
        return [
            Trouble(
                ERROR,
                f"{unknown[0]} on vLLM {'.'.join(map(str, version))}",
                f"vLLM {known} or newer",
                "this version does not read the flag and drafts without that norm",
                f"serve it with vLLM {known} or newer",
            )
        ]
    return []


def use_aux(pair: Pair) -> list[Trouble]:
    _readable(pair)
    if pair.eagle.get("use_aux_hidden_state") is not False:
        return []
    return [] if pair.tensor("fc.weight") is None else [
        Trouble(
            ERROR,
            "use_aux_hidden_state is false, fc.weight is there",
            "true with fc, or false without",
            "the engine would feed one hidden state to a drafter that was trained on several",
            "set use_aux_hidden_state to true",
        )
    ]  # fmt: skip


def quantisation(pair: Pair) -> list[Trouble]:
    quant = pair.drafter.config.get("quantization_config")
    if not isinstance(quant, dict):
        return []
    return [
        Trouble(
            INFO,
            f"the drafter is quantised ({quant.get('quant_method', 'method not stated')})",
            "an engine that reads the drafter's own quantization_config",
            "vLLM takes it from the drafter's config; older versions applied the target's",
            "check the load line, or serve the drafter in bf16: it is small",
        )
    ]


def rotated_target(pair: Pair) -> list[Trouble]:
    """A rotated target's embedding is not the one that the drafter was trained on."""
    quant = pair.target.config.get("quantization_config")
    text = str(quant).lower() if isinstance(quant, dict) else ""
    if not re.search(r"quarot|rotation|hadamard", text) or pair.tensor("embed_tokens.weight") is not None:
        return []
    return [
        Trouble(
            ERROR,
            "a rotated target (QuaRot) and a shared embedding",
            "the drafter's own, unrotated embed_tokens",
            "the shared embedding is in the rotated basis: length 1.07, .07 -> .74 at position 0 when mended (vllm-ascend#7038)",
            "ship the original embed_tokens with the drafter",
        )
    ]
