"""Checks on the drafter's vocabulary: d2t and t2d, its head, its embedding."""

import array
import itertools
from collections.abc import Sequence

from collectors.checks.findings import ERROR, INFO, WARNING, NotApplicable, Trouble
from collectors.checks.pair import Pair, integer
from collectors.checks.safetensors import DTYPE_BYTES, read_data

ROWS = 8  # embedding rows compared with the target's
MOST = 1 << 20  # bytes of them: a hostile shape makes rows of any length
MAX_MAP = 4_000_000  # entries of d2t / t2d that are read whole (Kimi's vocabulary: 163,840)


def vocab(pair: Pair) -> list[Trouble]:
    ours, target = pair.vocab, integer(pair.t.get("vocab_size"))
    if ours is None or target is None:
        raise NotApplicable
    if ours == target:
        return []
    rows = {
        tensor.shape[0]
        for tensor in (pair.tensor("t2d"), pair.tensor("embed_tokens.weight"))
        if pair.readable and tensor is not None and tensor.shape
    }
    slip = rows == {target}  # the weights are this target's: vLLM 0.32 serves it as if nothing were wrong
    return [
        Trouble(
            WARNING if slip else ERROR,
            f"drafter {ours:,}" + (", though its tensors have the target's" if slip else ""),
            f"target {target:,}",
            "drafted ids are the target's ids: another vocabulary means another tokenizer (the draft vocabulary is separate)",
            "correct vocab_size in the drafter's config.json"
            if slip
            else "use a drafter made for this target, or correct vocab_size",
        )
    ]


def _reduced(pair: Pair) -> tuple[int, int]:
    if not pair.readable or pair.draft_vocab is None or pair.vocab is None:
        raise NotApplicable
    return pair.draft_vocab, pair.vocab


def _offsets(pair: Pair) -> "array.array[int] | None":
    tensor = pair.tensor("d2t")
    if tensor is None or len(tensor.shape) != 1 or tensor.shape[0] > MAX_MAP:
        return None
    code = {"I64": "q", "I32": "i"}.get(tensor.dtype)
    return array.array(code, read_data(pair.drafter.path, tensor)) if code else None


def d2t(pair: Pair) -> list[Trouble]:
    draft, full = _reduced(pair)
    tensor, offsets = pair.tensor("d2t"), _offsets(pair)
    if draft >= full and tensor is None:
        raise NotApplicable
    why = "d2t[i] is added to draft id i to give the target's id"
    fix = "store offsets: d2t[i] = target_id(i) - i, one for each of the draft vocabulary's ids"
    if tensor is None and _marked(pair) == list(range(draft)):
        return []  # vLLM starts from zeros, which are right here
    if tensor is None:
        return [
            Trouble(
                ERROR,
                "no d2t",
                f"{draft:,} offsets into a vocabulary of {full:,}",
                "without it draft ids are taken for the target's first ids: acceptance collapses (vllm#18488)",
                fix,
            )
        ]
    if tensor.shape != (draft,) or offsets is None:
        return [Trouble(ERROR, f"d2t {list(tensor.shape)} {tensor.dtype}", f"[{draft}] I64", why, fix)]
    mapped = [i + offset for i, offset in enumerate(offsets)]
    fits = _rises(mapped) and mapped[0] >= 0 and mapped[-1] < full
    rising = _rises(offsets) and offsets[0] >= 0 and offsets[-1] < full
    marked = _marked(pair)
    # Absolute ids rise at each step and may fit all the same: t2d says which is meant. Without it, offsets do so
    # only where no two neighbours of the vocabulary are kept.
    if fits and not (rising and marked in (None, list(offsets))):
        return []
    sure = not fits or marked is not None
    absolute = "absolute target ids" if sure else "what looks like absolute target ids"
    return [
        Trouble(
            ERROR if sure else WARNING,
            f"d2t holds {absolute if rising else 'offsets that do not give increasing target ids'}",
            f"offsets, i + d2t[i] rising and below {full:,}",
            why + ": absolute ids make each draft another token, and acceptance about 0 (verl-SpeCo#67)",
            fix,
        )
    ]


def _rises(values: Sequence[int]) -> bool:
    return all(a < b for a, b in itertools.pairwise(values))


def _marked(pair: Pair) -> list[int] | None:
    """The target ids that t2d marks."""
    tensor = pair.tensor("t2d")
    if (
        tensor is None
        or tensor.dtype not in ("BOOL", "U8")
        or len(tensor.shape) != 1
        or tensor.shape[0] > MAX_MAP
    ):
        return None
    return [i for i, flag in enumerate(read_data(pair.drafter.path, tensor)) if flag]


def d2t_zero(pair: Pair) -> list[Trouble]:
    """All-zero offsets are right only where t2d marks exactly the first ids."""
    draft, full = _reduced(pair)
    offsets = _offsets(pair)
    if draft >= full or offsets is None or len(offsets) != draft:
        raise NotApplicable
    if any(offsets) or _marked(pair) == list(range(draft)):
        return []
    return [
        Trouble(
            ERROR,
            "d2t is all zeros",
            f"a map into {full:,} ids (all zeros is right only where t2d marks exactly the first {draft:,})",
            "the map was never filled in: draft ids are taken for the target's first ids and acceptance collapses",
            "export d2t from the training run again",
        )
    ]


def t2d(pair: Pair) -> list[Trouble]:
    draft, full = _reduced(pair)
    marked, offsets = _marked(pair), _offsets(pair)
    if marked is None or offsets is None:
        raise NotApplicable
    if marked == [i + offset for i, offset in enumerate(offsets)]:
        return []
    return [
        Trouble(
            WARNING,
            f"t2d marks {len(marked):,} ids of {full:,}",
            f"the {draft:,} that d2t maps to",
            "the two maps are made together: where they disagree, one of them belongs to another training run",
            "export d2t and t2d again from one run (vLLM reads d2t only)",
        )
    ]


def lm_head(pair: Pair) -> list[Trouble]:
    draft, full = _reduced(pair)
    head = pair.tensor("lm_head.weight")
    if head is None:
        first = _marked(pair) == list(range(draft)) and not any(_offsets(pair) or ())
        return [] if draft == full else [
            Trouble(
                INFO if first else ERROR,
                "no lm_head.weight",
                f"a head of {draft:,} rows",
                f"the target's head is shared, and its first {draft:,} rows are taken"
                + (": here they are the draft vocabulary" if first else ": they score other ids than the drafter's"),
                "nothing, if the drafter was trained on the target's head" if first
                else "add the drafter's own head to the checkpoint",
            )
        ]  # fmt: skip
    if head.shape == (draft, pair.hidden):
        return []
    return [
        Trouble(
            ERROR,
            f"lm_head.weight {list(head.shape)}",
            f"[{draft}, {pair.hidden}]",
            "the head gives one score for each of the draft vocabulary's ids",
            "correct draft_vocab_size, or export the head again",
        )
    ]


def embed(pair: Pair) -> list[Trouble]:
    """A drafter with an embedding of its own keeps it where it differs from the target's (vLLM), and few should."""
    if not pair.readable:
        raise NotApplicable
    ours, theirs = pair.tensor("embed_tokens.weight"), pair.target_tensor("embed_tokens.weight")
    if ours is None:
        return []
    if ours.shape != (pair.vocab, pair.hidden):
        return [
            Trouble(
                ERROR,
                f"embed_tokens {list(ours.shape)}",
                f"[{pair.vocab}, {pair.hidden}]",
                "the embedding has a row for each id of the full vocabulary",
                "remove it (the target's is shared then), or export it again",
            )
        ]
    if theirs is None or theirs.shape != ours.shape or theirs.dtype != ours.dtype:
        return []
    row = ours.shape[1] * DTYPE_BYTES.get(ours.dtype, 2)
    middle, most = ours.shape[0] // 2 * row, min(ROWS * row, MOST)
    same = all(
        read_data(pair.drafter.path, ours, at, most) == read_data(pair.target.path, theirs, at, most)
        for at in (0, middle)
    )
    return [] if same else [
        Trouble(
            WARNING,
            "embed_tokens differs from the target's",
            "no embed_tokens (shared), or an identical one",
            "vLLM keeps a distinct embedding and SGLang replaces it: random ones left by a trainer ruin acceptance (TorchSpec#38)",
            "remove embed_tokens.weight from the checkpoint unless it was trained",
        )
    ]  # fmt: skip


def embed_dim(pair: Pair) -> list[Trouble]:
    if not pair.readable or pair.tensor("embed_tokens.weight") is not None:
        raise NotApplicable
    if pair.hidden == pair.target_hidden:
        return []
    return [
        Trouble(
            ERROR,
            f"no embedding of its own, hidden size {pair.hidden}",
            f"the target's {pair.target_hidden}",
            "the target's embedding is shared and has the target's width; the forward pass asserts on it (vLLM <= 0.24)",
            "ship the drafter's own embed_tokens, or train at the target's width",
        )
    ]
