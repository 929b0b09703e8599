"""In what two launches differ: flags, environment, versions, patches, hardware."""

from collections.abc import Iterator, Sequence
from typing import Any

from msgspec import Struct

from collectors.record.folder import RunInfo

# Where the server listens and what it calls itself cannot change what it does; nor can the pace of the demo's loader
# (SLOWLOAD_MBPS), once it is loaded.
_NEUTRAL = {
    "--port",
    "--host",
    "--served-model-name",
    "--api-key",
    "--disable-access-log-for-endpoints",
    "--uvicorn-log-level",
}


class Difference(Struct, frozen=True):
    what: str
    a: str | None
    b: str | None


class Contrast(Struct, frozen=True):
    side: str
    differences: tuple[Difference, ...] | None
    controlled: bool | None  # exactly one thing differs; None: a launch is unknown


def differences(a: RunInfo | None, b: RunInfo | None) -> tuple[Difference, ...] | None:
    """None: at least one launch is not known, so nothing can be said."""
    if a is None or b is None:
        return None
    return tuple(_pairs(a, b))


def _pairs(a: RunInfo, b: RunInfo) -> Iterator[Difference]:
    groups: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
        ("", flags(a.facts.argv), flags(b.facts.argv)),
        ("env ", a.env, b.env),
        ("version of ", a.versions, b.versions),
    ]
    for prefix, ours, theirs in groups:
        for key in sorted(ours.keys() | theirs.keys()):
            neutral = key in _NEUTRAL or key == "specwatch" or key.startswith("SLOWLOAD_")
            if ours.get(key) != theirs.get(key) and not neutral:
                yield Difference(prefix + key, _text(ours.get(key)), _text(theirs.get(key)))
    facts = (
        ("patches", ", ".join(a.facts.patches), ", ".join(b.facts.patches)),
        ("GPUs", _gpus(a), _gpus(b)),
        ("host", a.host, b.host),
    )
    for what, one, other in facts:
        if one != other:
            yield Difference(what, one or None, other or None)


def flags(argv: Sequence[str]) -> dict[str, Any]:
    """argv as {flag: value}; words without a flag are numbered: the command and the model."""
    found: dict[str, Any] = {}
    words = 0
    flag: str | None = None
    for word in argv:
        if word.startswith("--"):
            name, equals, value = word.partition("=")
            flag = None if equals else name
            found[name] = value if equals else True
        elif flag is not None:
            found[flag] = word if found[flag] is True else f"{found[flag]} {word}"
        else:
            words += 1
            if words > 2:  # `vllm serve` by any path is the same command
                found[f"argument {words - 2}"] = word
    return found


def _gpus(info: RunInfo) -> str:
    names = info.facts.gpu_names
    chosen = (
        [names[i] for i in info.facts.gpus_of_run if i < len(names)]
        if info.facts.gpus_of_run
        else list(names)
    )
    return ", ".join(f"{chosen.count(name)}×{name}" for name in dict.fromkeys(chosen))


def _text(value: Any) -> str | None:
    return None if value is None else "set" if value is True else str(value)
