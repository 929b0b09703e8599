"""How fast logs are read: prints a table. Run with `python -m tests.bench_explain [MB]`; tests gate ratios instead."""

import resource
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from collectors.reading.events import Log
from collectors.reading.report import report
from collectors.reading.state import State, step

RECORDINGS = Path(__file__).parent / "recordings"
BLOCK = 1 << 20


def repeated(megabytes: int) -> Iterator[bytes]:
    """Recordings one after the other, each time at a later hour, until there is enough."""
    logs = [
        (RECORDINGS / name / "server.log").read_bytes() for name in ("h200-base", "h200-good", "h200-bad")
    ]
    left, hour, block = megabytes << 20, 0, b""
    while left > 0:
        for log in logs:
            block += log.replace(b"12-01 0", b"12-%02d %d" % (1 + hour // 10 % 28, hour % 2))
            hour += 1
        while len(block) >= BLOCK:
            yield block[:BLOCK]
            left -= BLOCK
            block = block[BLOCK:]


def every_line_hits(count: int) -> bytes:
    line = (
        b"(APIServer pid=1) INFO 12-01 10:00:00 [loggers.py:257] Engine 000: Avg prompt throughput: 1.0 tokens/s, Avg "
        b"generation throughput: 2.0 tokens/s, Running: 1 reqs, Waiting: 0 reqs, GPU KV cache usage: 0.1%\n"
    )
    return line * count


HOSTILE = {
    "1 MB of bar frames": b"\rCapturing CUDA graphs (FULL):  96%|#####8| 49/51 [00:01<00:00, 26.29it/s]"
    * 14_000,
    "1 MB of glued frames": b"Capturing CUDA graphs (FULL):  96%|#####8| 49/51 [00:01<00:00, 26.29it/s]"
    * 14_000,
    "1 MB of open brackets": b"[" * (1 << 20),
    "1 MB of nested prefixes": b"(Worker_TP0 pid=1) " * 55_000,
    "1 MB of NULs": b"\0" * (1 << 20),
    "1 MB of percent signs": b"Loading: 5%|" * 87_000,
    "100 MB in one line": b"x" * (100 << 20),
}


def timed(blocks: Iterator[bytes]) -> tuple[float, int, State]:
    state, offset = State(), 0
    spent = 0.0
    for block in blocks:
        began = time.process_time()
        state = step(state, Log(t=0.0, offset=offset, data=block))
        spent += time.process_time() - began
        offset += len(block)
    began = time.process_time()
    report(state)
    return spent + time.process_time() - began, offset, state


def chunks(data: bytes) -> Iterator[bytes]:
    for at in range(0, len(data), BLOCK):
        yield data[at : at + BLOCK]


def main() -> None:
    megabytes = int(sys.argv[1]) if len(sys.argv) > 1 else 60
    rows = [(f"{megabytes} MB of recordings", repeated(megabytes))]
    rows += [("every line hits", chunks(every_line_hits(100_000)))]
    rows += [(name, chunks(data)) for name, data in HOSTILE.items()]
    sys.stdout.write(
        f"{'log':28} {'MB':>7} {'lines':>9} {'s':>7} {'MB/s':>7} {'lines/s':>10} {'peak MB':>8}\n"
    )
    for name, blocks in rows:
        seconds, size, state = timed(blocks)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        lines = state.log.lines
        sys.stdout.write(
            f"{name:28} {size / 1e6:7.1f} {lines:9,} {seconds:7.2f} {size / 1e6 / seconds:7.1f} "
            f"{lines / seconds:10,.0f} {peak:8.0f}\n"
        )


if __name__ == "__main__":
    main()
