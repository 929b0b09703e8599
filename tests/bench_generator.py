"""What one core of our load generator can do: python tests/bench_generator.py [CONCURRENCY …].

Runs the built-in benchmark against the fast fake endpoint in a process of its own, with no pause between steps, and
prints tok/s, requests/s and chunks/s beside the generator's own CPU share and what it says of itself.
"""

import subprocess
import sys
import time
from pathlib import Path

from launch import output
from launch.bench import builtin, prompts
from launch.bench.marks import Marks
from launch.bench.result import Result

PORT = 8312
ENDPOINT = Path(__file__).parent / "fakes/fake_endpoint.py"


def main(levels: tuple[int, ...]) -> None:
    server = subprocess.Popen([sys.executable, str(ENDPOINT), str(PORT)], stdout=subprocess.PIPE)
    try:
        assert server.stdout is not None
        server.stdout.readline()
        url = f"http://127.0.0.1:{PORT}"
        blank = Result(id="generator", kind="built-in", url=url, started=time.time(), nonce="g")
        ask = builtin.Ask(url=url, concurrency=levels, requests=(400,), max_tokens=256)
        result = builtin.run(ask, prompts.built_in(), blank, Marks(None, "g", ""), lambda _: None)
    finally:
        server.kill()
        server.wait()
    for level in result.levels:
        chunks = (level.step.n + level.completed) / level.seconds if level.step and level.seconds else 0.0
        own = level.generator
        output.data(
            f"concurrency {level.concurrency}: {level.tok_s or 0:.0f} tok/s, {level.request_s or 0:.1f} requests/s, "
            f"{chunks:.0f} chunks/s; generator {own.cpu_share if own else 0:.0%} of a core: "
            f"{own.why if own and own.limited else 'not the limit'}"
        )


if __name__ == "__main__":
    main(tuple(map(int, sys.argv[1:])) or (1, 8, 64))
