"""vLLM <= 0.17: DeepSeek-V3 (and Kimi-K2, a subclass) and Kimi-K2.5 lack the SupportsEagle3 interface."""

from .forward import with_aux_hidden_states
from .running import MARK

DEEPSEEK = "vllm.model_executor.models.deepseek_v2"
KIMI = "vllm.model_executor.models.kimi_k25"


def patch_deepseek(module):
    outer, inner = module.DeepseekV2ForCausalLM, module.DeepseekV2Model
    if MARK in outer.__dict__:
        return "already", {}
    if _supports(outer):
        return "native", {}
    forward, why = with_aux_hidden_states(inner.forward)
    if forward is None:
        return "skipped", {"reason": why}
    inner.aux_hidden_state_layers = ()
    inner.forward = forward  # before any instance exists: torch.compile looks it up at instantiation

    def set_layers(self, layers):
        self.model.aux_hidden_state_layers = tuple(layers)

    def get_layers(self):
        n = len(self.model.layers)
        return (2, n // 2, n - 3)

    _give(outer, set_layers, get_layers)
    return "applied", {"supports_eagle3": _supports(outer)}


def patch_kimi(module):
    outer = module.KimiK25ForConditionalGeneration
    if MARK in outer.__dict__:
        return "already", {}
    if _supports(outer):
        return "native", {}

    def set_layers(self, layers):
        self.language_model.set_aux_hidden_state_layers(layers)

    def get_layers(self):
        return self.language_model.get_eagle3_aux_hidden_state_layers()

    _give(outer, set_layers, get_layers)
    return "applied", {"supports_eagle3": _supports(outer)}


def _supports(model):
    from vllm.model_executor.models import interfaces

    # Some versions test the class by its flag, some by the Protocol; a class that has either is native.
    flagged = getattr(model, "supports_eagle3", False) and hasattr(model, "set_aux_hidden_state_layers")
    return bool(flagged) or bool(interfaces.supports_eagle3(model))


def _give(model, set_layers, get_layers):
    """isinstance(model, SupportsEagle3) is false until all five names are there."""
    for name in ("has_own_lm_head", "has_own_embed_tokens"):
        if not hasattr(model, name):
            setattr(model, name, False)
    model.supports_eagle3 = True
    model.set_aux_hidden_state_layers = set_layers
    model.get_eagle3_aux_hidden_state_layers = get_layers
    setattr(model, MARK, True)
