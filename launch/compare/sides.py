"""What stands on one side of a comparison: a run, one benchmark of a run, or a saved result file."""

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from collectors.errors import SpecwatchError
from collectors.reading.acceptance import of_window
from collectors.reading.gain import Measured
from collectors.reading.serving import Benchmark, ServingState
from collectors.record.folder import RunFolder, RunInfo
from collectors.record.follow import Follower
from collectors.record.runs import find, scan
from launch import argv
from launch.bench import ownresult
from launch.bench.measured import measured, of_own, with_counters
from launch.bench.result import OwnResult, Result


class Side(msgspec.Struct, frozen=True, kw_only=True):
    """`workload`: what was asked of the server, where the result says so; only equal ones can be compared."""

    name: str
    source: str  # "run", "file"
    benchmark: str | None = None
    model: str | None = None
    workload: dict[str, Any] = {}
    levels: tuple[Measured, ...] = ()
    launch: RunInfo | None = None
    notes: tuple[str, ...] = ()

    @property
    def speculates(self) -> bool:
        """By what was counted; where nothing could be, by how it was launched."""
        said = self.launch.facts.argv if self.launch is not None else ()
        return any(level.speculates for level in self.levels) or argv.speculates(said)


def load(state_dir: Path, spec: str) -> Side:
    """`FILE`, `RUN` (its newest benchmark; of a name, the newest run that has one) or `RUN:BENCH`.

    Raises SpecwatchError where nothing was measured.
    """
    path = Path(spec).expanduser()
    if path.is_file():
        return _of_file(path)
    run, _, bench = spec.partition(":")
    first = find(state_dir, run)
    same_name = [f for f, info in scan(state_dir).runs if run == info.facts.name and f.id != first.id]
    nothing: SpecwatchError | None = None
    for folder in (first, *same_name):
        try:
            return _of_run(folder, bench.removeprefix("bench-"))
        except SpecwatchError as error:
            nothing = nothing or error
    assert nothing is not None
    raise nothing


def _of_run(folder: RunFolder, bench: str) -> Side:
    info = folder.info()
    files = sorted(folder.path.glob("bench-*.json"), key=lambda p: p.stat().st_mtime, reverse=True)
    results = [_decode(file) for file in files if file.stem.removeprefix("bench-").startswith(bench)]
    for result in sorted(results, key=lambda result: result.partial):  # the newest whole one
        side = _of_result(result, info.facts.name or folder.id)
        if side.levels:
            return msgspec.structs.replace(
                side, launch=info, notes=(*side.notes, *_which(result, results, bench))
            )
    return _of_record(folder, info, bench)


def _which(chosen: Result, results: list[Result], bench: str) -> Iterator[str]:
    """Which benchmark it is, where the user did not say."""
    if len(results) > 1 and not bench:
        at = time.strftime("%H:%M", time.localtime(chosen.started))
        yield f"benchmark {chosen.id} of {at}, one of {len(results)}; RUN:BENCH chooses another"
    if chosen.partial:
        yield f"benchmark {chosen.id} was cut short"


def _of_file(path: Path) -> Side:
    try:
        raw = path.read_bytes()
        found = msgspec.json.decode(raw)
    except (OSError, msgspec.MsgspecError):
        found = None
    if isinstance(found, dict) and "levels" in found:
        return _of_result(_decode(path), _name(path))
    own = ownresult.read(path)
    if own is None or own.tok_s is None:
        raise SpecwatchError(
            f"{path} is no benchmark result that is known here",
            "a bench-*.json of a run, or what `vllm bench serve --save-result` wrote",
        )
    return Side(
        name=_name(path),
        source="file",
        model=own.model,
        workload=_asked(own),
        levels=(of_own(own),),
        notes=(f"a saved result holds no {'' if own.tok_s_ci95 else 'interval and no '}launch",),
    )


def _asked(own: OwnResult) -> dict[str, Any]:
    return {
        "input tokens": own.input_tokens,
        "output tokens": own.output_tokens,
        "requests": own.completed,
        "request rate": own.request_rate,
    }


def _name(path: Path) -> str:
    """Two saved results are often of one name in two folders."""
    return f"{path.resolve().parent.name}/{path.stem}"


def _decode(path: Path) -> Result:
    try:
        return msgspec.json.decode(path.read_bytes(), type=Result)
    except (OSError, msgspec.MsgspecError) as error:
        raise SpecwatchError(
            f"{path} is no benchmark result: {error}", "run `specwatch bench` again"
        ) from error


def _of_result(result: Result, name: str) -> Side:
    levels = measured(result)
    if not levels and result.own is not None and result.own.tok_s is not None:
        levels = (of_own(result.own, result.counters),)
    return Side(
        name=name,
        source="run",
        benchmark=result.id,
        model=result.model,
        workload={
            "prompts": (result.prompts or {}).get("sha256"),
            "max tokens": result.max_tokens,
            "api": result.api,
            "temperature": result.temperature,
            "command": result.command,
            **(_asked(result.own) if result.own else {}),
        },
        levels=levels,
        notes=result.notes,
    )


def _of_record(folder: RunFolder, info: RunInfo, bench: str) -> Side:
    """A run whose benchmarks stand in its record only (marks around a command, or an imported recording)."""
    follower = Follower(folder)
    while follower.advance():
        pass
    serving = follower.state.serving
    chosen = [
        b for b in serving.benchmarks if b.window is not None and (not bench or bench in (b.id, b.label))
    ]
    by_load = {
        (m.concurrency, m.temperature, m.context, m.name): m for m in (_of_mark(serving, b) for b in chosen)
    }
    levels = tuple(by_load.values())  # of two benchmarks of one load the newer
    if not levels:
        raise SpecwatchError(
            f"run {folder.id} holds no finished benchmark" + (f" {bench}" if bench else ""),
            "`specwatch bench` makes one",
        )
    return Side(
        name=info.facts.name or folder.id,
        source="run",
        benchmark=bench or None,
        model=(follower.state.log.model or info.facts.model_path),
        levels=levels,
        launch=info,
        notes=("figures are the server's counters between the record's marks",),
    )


def _of_mark(serving: ServingState, bench: Benchmark) -> Measured:
    assert bench.window is not None
    counted = of_window(bench.window, serving.slots)
    own = ownresult.of(bench.result, bench.id)  # what a wrapped command said of its own window
    if own is not None and own.tok_s is not None:
        return of_own(own, counted)
    concurrency, temperature, context = (bench.plan.get(n) for n in ("concurrency", "temperature", "context"))
    asked = Measured(
        name=bench.label or bench.id,
        concurrency=concurrency if isinstance(concurrency, int) else None,
        temperature=float(temperature) if isinstance(temperature, int | float) else None,
        context=context if isinstance(context, int) else None,
        mixed=concurrency != 1,  # the counters' mean holds every prefill
    )
    return with_counters(asked, counted)
