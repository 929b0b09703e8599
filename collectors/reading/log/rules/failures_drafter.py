"""Failures of speculative decoding's settings, the three EAGLE-3 refusals of older versions among them."""

from collectors.reading.log.rules.failure import Failure

_EAGLE3 = "relaunch with `launch --patch eagle3` (it adds what this version lacks), or use vLLM 0.18 or newer"

DRAFTER = (
    Failure(
        "eagle3-target-refused",
        "only supported for",
        r"[Ee]agle3 is only supported for (?P<list>\[.*?\]|Llama)\s*models"
        r"(?:\.\s+Got .*?model_type='?(?P<type>\w+))?",
        "This vLLM refuses an EAGLE-3 drafter for a target of type {type}.",
        hint=_EAGLE3,
        weight=95,
        examples=(
            "  Value error, Eagle3 is only supported for ['llama', 'qwen', 'minicpm', 'gpt_oss', "
            "'hunyuan_vl', "
            "'hunyuan_v1_dense', 'afmoe'] models. Got "
            "self.target_model_config.hf_text_config.model_type='kimi_k2' "
            "[type=value_error, input_value=ArgsKwargs((), {'method':...",
            "ValueError: Eagle3 is only supported for Llama models. Got "
            "self.target_model_config.hf_text_config",
        ),
    ),
    Failure(
        "eagle3-no-interface",
        "EAGLE3 interface",
        r"Model does not support EAGLE3 interface",
        "The target's class cannot hand its inner hidden states to an EAGLE-3 drafter in this version.",
        hint=_EAGLE3,
        weight=95,
        examples=(
            "RuntimeError: Model does not support EAGLE3 interface but aux_hidden_state_outputs was "
            "requested",
        ),
    ),
    Failure(
        "eagle3-image-token",
        "image_token_index",
        r"'(?P<cls>\w+)' object has no attribute 'image_token_index'",
        "The drafter's loader looks for an image token that {cls} does not name.",
        hint=_EAGLE3,
        weight=95,
        examples=("AttributeError: 'KimiK25Config' object has no attribute 'image_token_index'",),
    ),
    Failure(
        "drafter-config",
        ("peculative", "num_speculative_tokens", "draft model", "draft_"),
        r"(?P<what>num_speculative_tokens[^.\n\[]{5,160}|[Ss]peculative "
        r"(?:decoding|model|config)[^.\n\[]{5,160}"
        r"|draft_tensor_parallel_size[^.\n\[]{5,160}|draft "
        r"model[^.\n\[]{5,120}(?:required|must|should|not)[^.\n\[]*)",
        "The speculative-decoding settings are refused: {what}.",
        hint="check --speculative-config; `doctor TARGET DRAFTER` checks the pair",
        weight=70,
        unless=r"SpeculativeConfig$|for SpeculativeConfig|unrecognized arguments|cannot be converted",
        examples=(
            "  Value error, num_speculative_tokens must be greater than zero, but got 0. [type=value_error",
        ),
    ),
    Failure(
        "drafter-class",
        "Eagle3LlamaForCausalLM",
        r"assert isinstance\(.*Eagle3LlamaForCausalLM",
        "This version runs EAGLE-3 with drafters of the Llama kind only.",
        hint="MLA drafters (Eagle3Deepseek…) need vLLM 0.18 or newer",
        weight=90,
        examples=("AssertionError: assert isinstance(self.model, Eagle3LlamaForCausalLM)",),
    ),
)
