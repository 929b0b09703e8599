"""doctor: static checks of a drafter against its target, by config.json and safetensors headers; no GPU, no torch.

To add a check: a function in the module of its theme and a row here.
"""

from collectors.checks import aux_layers, configuration, shapes, tensors, vocabulary
from collectors.checks.conventions import capture
from collectors.checks.findings import Check, Diagnosis, Finding, NotApplicable
from collectors.checks.pair import Pair

CHECKS: tuple[Check, ...] = (
    Check("files", tensors.files),
    Check("arch-known", configuration.architecture),
    Check("method", configuration.method),
    Check("target-supported", configuration.target_supported),
    Check("mm-target", configuration.multimodal_target),
    Check("vocab", vocabulary.vocab),
    Check("hidden", shapes.hidden),
    Check("n-aux", aux_layers.aux_count, unless=("hidden", "aux-range", "aux-place")),
    Check("aux-range", aux_layers.aux_range),
    Check("aux-place", aux_layers.aux_place, unless=("aux-range",)),
    Check("aux-conv", aux_layers.aux_convention, unless=("aux-range", "aux-place")),
    Check("aux-default", aux_layers.aux_default),
    Check("vocab-zero", vocabulary.d2t_zero),
    Check("d2t", vocabulary.d2t, unless=("vocab-zero",)),
    Check("t2d", vocabulary.t2d, unless=("d2t", "vocab-zero")),
    Check("lm-head", vocabulary.lm_head, unless=("hidden",)),
    Check("embed", vocabulary.embed, unless=("vocab", "hidden")),
    Check("embed-dim", vocabulary.embed_dim, unless=("hidden",)),
    Check("layers", tensors.layers),
    Check("flags", tensors.flags),
    Check("use_aux", tensors.use_aux),
    Check("names", tensors.names, unless=("layers",)),
    Check("shapes", shapes.shapes, unless=("hidden", "names")),
    Check("rope", configuration.rope),
    Check("ctx", configuration.context),
    Check("rms/act", configuration.norm_and_activation),
    Check("dtype", configuration.dtype),
    Check("tp", configuration.tensor_parallel),
    Check("quant", tensors.quantisation),
    Check("K", configuration.draft_length),
    Check("pairing", configuration.pairing),
    Check("target-lm", tensors.rotated_target),
)


def examine(pair: Pair) -> Diagnosis:
    """All checks on a pair. A check is passed over where another's finding already explains what it would see."""
    findings: list[Finding] = []
    passed: list[str] = []
    rows = list(CHECKS)
    done: set[str] = set()
    while rows:
        row = next(r for r in rows if not any(other.id in r.unless for other in rows if other is not r))
        rows.remove(row)
        if done & set(row.unless):
            continue
        try:
            troubles = row.run(pair)
        except NotApplicable:
            continue
        if troubles:
            done.add(row.id)
            findings += [Finding(row.id, t.severity, t.found, t.expected, t.why, t.fix) for t in troubles]
        else:
            passed.append(row.id)
    order = [row.id for row in CHECKS]
    return Diagnosis(
        v=1,
        findings=tuple(sorted(findings, key=lambda f: order.index(f.id))),
        passed=tuple(sorted(passed, key=order.index)),
        engine=pair.options.engine,
        engine_version=".".join(map(str, pair.options.version)),
        runner=pair.options.runner if pair.options.engine == "vllm" else None,
        captures=_captures(pair),
    )


def _captures(pair: Pair) -> str | None:
    if pair.readable and pair.tensor("fc.weight") is None:
        return None
    taken = capture(pair)
    if taken is None:
        return None
    source = "its default" if taken.read is None else f"ids {aux_layers.show(taken.read)} from {taken.place}"
    return f"this engine will capture layers {aux_layers.show(taken.ids)} ({source})"
