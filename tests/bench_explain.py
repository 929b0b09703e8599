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


_FRAME = b"Capturing CUDA graphs (FULL):  96%|#####8| 49/51 [00:01<00:00, 26.29it/s]"
# Each pattern of the reading is tried on such lines; the kinds are those that once took more than linear time.
HOSTILE = {
    "frames of a bar": b"\r" + _FRAME,
    "frames, glued": _FRAME,
    "frames of many bars": b"\r".join(b"Loading %d of" % n + _FRAME for n in range(90)) + b"\r",
    "open brackets": b"[",
    "open parentheses in lines": b"(" * 3000 + b"\n",
    "nested prefixes": b"(Worker_TP0 pid=1) ",
    "NULs": b"\0",
    "percent signs": b"Loading: 5%|",
    "digits": b"1",
    "stamps": b"12-01 10:00:00 ",
    "escapes": b"\x1b[1",
    "answers without an end": b'INFO:     127.0.0.1:1 - "GET /health ',
    "answers, glued": b'INFO:     127.0.0.1:1 - "GET /health HTTP/1.1" 200 OK',
    "tracebacks that never end": b"Traceback (most recent call last):\n",
    "tracebacks": b'Traceback (most recent call last):\n  File "a.py", line 1, in b\n    c()\nValueError: d\n',
    "quoted causes": b"ERROR 12-01 10:00:00 [core.py:1] RuntimeError: See root cause above ' \" ",
    "figures broken at commas": b"INFO 12-01 10:00:00 [m.py:1] SpecDecoding metrics: Mean acceptance: 1.0,\n",
    "nested JSON": b'{"message": ' * 40 + b"\n",
}


def hostile(name: str, size: int) -> bytes:
    """A log of `size` bytes made of the same part."""
    part = HOSTILE[name]
    return (part * (size // len(part) + 1))[:size]


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
    rows += [(f"1 MB: {name}", chunks(hostile(name, 1 << 20))) for name in HOSTILE]
    rows += [("100 MB in one line", chunks(b"x" * (100 << 20)))]
    sys.stdout.write(
        f"{'log':36} {'MB':>7} {'lines':>9} {'s':>7} {'MB/s':>7} {'lines/s':>10} {'peak MB':>8}\n"
    )
    for name, blocks in rows:
        seconds, size, state = timed(blocks)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        lines = state.log.lines
        sys.stdout.write(
            f"{name:36} {size / 1e6:7.1f} {lines:9,} {seconds:7.2f} {size / 1e6 / seconds:7.1f} "
            f"{lines / seconds:10,.0f} {peak:8.0f}\n"
        )


if __name__ == "__main__":
    main()
