"""What a server of the demo is doing, for a line of progress."""

from collections.abc import Callable

from collectors.errors import SpecwatchError
from collectors.reading.report import report
from collectors.reading.serving import Benchmark
from collectors.reading.state import State
from collectors.reading.timeline import spans
from collectors.record.folder import RunFolder
from collectors.record.follow import Follower
from launch import figures, summary
from launch.figures import DASH


def look(folder: RunFolder) -> Callable[[], str]:
    """To be asked again and again; "" where nothing can be said."""
    run = Follower(folder)

    def now() -> str:
        try:
            run.advance()
            return _doing(run)
        except SpecwatchError:
            return ""

    return now


def _doing(run: Follower) -> str:
    running = [bench for bench in run.state.serving.benchmarks if bench.end_t is None]
    if running:
        return benchmark(running[-1])
    return start(run.state)


def start(state: State) -> str:
    """`loading: weights 12/32, ready in about 20 s (median of 3 earlier starts)`"""
    now = report(state)
    step = next((step.name for step, _, t1 in spans(state) if t1 is None), None)
    where = now.phase if step is None or now.ready else f"{now.phase}: {step}"
    if now.progress is not None and now.progress.get("total"):
        where += f" {figures.number(now.progress['done'])}/{figures.number(now.progress['total'])}"
    return ", ".join(filter(None, (where, summary.coming(state))))


def benchmark(bench: Benchmark) -> str:
    """`c8: 3/16 requests, 412 tok/s, 9 s left`"""
    now = bench.progress
    text = f"{bench.label}: {now.get('done', 0)}/{now.get('total', DASH)} requests"
    if now.get("tok_s") is not None:
        text += f", {now['tok_s']:.0f} tok/s"
    if now.get("failed"):
        text += f", {now['failed']} failed"
    return text if now.get("left_s") is None else text + f", {figures.about(now['left_s'])} left"
