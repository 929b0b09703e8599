"""doctor before a launch: when the command line names a target and an EAGLE-3 drafter that lie on disk."""

import contextlib
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


def _speculation(plan: Plan) -> dict[str, Any]:
    """--speculative-config as an object; SGLang's flags by vLLM's names."""
    said: dict[str, Any] = {}
    with contextlib.suppress(msgspec.MsgspecError):
        said = msgspec.json.decode(
            words.value(plan.argv, "--speculative-config", "-sc") or "{}", type=dict[str, Any]
        )
    if (algorithm := words.value(plan.argv, "--speculative-algorithm")) is not None:
        said["method"] = algorithm
    if (steps := words.value(plan.argv, "--speculative-num-steps")) is not None and steps.isdecimal():
        said["num_speculative_tokens"] = int(steps)
    return said


def _options(plan: Plan, spec: dict[str, Any]) -> Options:
    engine = plan.engine or "vllm"
    version = version_tuple(plan.version) or NEWEST[engine]
    cpu = "cpu" in (plan.version or "")
    length = words.value(plan.argv, "--max-model-len", "--context-length") or ""
    return Options(
        engine=engine,
        version=version,
        runner="v1" if cpu or version < (0, 30) else "v2",
        tp=max(1, int(words.number(plan.argv, 1, "--tensor-parallel-size", "-tp", "--tp-size", "--tp"))),
        draft_tp=_whole(spec.get("draft_tensor_parallel_size")),
        k=_whole(spec.get("num_speculative_tokens")),
        max_model_len=int(length) if length.isdecimal() and int(length) else None,
        method="eagle3" if spec.get("method") else None,
        dtype=words.value(plan.argv, "--dtype"),
        patches=plan.patches,
    )


def _whole(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None


def sentence(finding: Finding) -> str:
    """`doctor, hidden: drafter made for 4096; expected the target's 7168: …`"""
    return f"doctor, {finding.id}: {finding.found}; expected {finding.expected}: {finding.why}"
