"""Make a tiny Llama target and a matching EAGLE-3 drafter on disk, without network.

Run by the interpreter that has vLLM (torch, safetensors and tokenizers come with it):

    python make_tiny.py OUT [--shards 32] [--hit 0.8]

OUT/target    LlamaForCausalLM, N safetensors shards and their index
OUT/drafter   LlamaForCausalLMEagle3 (one model.safetensors with midlayer.*, fc, d2t, t2d)

The weights are random but steered, so that speculation is accepted sometimes:

* target: the lm_head row of token n1(t) (n2(t)) holds 1.0 (0.7) times the embedding of t, where n1, n2 are
  random functions on the vocabulary; the decoder layers are small noise. Greedy decoding so walks a random
  functional graph and ends in a cycle (what ngram speculation feeds on).
* drafter: its one layer attends (through a q/k bias and RoPE) to the current position only and hands that
  token's embedding to its lm_head, which is the target's one cut to the draft vocabulary; for a share
  (1 - hit) of the tokens it points at a wrong successor. Acceptance per position is so about hit, hit^2, …

Served in float32: bfloat16 on a CPU rounds enough to bring acceptance from 65 % down to 10 %.
"""

import argparse
import json
import shutil
import sysconfig
from pathlib import Path

import torch
from safetensors.torch import save_file
from tokenizers import ByteLevelBPETokenizer

SPECIAL = ["<pad>", "<s>", "</s>"]
CHAT = (
    "{% for m in messages %}{{ m['role'] + ': ' + m['content'] + '\n' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ 'assistant: ' }}{% endif %}"
)
VOCAB, DRAFT_VOCAB = 2048, 1024
HIDDEN, INNER, HEAD = 256, 512, 64
LAYERS = 16  # deep enough that a step of the target costs more than three of the drafter: it pays
HEADS = HIDDEN // HEAD
LOGIT = 12.0 / HIDDEN**0.5  # makes the logit of n1 about 12
STORED = torch.bfloat16
SEED = 48  # greedy answers through 172 tokens before they cycle; drafts right .85, .71, .55 of the time by position


def write_json(path, value):
    path.write_text(json.dumps(value, indent=1))


def small(*shape):
    return torch.randn(*shape) * 0.02


def make_tokenizer(out):
    """Byte-level BPE over the standard library's own sources: text that every machine has."""
    texts = sorted(str(p) for p in Path(sysconfig.get_path("stdlib")).glob("*.py"))[:80]
    tokenizer = ByteLevelBPETokenizer()
    tokenizer.train(texts, vocab_size=VOCAB, min_frequency=1, special_tokens=SPECIAL, show_progress=False)
    if tokenizer.get_vocab_size() != VOCAB:
        raise SystemExit(f"the standard library's text gives {tokenizer.get_vocab_size()} of {VOCAB} tokens")
    tokenizer.save(str(out / "tokenizer.json"))
    write_json(
        out / "tokenizer_config.json",
        {
            "tokenizer_class": "PreTrainedTokenizerFast",
            "bos_token": "<s>",
            "eos_token": "</s>",
            "pad_token": "<pad>",
            "model_max_length": 100000,
            "chat_template": CHAT,
        },
    )
    write_json(out / "generation_config.json", {"bos_token_id": 1, "eos_token_id": 2, "pad_token_id": 0})


def split(tensors, shards):
    """The tensors' names in order, in groups of about the same number of bytes."""
    total = sum(t.numel() * t.element_size() for t in tensors.values())
    groups, done = [[]], 0
    for i, (name, tensor) in enumerate(tensors.items()):
        full = done >= total * len(groups) / shards or len(tensors) - i <= shards - len(groups)
        if groups[-1] and len(groups) < shards and full:
            groups.append([])
        groups[-1].append(name)
        done += tensor.numel() * tensor.element_size()
    return groups


def save_sharded(tensors, out, shards):
    groups = split(tensors, min(shards, len(tensors)))
    places = {}
    for i, names in enumerate(groups, 1):
        file = f"model-{i:05d}-of-{len(groups):05d}.safetensors"
        save_file({n: tensors[n].contiguous() for n in names}, out / file, {"format": "pt"})
        places.update(dict.fromkeys(names, file))
    total = sum(t.numel() * t.element_size() for t in tensors.values())
    write_json(
        out / "model.safetensors.index.json", {"metadata": {"total_size": total}, "weight_map": places}
    )


def config(**own):
    return dict(
        hidden_size=HIDDEN,
        intermediate_size=INNER,
        num_attention_heads=HEADS,
        num_key_value_heads=HEADS,
        head_dim=HEAD,
        hidden_act="silu",
        max_position_embeddings=4096,
        rms_norm_eps=1e-5,
        rope_theta=10000.0,
        vocab_size=VOCAB,
        tie_word_embeddings=False,
        bos_token_id=1,
        eos_token_id=2,
        pad_token_id=0,
        torch_dtype="bfloat16",
        initializer_range=0.02,
        use_cache=True,
        model_type="llama",
        mlp_bias=False,
        **own,
    )


def successors(hit):
    """n1, n2 of the target and the drafter's guess at n1: only the draft vocabulary's tokens, never a special one."""
    n1, n2, wrong = (torch.randint(len(SPECIAL), DRAFT_VOCAB, (VOCAB,)) for _ in range(3))
    return n1, n2, torch.where(torch.rand(VOCAB) > hit, wrong, n1)


def target_weights(embeddings, n1, n2):
    head = torch.zeros(VOCAB, HIDDEN)
    head.index_add_(0, n1, embeddings * LOGIT)
    head.index_add_(0, n2, embeddings * LOGIT * 0.7)
    weights = {"model.embed_tokens.weight": embeddings}
    for i in range(LAYERS):
        at = f"model.layers.{i}."
        weights[at + "input_layernorm.weight"] = torch.ones(HIDDEN)
        for name in "qkv":
            weights[at + f"self_attn.{name}_proj.weight"] = small(HIDDEN, HIDDEN)
        weights[at + "self_attn.o_proj.weight"] = small(HIDDEN, HIDDEN) * 0.05
        weights[at + "post_attention_layernorm.weight"] = torch.ones(HIDDEN)
        weights[at + "mlp.gate_proj.weight"] = small(INNER, HIDDEN)
        weights[at + "mlp.up_proj.weight"] = small(INNER, HIDDEN)
        weights[at + "mlp.down_proj.weight"] = small(HIDDEN, INNER) * 0.05
    weights["model.norm.weight"] = torch.ones(HIDDEN)
    weights["lm_head.weight"] = head
    return weights


def drafter_weights(embeddings, guess, n2):
    head = torch.zeros(VOCAB, HIDDEN)
    head.index_add_(0, guess, embeddings * LOGIT)
    head.index_add_(0, n2, embeddings * LOGIT * 0.7)
    value = torch.zeros(HIDDEN, 2 * HIDDEN)
    value[:, :HIDDEN] = torch.eye(HIDDEN)  # v is the normed embedding of the current token
    peak = torch.zeros(HEADS, HEAD)  # q = k = a constant on the 6 fastest RoPE pairs: attention to itself
    peak[:, :6] = 10.0
    peak[:, HEAD // 2 : HEAD // 2 + 6] = 10.0
    return {
        "d2t": torch.zeros(DRAFT_VOCAB, dtype=torch.int64),  # the draft vocabulary is ids 0..DRAFT_VOCAB-1
        "t2d": torch.arange(VOCAB) < DRAFT_VOCAB,
        "fc.weight": small(HIDDEN, 3 * HIDDEN) * 0.05,
        "midlayer.hidden_norm.weight": torch.ones(HIDDEN) * 0.05,
        "midlayer.input_layernorm.weight": torch.ones(HIDDEN),
        "midlayer.post_attention_layernorm.weight": torch.ones(HIDDEN),
        "midlayer.self_attn.q_proj.weight": torch.zeros(HIDDEN, 2 * HIDDEN),
        "midlayer.self_attn.k_proj.weight": torch.zeros(HIDDEN, 2 * HIDDEN),
        "midlayer.self_attn.v_proj.weight": value,
        "midlayer.self_attn.q_proj.bias": peak.reshape(-1),
        "midlayer.self_attn.k_proj.bias": peak.reshape(-1),
        "midlayer.self_attn.v_proj.bias": torch.zeros(HIDDEN),
        "midlayer.self_attn.o_proj.weight": torch.eye(HIDDEN),
        # attention_bias gives o_proj a bias too; vLLM does not complain where a drafter lacks it: it runs
        # with uninitialised memory and accepts nothing.
        "midlayer.self_attn.o_proj.bias": torch.zeros(HIDDEN),
        "midlayer.mlp.gate_proj.weight": small(INNER, HIDDEN),
        "midlayer.mlp.up_proj.weight": small(INNER, HIDDEN),
        "midlayer.mlp.down_proj.weight": small(HIDDEN, INNER) * 0.05,
        "norm.weight": torch.ones(HIDDEN),
        "lm_head.weight": head[:DRAFT_VOCAB],
    }


def stored(weights):
    return {k: (v.to(STORED) if v.is_floating_point() else v).contiguous() for k, v in weights.items()}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("out", type=Path)
    parser.add_argument("--shards", type=int, default=32)
    parser.add_argument("--hit", type=float, default=0.8)
    options = parser.parse_args()
    torch.manual_seed(SEED)
    target, drafter = options.out / "target", options.out / "drafter"
    for folder in (target, drafter):
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
    make_tokenizer(target)
    n1, n2, guess = successors(options.hit)
    embeddings = torch.nn.functional.normalize(torch.randn(VOCAB, HIDDEN), dim=-1)
    write_json(
        target / "config.json",
        config(architectures=["LlamaForCausalLM"], num_hidden_layers=LAYERS, attention_bias=False),
    )
    save_sharded(stored(target_weights(embeddings, n1, n2)), target, options.shards)
    write_json(
        drafter / "config.json",
        config(
            architectures=["LlamaForCausalLMEagle3"],
            num_hidden_layers=1,
            attention_bias=True,
            draft_vocab_size=DRAFT_VOCAB,
            norm_before_residual=True,  # keeps the fed-back hidden state small beside the attention
            eagle_config={
                "eagle_aux_hidden_state_layer_ids": [1, LAYERS // 2, LAYERS - 1],
                "use_aux_hidden_state": True,
            },
        ),
    )
    drafted = stored(drafter_weights(embeddings, guess, n2))
    save_file(drafted, drafter / "model.safetensors", {"format": "pt"})


if __name__ == "__main__":
    main()
