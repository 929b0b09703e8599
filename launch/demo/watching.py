"""What a server of the demo is doing, for a line of progress."""

from collections.abc import Callable

from collectors.errors import SpecwatchError
from collectors.reading.serving import Benchmark
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
    reading = summary.status(run)
    said = (reading.phase, summary.progress(reading), summary.coming(run.state))
    return "  ".join(filter(None, said))


def benchmark(bench: Benchmark) -> str:
    """`c8: 3 of 16 requests, 412 tok/s, about 9 s left`, as `bench` says it."""
    now = bench.progress
    text = f"{bench.label}: {now.get('done', 0)} of {now.get('total', DASH)} requests"
    if now.get("tok_s") is not None:
        text += f", {now['tok_s']:.0f} tok/s"
    if now.get("failed"):
        text += f", {now['failed']} failed"
    return text if now.get("left_s") is None else text + f", about {figures.about(now['left_s'])} left"
