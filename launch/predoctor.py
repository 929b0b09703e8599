"""doctor before a launch: when the command line names a target and an EAGLE-3 drafter that lie on disk."""

import contextlib
import re
from typing import Any

import msgspec

from collectors.checks.checkpoint import load
from collectors.checks.conventions import NEWEST
from collectors.checks.doctor import examine
from collectors.checks.findings import Diagnosis, Finding
from collectors.checks.pair import Options, Pair
from collectors.errors import SpecwatchError
from launch import argv as words
from launch.plan import Plan, version_tuple
from launch.preflight import Site


def diagnose(plan: Plan, site: Site) -> Diagnosis | None:
    """None: no such pair, or one that cannot be read (preflight says why)."""
    paths = [model.path if model else None for model in (site.target, site.drafter)]
    spec = _speculation(plan)
    if None in paths or spec.get("method", "eagle3") not in ("eagle3", "EAGLE3"):
        return None
    try:
        target, drafter = (load(str(path)) for path in paths)
    except SpecwatchError:
        return None
    pair = Pair(target, drafter, _options(plan, spec))
    if "method" not in spec and "eagle3" not in f"{pair.architecture}{pair.drafter.path}".lower():
        return None
    return examine(pair)


# vLLM's name -> the flags that say it, vLLM's dotted keys and SGLang's own.
_FLAGS = {
    "method": ("--speculative-config.method", "--speculative-algorithm"),
    "num_speculative_tokens": ("--speculative-config.num-speculative-tokens", "--speculative-num-steps"),
    "draft_tensor_parallel_size": ("--speculative-config.draft-tensor-parallel-size",),
}


def _speculation(plan: Plan) -> dict[str, Any]:
    """What the command line says of speculation, as --speculative-config says it."""
    said: dict[str, Any] = {}
    with contextlib.suppress(msgspec.MsgspecError):
        said = msgspec.json.decode(
            words.value(plan.argv, "--speculative-config", "-sc") or "{}", type=dict[str, Any]
        )
    for key, names in _FLAGS.items():
        if (given := words.value(plan.argv, *names)) is not None:
            said[key] = int(given) if re.fullmatch(r"\d{1,9}", given) else given
    return said


def _options(plan: Plan, spec: dict[str, Any]) -> Options:
    engine = plan.engine or "vllm"
    version = version_tuple(plan.version) or NEWEST[engine]
    cpu = "cpu" in (plan.version or "")
    return Options(
        engine=engine,
        version=version,
        runner="v1" if cpu or version < (0, 30) else "v2",
        tp=_length(words.value(plan.argv, "--tensor-parallel-size", "-tp", "--tp-size", "--tp")) or 1,
        draft_tp=_whole(spec.get("draft_tensor_parallel_size")),
        k=_whole(spec.get("num_speculative_tokens")),
        max_model_len=_length(words.value(plan.argv, "--max-model-len", "--context-length")),
        method="eagle3" if spec.get("method") else None,
        dtype=words.value(plan.argv, "--dtype"),
        patches=plan.patches,
    )


_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "K": 2**10, "M": 2**20, "G": 2**30}


def _length(said: str | None) -> int | None:
    """vLLM takes `128k` (thousands) and `128K` (1024s) too; `auto` and -1 leave it to the model."""
    found = re.fullmatch(r"(\d{1,12}(?:\.\d{1,6})?)([kmgKMG]?)", said or "")
    return int(float(found[1]) * _UNITS[found[2]]) or None if found else None


def _whole(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None


def sentence(finding: Finding) -> str:
    """`doctor, hidden: drafter made for 4096; expected the target's 7168: …`"""
    return f"doctor, {finding.id}: {finding.found}; expected {finding.expected}: {finding.why}"
