"""A target and its drafter, with the figures that the checks ask for read once."""

from typing import Any

from msgspec import Struct

from collectors.checks.checkpoint import Checkpoint
from collectors.checks.safetensors import Tensor


class Options(Struct, frozen=True):
    """How the pair would be served."""

    engine: str = "vllm"
    version: tuple[int, ...] = ()
    runner: str = "v2"  # vLLM's model runner: "v1", or "v2" (its default from 0.30, never on a CPU)
    tp: int = 1
    draft_tp: int | None = None
    k: int | None = None  # num_speculative_tokens
    max_model_len: int | None = None
    method: str | None = None  # as given in --speculative-config
    dtype: str | None = None
    patches: tuple[str, ...] = ()


class Pair(Struct, frozen=True):
    target: Checkpoint
    drafter: Checkpoint
    options: Options

    @property
    def t(self) -> dict[str, Any]:
        """The target's language model (a multimodal one nests it)."""
        text = self.target.config.get("text_config")
        return text if isinstance(text, dict) else self.target.config

    @property
    def d(self) -> dict[str, Any]:
        """The drafter's layer (the speculators format nests it), with what it says at top level laid over."""
        inner = self.drafter.config.get("transformer_layer_config")
        return {**inner, **self.drafter.config} if isinstance(inner, dict) else self.drafter.config

    @property
    def eagle(self) -> dict[str, Any]:
        value = self.drafter.config.get("eagle_config")
        return value if isinstance(value, dict) else {}

    @property
    def architecture(self) -> str:
        listed = self.drafter.config.get("architectures")
        return str(listed[0]) if isinstance(listed, list) and listed else ""

    @property
    def draft_vocab(self) -> int | None:
        return integer(self.d.get("draft_vocab_size")) or self.vocab

    @property
    def vocab(self) -> int | None:
        return integer(self.d.get("vocab_size"))

    @property
    def hidden(self) -> int | None:
        return integer(self.d.get("hidden_size"))

    @property
    def target_hidden(self) -> int | None:
        return integer(self.t.get("hidden_size"))

    @property
    def target_layers(self) -> int | None:
        return integer(self.t.get("num_hidden_layers"))

    @property
    def heads(self) -> int | None:
        return integer(self.d.get("num_attention_heads"))

    @property
    def kv_heads(self) -> int | None:
        return integer(self.d.get("num_key_value_heads")) or self.heads

    @property
    def head_dim(self) -> int | None:
        given = integer(self.d.get("head_dim"))
        return given or (self.hidden // self.heads if self.hidden and self.heads else None)

    @property
    def readable(self) -> bool:
        """Whether the drafter's tensors are known: checks on tensors do not apply where its files are broken."""
        return self.drafter.weights == "safetensors" and not self.drafter.broken

    @property
    def mla(self) -> bool:
        return integer(self.t.get("kv_lora_rank")) is not None

    def tensor(self, *endings: str) -> Tensor | None:
        """The drafter's tensor of that name, whatever prefix the format puts before it."""
        for ending in endings:
            for name, tensor in self.drafter.tensors.items():
                if name == ending or name.endswith("." + ending):
                    return tensor
        return None

    def target_tensor(self, ending: str) -> Tensor | None:
        return next(
            (t for n, t in self.target.tensors.items() if n == ending or n.endswith("." + ending)), None
        )


def integer(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None
