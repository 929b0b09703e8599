"""timings.jsonl in the state folder: how long each step of earlier starts took, for the estimate of arrival.

One line a ready run, appended with O_APPEND by whichever recorder saw it. A run is compared only with runs of
its key: what decides how long a start takes.
"""

import datetime
import os
from collections.abc import Iterator
from pathlib import Path

import msgspec

from collectors.reading.events import PastRun, RunFacts
from collectors.reading.state import State
from collectors.reading.timeline import spans
from collectors.record.folder import RunFolder, RunInfo

FILE = "timings.jsonl"
KEPT = 20  # newest of a key: the estimate is the median of five of one class, cold or warm
COLD_SHARE = 0.5

# What of the command line decides how long a start takes, by vLLM's and SGLang's names.
_FLAGS = {
    "tp": ("--tensor-parallel-size", "-tp", "--tp-size", "--tp"),
    "pp": ("--pipeline-parallel-size", "-pp", "--pp-size"),
    "dp": ("--data-parallel-size", "-dp", "--dp-size", "--dp"),
    "load": ("--load-format",),
    "quantization": ("--quantization", "-q"),
    "eager": ("--enforce-eager", "--disable-cuda-graph"),
    "speculation": ("--speculative-config", "-sc", "--speculative-algorithm"),
}


class Line(msgspec.Struct, frozen=True):
    key: str
    run: PastRun


def key(facts: RunFacts, host: str, version: str | None) -> str:
    """What must agree for two starts to be comparable, as one readable string. `version`: the engine's."""
    minor = ".".join((version or "?").split(".")[:2])
    parts = [host, facts.model_path or "?", str(sum(facts.shard_bytes)), facts.engine or "?", minor]
    parts += [f"{name}={value}" for name, names in _FLAGS.items() if (value := _flag(facts.argv, names))]
    if facts.drafter_path:
        parts.append(f"drafter={facts.drafter_path}:{sum(facts.drafter_bytes)}")
    return " ".join(parts)


def key_of(info: RunInfo) -> str:
    return key(info.facts, info.host, info.versions.get(info.facts.engine or "vllm"))


def history(state_dir: Path, wanted: str) -> tuple[PastRun, ...]:
    """The earlier ready runs of the key, newest last, at most KEPT. Damaged lines are passed over."""
    return tuple(line.run for line in _lines(state_dir / FILE) if line.key == wanted)[-KEPT:]


def append(folder: RunFolder, info: RunInfo, state: State) -> None:
    """At ready: add this run's steps. Raises nothing: an estimate lost is no reason to stop recording.

    Without a model (a script of the user's around the server) nothing says which starts are alike: none is kept.
    """
    if info.facts.model_path is None:
        return
    line = Line(key_of(info), past_run(state))
    path = folder.root / FILE
    try:
        fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        try:
            os.write(fd, msgspec.json.encode(line) + b"\n")
        finally:
            os.close(fd)
    except OSError:
        return


def past_run(state: State) -> PastRun:
    """The durations of the steps up to ready; steps of one name are summed."""
    ready = state.log.ready_t if state.log.ready_t is not None else state.t
    steps: dict[str, float] = {}
    for step, t0, t1 in spans(state):
        if step.name in ("ready", "serving", "shutdown") or t0 > ready:
            continue
        seconds = min(t1 if t1 is not None else ready, ready) - t0
        steps[step.name] = round(steps.get(step.name, 0.0) + max(0.0, seconds), 2)
    when = ""
    if state.wall0 is not None:
        when = datetime.datetime.fromtimestamp(state.wall0, datetime.UTC).date().isoformat()
    return PastRun(steps=steps, total=round(ready, 2), cold=_cold(state), when=when)


def _cold(state: State) -> bool | None:
    """Whether the weights came from storage: bytes read from it while they loaded, against their size."""
    size = sum(state.run.shard_bytes)
    loading = [s for s in state.log.steps if s.name == "weights"]
    if not size or not loading:
        return None
    begin, end = loading[0].t0, loading[-1].t1 or state.t
    points = [(t, v) for t, v in state.hosts.read.points if v is not None]
    before = [v for t, v in points if t <= begin]
    after = [v for t, v in points if t <= end]
    if not after or len(points) < 2:
        return None
    return after[-1] - (before[-1] if before else 0.0) >= COLD_SHARE * size


def _lines(path: Path) -> Iterator[Line]:
    try:
        raw = path.read_bytes()
    except OSError:
        return
    for line in raw.splitlines():
        try:
            yield msgspec.json.decode(line, type=Line)
        except (msgspec.MsgspecError, UnicodeDecodeError):
            continue


def _flag(argv: tuple[str, ...], names: tuple[str, ...]) -> str | None:
    """The value of a flag, written `--flag V`, `--flag=V` or with `_` for `-`; "on" where there is none."""
    for place, word in enumerate(argv):
        name, equals, value = word.partition("=")
        if name.replace("_", "-") not in names:
            continue
        if equals:
            return value
        after = argv[place + 1] if place + 1 < len(argv) else "-"
        return "on" if after.startswith("-") else after
    return None
