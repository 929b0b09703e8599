"""vLLM <= 0.17 asks a multimodal target's configuration for `image_token_index`; Kimi-K2.5 names it otherwise."""

import importlib.util

from .running import MARK

MODULE = "vllm.transformers_utils.configs.kimi_k25"
_PROPOSERS = (
    "vllm.v1.spec_decode.llm_base_proposer",
    "vllm.v1.spec_decode.eagle",
    "vllm.v1.worker.gpu.spec_decode.eagle.speculator",
)


def patch(module):
    config = module.KimiK25Config
    if MARK in config.__dict__:
        return "already", {}
    if any(map(_names_kimi, _PROPOSERS)):
        return "native", {"reason": "the proposer knows Kimi-K2.5"}
    if hasattr(config, "image_token_index"):
        return "native", {"reason": "the configuration has it"}
    # A property survives deepcopy and pickle, and stays out of to_dict().
    config.image_token_index = property(lambda self: self.media_placeholder_token_id)
    setattr(config, MARK, True)
    return "applied", {}


def _names_kimi(proposer):
    """Read as text: importing the proposer costs the API process seconds."""
    try:
        spec = importlib.util.find_spec(proposer)
    except (ImportError, ValueError):
        return False
    if spec is None or not spec.origin:
        return False
    with open(spec.origin) as source:
        return "KimiK25ForConditionalGeneration" in source.read()
