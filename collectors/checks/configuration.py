"""Checks on the two config.json: architecture, support of the engine version, positions, RoPE, dtype, TP, K, pairing."""

import re

from collectors.checks.findings import ERROR, INFO, WARNING, NotApplicable, Trouble
from collectors.checks.pair import Pair, integer

_LLAMA = (
    "LlamaForCausalLMEagle3",
    "Eagle3LlamaForCausalLM",
    "Eagle3Speculator",
    "Eagle3DraftModel",
    "SpeculatorModel",
)
# Drafter architectures and the first vLLM read that has them (model_executor/models/registry.py).
ARCHITECTURES: dict[str, tuple[int, ...]] = dict.fromkeys(_LLAMA, (0, 8)) | {
    "Eagle3DeepseekV2ForCausalLM": (0, 18),
    "Eagle3DeepseekV3ForCausalLM": (0, 18),
    "Eagle3MiniMaxM2ForCausalLM": (0, 22),
    "Eagle3Qwen2_5vlForCausalLM": (0, 11, 1),
    "Eagle3Qwen3vlForCausalLM": (0, 12),
    "Eagle3Qwen3ForCausalLM": (0, 22),
    "PEagleDraftModel": (0, 22),
    "PeagleLlamaForCausalLM": (0, 22),
    "PeagleQwen3ForCausalLM": (0, 22),
}
_WHITELIST = ("llama", "qwen", "minicpm", "gpt_oss", "hunyuan_vl", "hunyuan_v1_dense", "afmoe")
_SINCE_18 = (*_WHITELIST, "deepseek_v2", "deepseek_v3", "kimi_k2", "kimi_k25")
_SINCE_19 = (*_SINCE_18, "minimax_m2", "gemma4")


def _version(pair: Pair) -> str:
    return f"vLLM {'.'.join(map(str, pair.options.version))}"


def _on_vllm(pair: Pair) -> tuple[int, ...]:
    if pair.options.engine != "vllm":
        raise NotApplicable
    return pair.options.version


def architecture(pair: Pair) -> list[Trouble]:
    version = _on_vllm(pair)
    name = pair.architecture
    # vLLM puts `Eagle3` before a plain name (transformers_utils/configs/eagle.py): most published drafters say
    # `LlamaForCausalLM`.
    since = ARCHITECTURES.get(name) or ARCHITECTURES.get(f"Eagle3{name}")
    if "transformer_layer_config" in pair.drafter.config and since == (0, 8):
        since = (0, 10, 1)  # the speculators format
    if since is not None and version >= since:
        return []
    return [
        Trouble(
            ERROR,
            name or "no architecture",
            "one that this version knows" if since is None else f"vLLM {'.'.join(map(str, since))} or newer",
            f"{_version(pair)} cannot build it: the start ends before any weight is read",
            "LlamaForCausalLMEagle3 is the usual EAGLE-3 drafter"
            if since is None
            else "serve it with a newer vLLM",
        )
    ]


def method(pair: Pair) -> list[Trouble]:
    """Without a stated method vLLM looks for "eagle-" and "eagle3" in the drafter's path."""
    _on_vllm(pair)
    path = str(pair.drafter.path).lower()
    if pair.options.method == "eagle3" or (
        pair.options.method is None and "eagle3" in path and "eagle-" not in path
    ):
        return []
    return [
        Trouble(
            WARNING,
            f"method {pair.options.method}"
            if pair.options.method
            else "no method, and a path that does not say eagle3",
            '"method": "eagle3"',
            "vLLM guesses the method from the path's letters, `eagle-` before `eagle3`",
            'put "method": "eagle3" into --speculative-config',
        )
    ]


def target_supported(pair: Pair) -> list[Trouble]:
    version = _on_vllm(pair)
    kind = str(pair.t.get("model_type", ""))
    if version >= (0, 22):
        return []  # no list any more: the model class itself says
    names: tuple[str, ...] = (
        ("llama",) if version < (0, 10) else _WHITELIST if version < (0, 18) else _SINCE_18
    )
    names = _SINCE_19 if version >= (0, 19, 1) else names
    if any(name in kind for name in names) or "eagle3" in pair.options.patches:
        return []
    curable = kind.startswith(("deepseek", "kimi")) and version >= (0, 10)
    return [
        Trouble(
            ERROR,
            f"target of type {kind or 'unknown'}",
            f"one of {', '.join(names)}",
            f"{_version(pair)} refuses EAGLE-3 for other targets",
            "launch with `--patch eagle3`, or serve with vLLM 0.18 or newer"
            if curable
            else "serve with vLLM 0.22 or newer",
        )
    ]


def multimodal_target(pair: Pair) -> list[Trouble]:
    version = _on_vllm(pair)
    if "text_config" not in pair.target.config:
        raise NotApplicable
    kimi = str(pair.target.config.get("model_type", "")).startswith("kimi_k25")
    if not kimi or version >= (0, 18) or "eagle3" in pair.options.patches:
        return []
    return [
        Trouble(
            ERROR,
            "a multimodal target without image_token_index",
            "vLLM 0.18 or newer, or the patch",
            "this version asks every multimodal target for that attribute: AttributeError after the weights are loaded",
            "launch with `--patch eagle3`",
        )
    ]


def rope(pair: Pair) -> list[Trouble]:
    ours, theirs = _rope(pair.d), _rope(pair.t)
    if ours == theirs or None in (ours[0], theirs[0]):
        return []
    return [
        Trouble(
            INFO if pair.mla else WARNING,
            f"rope_theta {ours[0]}, scaling {ours[1] or 'none'}",
            f"the target's {theirs[0]}, {theirs[1] or 'none'}",
            "it may differ for an MLA target; else a lost setting costs 0.1-0.2 of length, more at long context (speculators#574)",
            "compare with the training configuration",
        )
    ]


def _rope(config: dict[str, object]) -> tuple[object, object]:
    nested = config.get("rope_parameters")
    scaling = nested if isinstance(nested, dict) else config.get("rope_scaling")
    kind = (scaling.get("rope_type") or scaling.get("type")) if isinstance(scaling, dict) else None
    theta = config.get("rope_theta") or (nested.get("rope_theta") if isinstance(nested, dict) else None)
    return (float(theta) if isinstance(theta, int | float) else None), (None if kind == "default" else kind)


def context(pair: Pair) -> list[Trouble]:
    ours = integer(pair.d.get("max_position_embeddings"))
    served = pair.options.max_model_len or integer(pair.t.get("max_position_embeddings"))
    if ours is None or served is None:
        raise NotApplicable
    if ours >= served:
        return []
    return [
        Trouble(
            ERROR if ours <= 2048 else WARNING,
            f"drafter max_position_embeddings {ours:,}",
            f"{served:,}, the served context",
            "past it, drafts are skipped for the whole batch, or the position index asserts (vllm#48894, #21986)",
            f"serve with --max-model-len {ours}, or raise the value if the drafter was trained for it",
        )
    ]


def norm_and_activation(pair: Pair) -> list[Trouble]:
    eps, act = pair.d.get("rms_norm_eps"), pair.d.get("hidden_act")
    odd = [f"rms_norm_eps {eps}"] if isinstance(eps, float) and not 1e-8 <= eps <= 1e-3 else []
    odd += (
        [f"hidden_act {act}"]
        if act is not None and act not in ("silu", "gelu", "gelu_pytorch_tanh", "swiglu")
        else []
    )
    if not odd:
        return []
    return [
        Trouble(
            INFO,
            ", ".join(odd),
            "1e-8 … 1e-3; silu",
            "an unusual value is usually a slip of the export",
            "check it",
        )
    ]


def dtype(pair: Pair) -> list[Trouble]:
    ours = pair.d.get("torch_dtype") or pair.d.get("dtype")
    served = pair.options.dtype or pair.t.get("torch_dtype") or pair.t.get("dtype")
    if not isinstance(ours, str) or not isinstance(served, str) or served == "auto":
        raise NotApplicable
    if ours == served or "float32" in (ours, served):
        return []
    return [
        Trouble(
            WARNING,
            f"drafter {ours}",
            f"served in {served}",
            "the drafter runs in the target's dtype: float16 weights lose bits in bfloat16, and the other way overflow",
            "export the drafter in the served dtype",
        )
    ]


def tensor_parallel(pair: Pair) -> list[Trouble]:
    tp, heads, kv = pair.options.tp, pair.heads, pair.kv_heads
    draft_tp = pair.options.draft_tp or tp
    if heads is None or kv is None:
        raise NotApplicable
    if draft_tp not in (1, tp):
        return [
            Trouble(
                ERROR,
                f"draft_tensor_parallel_size {draft_tp}",
                f"1 or {tp}",
                "the engine takes no other",
                f"set it to 1 or {tp}",
            )
        ]
    if heads % draft_tp == 0 and (kv % draft_tp == 0 or draft_tp % kv == 0):
        return []
    return [
        Trouble(
            ERROR,
            f"{heads} heads, {kv} KV heads over TP {draft_tp}",
            "heads divisible by TP; KV heads divisible by TP, or TP by them",
            "the drafter's attention cannot be split so: the start ends with an assertion",
            '"draft_tensor_parallel_size": 1 in --speculative-config',
        )
    ]


def draft_length(pair: Pair) -> list[Trouble]:
    k = pair.options.k
    if k is None or k <= 7:
        return []
    return [
        Trouble(
            INFO,
            f"num_speculative_tokens {k}",
            "3 … 7, as EAGLE-3 drafters are trained for",
            "later positions are rarely accepted, and every one is verified",
            "start with 3 and read the acceptance per position",
        )
    ]


def pairing(pair: Pair) -> list[Trouble]:
    """The model card's base_model against the target's name."""
    try:
        card = (pair.drafter.path / "README.md").read_bytes()[:20_000].decode(errors="replace")
    except OSError:
        raise NotApplicable from None
    stated = re.search(r"^base_model:\s*(?:\n\s*-\s*)?[\"']?([\w./-]+)", card, re.M)
    own = str(pair.target.config.get("_name_or_path") or pair.target.path.resolve().name)
    if stated is None or not re.search(r"\d", own):
        raise NotApplicable
    if _family(stated[1]) in _family(own) or _family(own) in _family(stated[1]):
        return []
    return [
        Trouble(
            WARNING,
            f"the drafter's card names {stated[1]}",
            own,
            "a drafter for another target is accepted little and evenly less by position; nothing refuses it",
            "use the drafter that was trained on this target",
        )
    ]


def _family(name: str) -> str:
    """`moonshotai/Kimi-K2.5-w4a8` -> `kimik25`: the name without owner, signs and quantisation."""
    name = name.rstrip("/").split("/")[-1].lower()
    name = re.sub(r"[-_.](?:fp8|nvfp4|mxfp4|int[48]|w\d+a\d+|awq|gptq|bf16|fp16|quantized.*)$", "", name)
    return re.sub(r"[^a-z0-9]", "", name)
