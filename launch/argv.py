"""What a server's own command line says: flags and model, by vLLM's and SGLang's names. Nothing is ever added to it."""

import os
from collections.abc import Sequence
from typing import Any

import msgspec

DEFAULT_PORT = {"vllm": 8000, "sglang": 30000}
_EVERYWHERE = ("", "0.0.0.0", "::")


def engine_of(argv: Sequence[str]) -> str | None:
    """ "vllm", "sglang", or None for a command that is neither's by name."""
    for word in argv[:4]:
        name = os.path.basename(word).partition(".")[0]
        if name in DEFAULT_PORT:
            return name
    return None


def value(argv: Sequence[str], *names: str) -> str | None:
    """The value of the last such flag, written `--flag V` or `--flag=V`, with `-` or `_`; None without one."""
    found = None
    for place, word in enumerate(argv):
        name, equals, said = word.partition("=")
        if name.startswith("-") and name.replace("_", "-") in names:
            after = argv[place + 1] if place + 1 < len(argv) else ""
            found = said if equals else after
    return found


def has(argv: Sequence[str], *names: str) -> bool:
    return any(w.startswith("-") and w.partition("=")[0].replace("_", "-") in names for w in argv)


def number(argv: Sequence[str], default: float, *names: str) -> float:
    try:
        return float(value(argv, *names) or default)
    except ValueError:
        return default


def model_of(argv: Sequence[str]) -> str | None:
    """The word after `serve`, or what --model (vLLM), --model-path (SGLang) says."""
    if (named := value(argv, "--model", "--model-path")) is not None:
        return named
    after = argv[argv.index("serve") + 1 :] if "serve" in argv else ()
    for before, word in zip(("", *after), after, strict=False):
        if not word.startswith("-") and (not before.startswith("-") or "=" in before):
            return word
    return None


def drafter_of(argv: Sequence[str]) -> str | None:
    """The drafter's checkpoint: vLLM's --speculative-config (JSON, or dotted keys), SGLang's own flag."""
    named = value(argv, "--speculative-draft-model-path", "--speculative-config.model", "-sc.model")
    if named is not None:
        return named
    said = value(argv, "--speculative-config", "-sc")
    try:
        config = msgspec.json.decode(said or "{}", type=dict[str, Any])
    except msgspec.MsgspecError:
        return None
    model = config.get("model")
    return model if isinstance(model, str) else None


def speculates(argv: Sequence[str]) -> bool:
    """Whether it asks for speculation, by any method: a drafter, n-grams, heads of its own."""
    return any("speculative" in word or word == "-sc" for word in argv)


def address(argv: Sequence[str], engine: str | None) -> tuple[str, int] | None:
    """Host and port that the server will bind ("": everywhere); None where it names no port that we understand."""
    port = value(argv, "--port") or str(DEFAULT_PORT.get(engine or "vllm", 8000))
    return (value(argv, "--host") or "", int(port)) if port.isdecimal() and 0 < int(port) < 65536 else None


def url_of(bound: tuple[str, int]) -> str:
    host = "127.0.0.1" if bound[0] in _EVERYWHERE else bound[0]
    return f"http://{f'[{host}]' if ':' in host else host}:{bound[1]}"
