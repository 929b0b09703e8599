"""`specwatch demo`: the whole job without a GPU, on a real vLLM."""

import contextlib
import os
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from collectors.errors import ExitCode, SpecwatchError
from launch import output
from launch.bench.result import Result
from launch.demo import closing, models, serve, setup, signals, watching
from launch.demo.engines import Engine, engine_on_path
from launch.demo.job import Job
from launch.demo.stages import Stages


@click.command("demo")
@click.option(
    "--cache-dir",
    metavar="DIR",
    help="Where the engine and the models are kept.  [$XDG_CACHE_HOME/specwatch/engine]",
)
@click.option("--no-screen", is_flag=True, help="Lines instead of the screen; so too without a terminal.")
@click.option("--no-baseline", is_flag=True, help="Do not measure the same server without its drafter first.")
@click.option("--keep", is_flag=True, help="Leave the server running at the end.")
@click.pass_obj
def command(
    options: dict[str, Any], cache_dir: str | None, no_screen: bool, no_baseline: bool, keep: bool
) -> None:
    """The whole job without a GPU: a real vLLM, a tiny model, an EAGLE-3 drafter made on the spot.

    Takes the `vllm` on PATH, else sets up a CPU build in a cache folder (a minute or more, 2.5 GB, once). Serves the
    model without and then with the drafter, loads slowly enough to watch, measures both, says what
    speculation bought, and stops what it started. Ctrl-C too leaves nothing running.
    """
    cache = setup.cache_folder(cache_dir)
    stages = Stages()
    engine = _engine(cache, stages)
    with stages.stage("a tiny model and a drafter for it"):
        pair = models.tiny_pair(engine, cache)
    screen = not no_screen and _has_terminal()
    base = None if no_baseline else _baseline(options, engine, pair, stages)
    job = Job(options, "demo")
    with _stopped(job, keep=keep):
        job.launch(
            serve.argv(engine, pair, serve.free_port(), speculate=True),
            serve.environment(pair, dict(os.environ), slow=True),
        )
        found = _on_screen(job, stages, keep=keep) if screen else _in_lines(job, stages)
        state = job.state
    for line in closing.lines(state, found, base):
        output.data(line)
    output.data(f"record: {job.folder.path}")
    if keep:
        output.data(f"server: {job.folder.info().url}")
        output.data(f"        `specwatch stop {job.id}` ends it")
    else:
        output.data(f"        `specwatch replay {job.id}` shows it again")


def _has_terminal() -> bool:
    return sys.stdout.isatty() and sys.stdin.isatty() and os.environ.get("TERM", "dumb") != "dumb"


def _engine(cache: Path, stages: Stages) -> Engine:
    with stages.stage("looking for a vllm on PATH"):
        found = engine_on_path()
    if found is not None and found.usable:
        output.say(f"{found.vllm}, version {found.version}, on the {'GPU' if found.gpu else 'CPU'}")
        return found
    why = "there is none" if found is None else f"{found.vllm} is a build for GPUs and there is no GPU"
    output.say(f"{why}: using a CPU build of our own in {cache}")
    return setup.set_up(cache, stages)


def _baseline(options: dict[str, Any], engine: Engine, pair: models.Pair, stages: Stages) -> Result:
    """The same server without its drafter: what the speed-up is measured against."""
    job = Job(options, "demo-baseline")
    with _stopped(job):
        argv = serve.argv(engine, pair, serve.free_port(), speculate=False)
        job.launch(argv, serve.environment(pair, dict(os.environ), slow=False))
        return _in_lines(job, stages)


def _in_lines(job: Job, stages: Stages) -> Result:
    job.wait(stages)
    return job.bench(stages)


def _on_screen(job: Job, stages: Stages, *, keep: bool) -> Result:
    """The screen, while the benchmark begins by itself once the server is ready; leaving it early stops nothing."""
    from tui.app import run_app

    result: list[Result | SpecwatchError] = []

    def work() -> None:
        try:
            job.wait()
            result.append(job.bench())
        except SpecwatchError as problem:
            result.append(problem)

    worker = threading.Thread(target=work, daemon=True)
    worker.start()
    run_app(
        job.folder,
        leave="leave it running" if keep else "leave the screen",
        standing=lambda: _standing(result, keep=keep),
    )
    if (
        worker.is_alive() and job.state.life.stop_asked_t is not None
    ):  # its benchmark would hang on the dying server
        raise SpecwatchError(
            "the demo's server was stopped before it was measured", code=ExitCode.SERVER_FAILED
        )
    if worker.is_alive():
        with stages.stage("start and benchmark go on", watching.look(job.folder)):
            worker.join()
    if isinstance(result[0], SpecwatchError):
        raise result[0]
    return result[0]


def _standing(result: list[Result | SpecwatchError], *, keep: bool) -> str:
    """What the screen says once there is nothing more to come."""
    if not result:
        return ""
    if isinstance(result[0], SpecwatchError):
        return f"The demo ends here: {result[0].message}."
    does = "prints the figures, the server goes on" if keep else "stops the server and prints the figures"
    return f"The demo has measured what it wanted: q {does}."


@contextlib.contextmanager
def _stopped(job: Job, *, keep: bool = False) -> Iterator[None]:
    """Whatever ends the demo (an error, Ctrl-C, SIGTERM, a hang-up) ends its server too."""
    with signals.leaving():
        try:
            yield
            if not keep:
                job.stop()
        except BaseException:
            with signals.ignored():  # a second Ctrl-C must not leave half of the server behind
                job.stop(hurry=True)
            raise
