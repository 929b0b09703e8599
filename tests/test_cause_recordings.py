"""The cause in every recording that failed, and none in those that did not; spliced and cut at random."""

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from collectors.reading.log import needles
from collectors.reading.log.cause import CauseFinder, Conclusion, Suspects, conclude
from collectors.reading.log.lines import Line, lines

HERE = Path(__file__).parent / "recordings"

# recording: the rule of its cause, and the line on which it stands; None: it failed and the log cannot say why
CAUSES: dict[str, tuple[str | None, int] | None] = {
    "cpu/00-fail-torchvision-cuda-build.log": ("torchvision-mismatch", 42),
    "cpu/17-eagle3-synthetic.log": (None, 173),
    "cpu/30-fail-default-memory-0.92.log": ("host-memory-wanted", 47),
    "cpu/31-fail-no-such-model.log": ("hub-offline", 62),
    "cpu/31b-fail-no-such-model-online.log": ("hub-unreachable", 98),
    "cpu/31c-fail-no-such-abs-path.log": ("no-such-path", 52),
    "cpu/31d-fail-drafter-path.log": ("no-such-path", 57),
    "cpu/32-fail-invalid-flag.log": ("unknown-argument", 5),
    "cpu/33-fail-invalid-spec-json.log": ("bad-json-argument", 3),
    "cpu/34-fail-port-in-use.log": ("port-in-use", 38),
    "cpu/35-fail-truncated-shard.log": ("shard-truncated", 156),
    "cpu/36-fail-garbled-shard.log": ("shard-garbled", 156),
    "cpu/37-fail-missing-shard.log": ("shard-missing", 101),
    "cpu/38b-drafter-hidden-size-load.log": ("shapes-at-run", 182),
    "cpu/39-fail-drafter-arch.log": ("unknown-architecture", 54),
    "cpu/40-fail-drafter-shape.log": ("weight-shape", 138),
    "cpu/41-fail-kv-too-small.log": ("kv-cache-too-small", 71),
    "cpu/42-fail-kv-too-small-max-len.log": ("kv-cache-too-small", 72),
    "cpu/43-fail-max-len-over-config.log": ("max-model-len", 53),
    "cpu/44-fail-no-weights.log": ("no-weights", 98),
    "cpu/45-fail-bad-config-json.log": ("bad-config-json", 73),
    "cpu/50-kill-engine-serving.log": ("process-died", 120),
    "cpu/50b-kill-worker-serving.log": ("process-died", 111),
    "cpu/52-kill-worker-loading.log": None,
    "cpu/53-kill-engine-loading.log": None,
    "cpu/53b-kill-engine-slowload.log": None,
    "eagle16/dsv3-bf16-amx-dies.log": ("backend-unsupported", 120),
    "eagle16/dsv3-eagle3-unpatched.log": ("eagle3-target-refused", 57),
    "eagle16/dsv3-eagle3-whitelist-only.log": ("eagle3-no-interface", 76),
    "eagle16/dsv3-mla-unpatched.log": ("backend-unsupported", 97),
    "eagle16/kimi-eagle3-no-interface.log": ("eagle3-no-interface", 91),
    "eagle16/kimi-eagle3-unpatched.log": ("eagle3-target-refused", 63),
    "eagle16/kimi-eagle3-whitelist-only.log": ("eagle3-image-token", 93),
    "eagle16/v16-llama-4layers-dies.log": ("shapes-at-run", 153),
    "eagle16/v32-kimi-eagle3.log": (None, 96),
    "h200-gpu-held-by-orphan/server.log": ("gpu-memory-held", 58),
    "h200-spawn-failure/server.log": ("main-guard", 126),
}
LOGS = sorted(
    str(path.relative_to(HERE)) for path in HERE.rglob("*.log") if not path.name.endswith("bench.log")
)


def numbered(raw: bytes) -> Iterator[Line]:
    offset = 0
    for lineno, row in enumerate(raw.split(b"\n"), 1):
        for part in row.split(b"\r"):
            yield from lines(part, lineno, offset, float(lineno))
            offset += len(part) + 1


def feed(finder: CauseFinder, line: Line) -> None:
    if finder.open or needles.of_failures(line.text):
        finder.see(line)


def read(raw: bytes) -> Conclusion:
    finder = CauseFinder(Suspects())
    for line in numbered(raw):
        feed(finder, line)
    return conclude(finder.freeze(), stopping=False)


@pytest.mark.parametrize("name", LOGS)
def test_the_cause_of_each_recording(name: str) -> None:
    found = read((HERE / name).read_bytes())
    assert found.failed == (name in CAUSES)
    if name not in CAUSES:
        assert found.cause is None
        assert [problem for problem in found.problems if problem.severity == "error"] == []
        return
    want = CAUSES[name]
    assert found.in_view == (want is not None)
    assert len(found.problems) == 1
    assert (found.cause and (found.cause.rule, found.cause.lineno)) == want


def test_a_failure_stays_one_in_logs_cut_and_joined_anywhere() -> None:
    """Five hundred pairs of pieces; the finder is never told of a new start, so a failure may not turn back."""
    chance = random.Random(5)
    raw = [(HERE / name).read_bytes()[:60_000] for name in LOGS]
    for _ in range(500):
        first, second = chance.choice(raw), chance.choice(raw)
        spliced = first[: chance.randrange(len(first) + 1)] + second[chance.randrange(len(second) + 1) :]
        finder, lost = CauseFinder(Suspects()), False
        for line in numbered(spliced):
            feed(finder, line)
            now = finder.freeze()
            assert now.fatal is not None or not lost
            lost = now.fatal is not None


def broken(raw: bytes, width: int) -> bytes:
    """As a terminal's or a forum's width breaks it."""
    rows = raw.decode("utf-8", "replace").split("\n")
    parts = [row[at : at + width] for row in rows for at in range(0, max(1, len(row)), width)]
    return "\n".join(parts).encode()


@pytest.mark.parametrize("width", [120, 160])
@pytest.mark.parametrize("name", sorted(CAUSES))
def test_the_cause_in_a_paste_that_broke_the_lines(name: str, width: int) -> None:
    raw = (HERE / name).read_bytes()
    whole, pasted = read(raw), read(broken(raw, width))
    assert pasted.failed
    assert (pasted.cause and pasted.cause.rule) == (whole.cause and whole.cause.rule)


@pytest.mark.parametrize(
    "wrapper", [b"vllm-1  | ", b"2026-02-26T16:41:05.123456789Z stdout F ", b"[2025-12-13T19:54:35Z] "]
)
@pytest.mark.parametrize("name", sorted(CAUSES))
def test_the_cause_behind_a_wrapper(name: str, wrapper: bytes) -> None:
    raw = (HERE / name).read_bytes()
    whole, wrapped = read(raw), read(b"\n".join(wrapper + row for row in raw.split(b"\n")))
    assert wrapped.cause == whole.cause or (
        wrapped.cause is not None
        and whole.cause is not None
        and (wrapped.cause.line, wrapped.cause.lineno) == (whole.cause.line, whole.cause.lineno)
    )


@pytest.mark.parametrize("name", sorted(name for name, cause in CAUSES.items() if cause))
def test_the_cause_in_a_log_that_begins_anywhere_before_it(name: str) -> None:
    rows = list(numbered((HERE / name).read_bytes()))
    want = CAUSES[name]
    assert want is not None
    for first in range(0, want[1] - 4, 7):
        finder = CauseFinder(Suspects())
        for line in rows:
            if line.lineno > first:
                feed(finder, line)
        found = conclude(finder.freeze(), stopping=False)
        assert found.cause is not None
        assert (found.cause.rule, found.cause.lineno) == want
