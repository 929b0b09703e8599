"""What is read at a glance (answered requests, a bar's frames) is read as the long way reads it."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from collectors.reading.events import Log, UserNoise
from collectors.reading.log import reader, skim
from collectors.reading.log.state import LogState
from tests.run_folders import RECORDINGS

LOGS = sorted(p for p in RECORDINGS.rglob("*.log") if not p.name.endswith("bench.log"))
READY = b"(APIServer pid=5) INFO:     Application startup complete.\n"
LINES = (
    READY,
    b'INFO:     127.0.0.1:1 - "GET /health HTTP/1.1" 200 OK\n',
    b'(APIServer pid=5) INFO:     127.0.0.1:1 - "GET /health HTTP/1.1" 200 OK\r\n',
    b'(APIServer pid=5) INFO:     127.0.0.1:1 - "POST /v1/completions HTTP/1.1" 200 OK\n',
    b'(APIServer pid=5) INFO:     127.0.0.1:1 - "POST /v1/completions HTTP/1.1" 500 Internal Server Error\n',
    b'vllm-1  | INFO:     10.0.0.1:1 - "GET /metrics HTTP/1.1" 200 OK\n',
    b'2026-12-01T10:00:00.123456Z INFO:     10.0.0.1:1 - "GET /metrics HTTP/1.1" 200 OK\n',
    b'garbage INFO:     10.0.0.1:1 - "GET /metrics HTTP/1.1" 200 OK\n',
    b"Capturing CUDA graphs (FULL):  96%|#####8| 49/51 [00:01<00:00, 26.29it/s]\r",
    b"Loading safetensors checkpoint shards:  12% Completed | 1/8 [00:01<00:07,  1.00s/it]\r",
    b"(Worker_TP0 pid=7) Loading safetensors checkpoint shards:  25% Completed | 2/8 [00:02<00:06,  1.00s/it]\n",
    b"Traceback 5%|1   | 1/20 [00:01<00:19,  1.00it/s]\n",
    b"(EngineCore pid=6) ERROR 12-01 10:00:01 [core.py:9] EngineCore failed to start.\n",
    b"INFO 12-01 10:00:02 [core.py:9] init engine (profile, create kv cache, warmup model) took 1.50 seconds\n",
    b"Traceback (most recent call last):\n",
    b"torch.OutOfMemoryError: CUDA out of memory.\n",
    b"(APIServer pid=5) INFO 12-01 10:00:03 [launcher.py:9] Shutting down FastAPI HTTP server.\n",
)


def read(data: bytes) -> LogState:
    return reader.read(LogState(), Log(t=1.0, offset=0, data=data))


def the_long_way(data: bytes, monkeypatch: pytest.MonkeyPatch) -> LogState:
    with monkeypatch.context() as patched:
        patched.setattr(skim, "RUN_OF_ANSWERS", re.compile(rb"(?!)"))
        patched.setattr(skim, "frame_of", lambda _: None)
        return read(data)


@pytest.mark.parametrize(
    "path", LOGS, ids=lambda path: path.stem if path.stem != "server" else path.parent.name
)
def test_recordings(path: object, monkeypatch: pytest.MonkeyPatch) -> None:
    data = path.read_bytes()  # type: ignore[attr-defined]
    assert read(data) == the_long_way(data, monkeypatch)


@settings(max_examples=400)
@given(parts=st.lists(st.sampled_from(LINES), max_size=14))
def test_lines_in_any_order(parts: list[bytes]) -> None:
    data = b"".join(parts)
    assert read(data) == the_long_way(data, pytest.MonkeyPatch())


def test_a_rule_of_the_users_counts_beside_ours() -> None:
    muted = (UserNoise("mine", "thermal", "known"), UserNoise("polls", "GET /health", "many"))
    state = LogState(noise=muted)
    data = READY + b"ERROR 12-01 10:00:00 [gpu.py:9] thermal slowdown\n" + LINES[1] * 3
    found = reader.read(state, Log(t=1.0, offset=0, data=data))
    assert found.hidden_by_rule == {"mine": 1, "access": 3}
    assert found.problems == ()
    plain = read(data)
    assert [problem.rule for problem in plain.problems] == ["error-line"]
