"""vLLM 0.10-0.17 accept EAGLE-3 only for target types on a list, in `SpeculativeConfig._verify_args`."""

import inspect

from .running import MARK

MODEL_TYPES = ("deepseek_v2", "deepseek_v3", "kimi_k2", "kimi_k25")


def patch():
    from vllm.config.speculative import SpeculativeConfig

    # pydantic compiled this very function object into its schema: replacing the attribute has no effect, changing
    # the function's code has.
    check = inspect.unwrap(SpeculativeConfig.__dict__["_verify_args"])
    if getattr(check, MARK, False):
        return "already", {}
    constants = check.__code__.co_consts
    lists = [
        c for c in constants if isinstance(c, tuple) and "llama" in c and all(isinstance(x, str) for x in c)
    ]
    if not lists:
        if "Eagle3 is only supported" in " ".join(map(str, constants)):
            return "skipped", {"reason": "a whitelist of unknown form"}
        return "native", {"reason": "no whitelist"}
    # vLLM tests whether an entry is a substring of the target's model_type.
    missing = tuple(m for m in MODEL_TYPES if not all(any(x in m for x in known) for known in lists))
    if not missing:
        return "native", {"reason": "the whitelist has them"}
    longer = tuple(c + missing if any(c is known for known in lists) else c for c in constants)
    check.__code__ = check.__code__.replace(co_consts=longer)
    setattr(check, MARK, True)
    return "applied", {"added": missing}
