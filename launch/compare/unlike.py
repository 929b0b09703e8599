"""In what two sides were asked different things: refused, or said."""

import re
from collections.abc import Iterator, Sequence

from collectors.errors import SpecwatchError
from launch.compare.contrast import Contrast, flags
from launch.compare.sides import Side

_REFUSED = ("prompts", "input tokens", "request rate", "api")
_SAID = ("max tokens", "temperature", "output tokens", "requests")
# Where a command finds the server and leaves its result changes nothing of what it asks.
_PLACES = (
    "--result-",
    "--output-file",
    "--save-",
    "--label",
    "--metadata",
    "--host",
    "--port",
    "--base-url",
    "--url",
)


def refuse_unlike(a: Side, b: Side) -> None:
    ours, theirs = _targets(a, b)
    if ours and theirs and _bare(ours) != _bare(theirs):
        raise SpecwatchError(
            f"{a.name} served {ours}, {b.name} served {theirs}: another target is no baseline",
            "compare runs of one target",
        )
    for what in _REFUSED:
        ours, theirs = a.workload.get(what), b.workload.get(what)
        if ours is not None and theirs is not None and ours != theirs:
            raise SpecwatchError(
                f"{a.name} and {b.name} were asked different things ({what}: {ours} and {theirs})",
                "bench both with the same prompts",
            )


def _targets(a: Side, b: Side) -> tuple[str | None, str | None]:
    """By the checkpoints where both launches are known: a benchmark names the model as it is served, a log as it lies
    on disk."""
    ours, theirs = (side.launch.facts.model_path if side.launch is not None else None for side in (a, b))
    return (ours, theirs) if ours and theirs else (a.model, b.model)


def _bare(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.rstrip("/").split("/")[-1].lower())


def warnings(base: Side, others: Sequence[Side], contrasts: Sequence[Contrast], plain: bool) -> Iterator[str]:
    if not plain:
        yield "every side speculates: speed-ups are over the first, and T_s/T_0 is not a plain step's"
    for contrast in contrasts:
        yield from _launch(base, contrast)
    for other in others:
        yield from _workload(base, other)
    for side in (base, *others):
        yield from (f"{side.name}: {note}" for note in side.notes)


def _launch(base: Side, contrast: Contrast) -> Iterator[str]:
    if contrast.differences is None:
        yield f"{contrast.side}: a launch is not known here; whether only the drafter differs cannot be said"
    elif len(contrast.differences) > 1:
        names = ", ".join(d.what for d in contrast.differences)
        count = f"{len(contrast.differences)} things ({names})"
        yield f"{contrast.side} differs from {base.name} in {count}: this is no controlled experiment"
    elif not contrast.differences:
        yield f"{contrast.side} and {base.name} were launched alike: this shows the spread between runs"


def _workload(base: Side, other: Side) -> Iterator[str]:
    same = [
        base.workload.get(what) is not None and other.workload.get(what) is not None for what in _REFUSED[:2]
    ]
    if not any(same):
        yield f"{other.name}: whether it was asked the same as {base.name} is not known"
    for what in _SAID:
        ours, theirs = base.workload.get(what), other.workload.get(what)
        if ours is not None and theirs is not None and ours != theirs:
            yield f"{other.name} is unlike {base.name} in {what}: {theirs} against {ours}"
    commands = [flags(side.workload.get("command") or ()) for side in (base, other)]
    if all(commands):
        unlike = [
            flag
            for flag in sorted(commands[0].keys() | commands[1].keys())
            if commands[0].get(flag) != commands[1].get(flag) and not flag.startswith(_PLACES)
        ]
        if unlike:
            yield f"{other.name} was measured by another command than {base.name}: {', '.join(unlike)}"
