"""Any bytes give a valid reading; recordings cut and joined anywhere never tell what cannot have happened."""

import itertools
import json
import math
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import structs

from collectors.reading.events import Exit, Health, Log
from collectors.reading.log.lines import lines
from collectors.reading.log.phases import ORDER
from collectors.reading.log.rules.noise import NOISE
from collectors.reading.log.rules.table import RULES, is_banner
from collectors.reading.log.state import LogState
from collectors.reading.report import report
from collectors.reading.state import State, step
from tests.run_folders import RECORDINGS

PHASES = {"starting", "loading", "compiling", "capturing", "ready", "serving", "stopped", "failed"}
LOGS = sorted(p for p in RECORDINGS.rglob("*.log") if not p.name.endswith("bench.log"))
RAW = {path: path.read_bytes()[:60_000] for path in LOGS}
READY = b"Application startup complete."


def read(*chunks: bytes) -> State:
    state = State()
    for chunk in chunks:
        state = step(state, Log(t=float(state.log.size), offset=state.log.size, data=chunk))
    return state


def checked(state: State) -> dict[str, Any]:
    """The reading as a program gets it: valid JSON of the promised shape."""
    found: dict[str, Any] = json.loads(msgspec.json.encode(report(state)), parse_constant=pytest.fail)
    assert found["v"] == 1
    assert found["phase"] in PHASES
    assert found["ready"] == (found["phase"] in ("ready", "serving"))
    assert found["engine"] in ("vllm", "sglang", None)
    cause = found["root_cause"]
    for row in [*found["problems"], *([cause] if cause else [])]:
        assert len(row["line"]) <= 2000
        assert not set(row["line"]) & {"\n", "\r", "\x1b", "\0"}
        assert row["lineno"] is None or 1 <= row["lineno"] <= state.log.lines + 1
    if found["phase"] == "failed":
        assert any(problem["severity"] == "error" for problem in found["problems"])
    for row in found["timeline"]:
        assert row["phase"] in PHASES
        assert row["seconds"] is None or row["seconds"] >= 0
    bar = found["progress"]
    if bar is not None:
        assert bar["done"] is None or math.isfinite(bar["done"])
        assert bar["eta_s"] is None or bar["eta_s"] >= 0
    return found


# -- any bytes

WORDS = [
    *(example.encode() for rule in RULES for example in rule.examples),
    *(example.encode() for rule in NOISE for example in rule.examples),
    b"Loading safetensors checkpoint shards:  50% Completed | 2/4 [00:20<00:20, 10.00s/it]",
    b"Loading safetensors checkpoint shards:  50% Completed | 2G/4G [99:99:99<?, ?B/s]",
    b"Capturing CUDA graphs (FULL):  96%|#####8| 49/51 [00:01<00:00, 26.29it/s]",
    b"Traceback (most recent call last):", b'  File "x.py", line 1, in <module>', b"ValueError: no", b"Killed",
    b"(Worker_TP0 pid=1) ERROR 12-01 10:00:00 [multiproc_executor.py:953] WorkerProc failed to start.",
    b"RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {}",
    b'{"asctime": "2026-01-01 00:00:00", "levelname": "ERROR", "message": "a\\nb", "process": 1e99, "lineno": []}',
    b"SpecDecoding metrics: Mean acceptance length: 9e9, Accepted: 5 tokens, Drafted: 0 tokens, Per-position ",
    b"\x1b[1;36m", b"\x1b]0;", b"\x9b", b"\xff\xfe", b"\0\0\0", b"\xe2\x80\xae", b"0" * 400 + b"%|", b"[" * 300,
    b"(APIServer pid=99999999999)", b"vllm-1  | ", b"2026-02-26T16:41:05.123456789Z stdout F ",
]  # fmt: skip
pieces = st.sampled_from(WORDS) | st.binary(max_size=40) | st.sampled_from([b"\n", b"\r", b"\r\n", b"\n\n"])


@settings(max_examples=250, deadline=None)
@given(parts=st.lists(pieces, max_size=30))
def test_any_words_in_any_order(parts: list[bytes]) -> None:
    whole, split = read(b"".join(parts)), read(*parts)
    checked(split)
    assert report(whole).phase == report(split).phase
    assert whole.log.hidden_by_rule == split.log.hidden_by_rule


@settings(max_examples=150, deadline=None)
@given(raw=st.binary(max_size=4000))
def test_any_bytes(raw: bytes) -> None:
    assert checked(read(raw))["root_cause"] is None


@pytest.mark.parametrize(
    "raw",
    [
        b"", b"\0" * 100_000, b"\xff" * 100_000, b"\n" * 100_000, b"\r" * 100_000, b"\x1b[" * 50_000, b"%|" * 50_000,
        b"x" * 3_000_000, b"{" * 100_000, b"(" * 100_000, b"9" * 100_000 + b"% Completed | 1/2",
    ],
    ids=range(11),
)  # fmt: skip
def test_long_and_empty_files(raw: bytes) -> None:
    assert (
        checked(read(*(raw[at : at + (1 << 20)] for at in range(0, len(raw), 1 << 20))))["phase"]
        == "starting"
    )


@pytest.mark.parametrize(
    "digits", ["9" * 150, "9" * 400, "0" * 150, "1." * 60, "." * 20, "1..2", "9e99", "1" * 30 + "T"]
)
def test_numbers_that_nobody_prints(digits: str) -> None:
    line = f"Loading safetensors checkpoint shards:  50% Completed | {digits}/{digits} [{digits}<{digits}, 1s/it]\n"
    more = f"(Worker_TP0 pid={digits}) INFO 12-01 03:26:30 [x.py:1] Model loading took {digits} GiB and 6 seconds\n"
    spec = (
        f"SpecDecoding metrics: Mean acceptance length: {digits}, Accepted: {digits} tokens, Drafted: {digits} tokens, "
        f"Per-position acceptance rate: 0.5, 0.{digits}\n"
    )
    stats = f"INFO 05-01 10:00:00 [l.py:1] Avg prompt throughput: {digits} tokens/s, Avg generation "
    queue = f"throughput: {digits} tokens/s, Running: {digits} reqs, Waiting: {digits} reqs, GPU KV cache: {digits}%\n"
    size = (
        f"INFO 07-04 03:08:32 [w.py:8] Filesystem type for checkpoints: EXT4. Checkpoint size: {digits} GiB"
    )
    kv = f"\n(Worker pid=3) INFO 02-12 19:50:09 [g.py:3] Available KV cache memory: -{digits} GiB\n"
    checked(read(*(text.encode() for text in (line, more, spec, stats, queue, size, kv))))


# -- recordings, cut and joined

ends = st.tuples(st.sampled_from(LOGS), st.floats(0, 1), st.floats(0, 1))


def spliced(parts: list[tuple[Any, float, float]]) -> bytes:
    joined = b""
    for path, a, b in parts:
        raw = RAW[path]
        begin, end = sorted((int(a * len(raw)), int(b * len(raw))))
        joined += raw[begin:end]
    return joined[:40_000]


def one_by_one(raw: bytes) -> Iterator[tuple[bytes, LogState]]:
    """Every line and the log after it."""
    state = State()
    for line in raw.splitlines(keepends=True):
        state = step(state, Log(t=float(state.log.size), offset=state.log.size, data=line))
        yield line, state.log


def stretches(log: LogState) -> list[list[int]]:
    """Places of the steps in their order, anew after a drafter: it may be loaded late, and captured after that."""
    found: list[list[int]] = [[]]
    for each in log.steps:
        if each.name == "drafter":
            found.append([])
        found[-1].append(ORDER.index(each.name))
    return found


@settings(max_examples=60, deadline=None)
@given(parts=st.lists(ends, min_size=1, max_size=4))
def test_spliced_recordings(parts: list[tuple[Any, float, float]]) -> None:
    """Dead stays dead, and progress and steps go forward, until a new start's banner."""
    dead, before = False, LogState()
    for line, log in one_by_one(spliced(parts)):
        anew = any(is_banner(part) for part in lines(line.rstrip(b"\r\n"), 1, 0, 0.0))
        if anew:
            dead, before = False, LogState()
        assert not (dead and log.ready and not before.ready), line
        dead = log.suspects.fatal is not None
        bars = {(bar.label, bar.model, bar.total): bar.done for bar in before.bars}
        assert [b for b in log.bars if b.done < bars.get((b.label, b.model, b.total), 0.0)] == [], line
        for stretch in stretches(log):
            assert stretch == sorted(stretch), line
        before = log
    checked(read(spliced(parts)))


@settings(max_examples=60, deadline=None)
@given(parts=st.lists(ends, min_size=1, max_size=3), cuts=st.lists(st.integers(0, 40_000), max_size=6))
def test_spliced_recordings_in_any_chunks(parts: list[tuple[Any, float, float]], cuts: list[int]) -> None:
    """What is said of it (test_one_state.py compares whole States on whole recordings)."""
    raw = spliced(parts)
    edges = [0, *sorted(cut for cut in cuts if cut < len(raw)), len(raw)]
    state = State()
    for a, b in itertools.pairwise(edges):
        state = step(state, Log(t=1.0, offset=a, data=raw[a:b]))
    found, want = (
        structs.asdict(report(each)) for each in (state, step(State(), Log(t=1.0, offset=0, data=raw)))
    )
    for reading in (found, want):
        reading["timeline"] = [(row["phase"], row["step"], row["detail"]) for row in reading["timeline"]]
    assert found == want


@settings(max_examples=60, deadline=None)
@given(
    parts=st.lists(ends, min_size=1, max_size=2),
    health=st.sampled_from((None, 200, 503)),
    owner=st.sampled_from(("same", "other", "unknown")),
    end=st.none()
    | st.builds(
        Exit, t=st.just(1e9), code=st.none() | st.integers(0, 255), signal=st.none() | st.integers(1, 31)
    ),
)
def test_what_else_is_known_agrees_with_the_log(
    parts: list[tuple[Any, float, float]], health: int | None, owner: str, end: Exit | None
) -> None:
    state = step(read(spliced(parts)), Health(t=1e8, status=health, owner=owner))
    state = state if end is None else step(state, end)
    found = checked(state)
    if end is not None:
        assert found["phase"] in ("failed", "stopped")
    if owner == "other" and health == 200:
        assert not found["ready"]


# -- words that are not the server's

SAYS_READY = [
    b"+ grep -q 'Application startup complete.' server.log\n",
    b"until grep 'Application startup complete.' log; do sleep 1; done\n",
    b"waiting for 'Application startup complete.'\n",
    b"Application startup complete.\n",
    b"vllm-1  | waiting until it says: Application startup complete.\n",
    b"2026-02-26T16:41:05.123Z stdout F echo INFO: Application startup complete.\n",
    b"INFO 12-01 03:25:00 [logger.py:40] Received request a: prompt: 'INFO:     Application startup complete.', x\n",
    b"(APIServer pid=1) INFO 12-01 03:25:00 [logger.py:40] Received request cmpl-1: prompt: "
    b"'The server is fired up and ready to roll!'\n",
    b"(APIServer pid=1) INFO 12-01 03:25:00 [x.py:4] Generated response: 'INFO:     Application startup complete.'\n",
    b"ERROR: INFO:     Application startup complete.\n",
    b"INFO:     Application startup complete. (says the script)\n",
    b"The server is fired up and ready to roll!\n",
    b'{"level": "info", "msg": "Application startup complete."}\n',
    b"ready: Uvicorn running on http://0.0.0.0:8000\n",
]
BANNER = (
    b"(APIServer pid=1) INFO 12-01 03:25:00 [startup.py:40] vLLM server version 0.32.0, serving model m/K\n"
)


@pytest.mark.parametrize("words", SAYS_READY, ids=range(len(SAYS_READY)))
@pytest.mark.parametrize("before", [b"", BANNER], ids=["alone", "after-a-banner"])
def test_a_wrappers_or_a_users_words_are_not_ready(words: bytes, before: bytes) -> None:
    assert not report(read(before, words)).ready


@pytest.mark.parametrize(
    "wrapper",
    [
        b"", b"vllm-1  | ", b"[pod/vllm-0/vllm] ", b"2026-02-26T16:41:05.123456789Z stdout F ", b"\x1b[32m",
        b"Dec 01 03:25:00 host vllm[12]: ", b"\x1b_bk;t=1733018700000\x07", b"0: ", b"(APIServer pid=1) ",
    ],
    ids=range(9),
)  # fmt: skip
def test_the_servers_own_word_is_ready_behind_any_wrapper(wrapper: bytes) -> None:
    found = report(read(BANNER, wrapper + b"INFO:     " + READY + b"\n"))
    assert found.ready
    assert READY.decode() in str(found.ready_line)


def test_ready_in_a_prompt_of_a_run_that_is_loading() -> None:
    """Every recorded start, with a user's prompt after each of its lines until it is ready."""
    said = b"'INFO:     Application startup complete.'"
    prompt = b"INFO 12-01 03:25:00 [logger.py:40] Received request a: prompt: " + said + b"\n"
    raw = RAW[RECORDINGS / "cpu" / "22-big-throttled-100MBps.log"]
    start = raw[: raw.index(READY)].rsplit(b"\n", 1)[0] + b"\n"
    mixed = b"".join(line + prompt for line in start.splitlines(keepends=True))
    assert not report(read(mixed)).ready
    assert not report(read(start)).ready


def test_the_lines_of_a_prompt_are_its_users() -> None:
    """What stands in a logged prompt of several lines is no event, up to its end or the next signed line."""
    asked = b"INFO 10-18 04:00:00 [logger.py:39] Received request c-1: prompt: 'why does this fail?\n"
    words = (
        b"Traceback (most recent call last):\n" + b'  File "a.py", line 1, in f\n'
        b"RuntimeError: Engine core initialization failed. See root cause above.\nKilled\n"
        b"INFO:     " + READY + b"\n"
    )
    found = report(read(BANNER + b"INFO:     " + READY + b"\n" + asked + words.replace(b"INFO:     ", b"")))
    assert (found.phase, found.root_cause) == ("ready", None)
    for chunk in (1, 7, 64):
        data = BANNER + asked + b"Killed\n', params: SamplingParams(n=1)\nKilled\n"
        state = read(*(data[at : at + chunk] for at in range(0, len(data), chunk)))
        assert report(state).phase == "failed"  # the second one was the shell's
        assert state.log.hidden_by_rule["request-echo"] == 3
