"""Logs that strangers published, against readings decided by hand (the scorer's checks, in this process).

They are not part of the repository: `../shared/cases` beside it, or this is skipped and says so.
"""

import json
import re
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from collectors.reading.events import Log
from collectors.reading.report import report
from collectors.reading.state import State, step
from tests.conftest import ROOT

CASES = ROOT.parent / "shared" / "cases"
LEAST = 0.95
WRONG = {
    "037-vllm026-nfs-prefetch-lines-inside-shard-bar.log": "its last bar says 11/16, the expectation 9/16",
}
ANSI = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
Case = dict[str, Any]

pytestmark = pytest.mark.skipif(
    not (CASES / "expected.json").is_file(), reason="no ../shared/cases beside this repository"
)


def expected() -> list[Case]:
    if not (CASES / "expected.json").is_file():
        return []
    found: list[Case] = json.loads((CASES / "expected.json").read_text())
    return [case for case in found if case["file"].endswith(".log")]


def read(raw: bytes, chunk: int = 1 << 20) -> Case:
    state = State()
    for at in range(0, len(raw), chunk):
        state = step(state, Log(t=0.0, offset=at, data=raw[at : at + chunk]))
    found: Case = msgspec.to_builtins(report(state))
    return found


def misses(case: Case, got: Case, text: str) -> list[str]:
    """What of the reading differs from the expectation, by the names that the scorer gives."""
    return [name for name, well in _checks(case, got, text) if not well]


def _checks(case: Case, got: Case, text: str) -> Iterator[tuple[str, bool]]:
    phases = [case["phase"], *case.get("phase_also_ok", ())]
    stalled = "stalled" in phases
    yield "phase", got["phase"] in phases or (stalled and got["stalled"] is not None)
    yield "not_stalled", stalled or got["stalled"] is None
    if len(phases) == 1 or not {"ready", "serving"} & set(phases):
        yield "ready", got["ready"] is case["ready"]
    yield "engine", got["engine"] == case["engine"] or (got["engine"] is None and text.count("\n") < 14)
    version = case["version"].split()[0].split("+")[0]
    if re.search(r"(?:server version|LLM engine \(v|  version) ?" + re.escape(version), text):
        yield "engine_version", (got["engine_version"] or "").startswith(version)
    if case["ready_line_contains"] and case["ready"]:
        yield "ready_line", case["ready_line_contains"] in (got["ready_line"] or "")
    bar = case["progress"]
    if bar and got["phase"] == case["phase"]:
        seen = got["progress"] or {}
        yield "label", bar["label"].strip(" :") in seen.get("label", "")
        yield "progress", (seen.get("done"), seen.get("total")) == (bar["done"], bar["total"])
    yield from _cause(case, got, text)
    yield from _problems(case, got)
    yield from _figures(case, got)


def _cause(case: Case, got: Case, text: str) -> Iterator[tuple[str, bool]]:
    words, cause = case["root_cause_contains"], got["root_cause"] or {}
    known = (case.get("extra") or {}).get("root_cause_known", True)
    if words and known:
        line, number = cause.get("line", ""), cause.get("lineno") or 0
        rows = ANSI.sub("", text).replace("\r", "\n" if "\n" not in text else "").split("\n")
        yield "root_cause", words in line and "\n" not in line and len(line) <= 2000
        yield "lineno", number > 0 and words[:40] in " ".join(rows[max(0, number - 2) : number + 1])
    else:
        yield "no_root_cause", not cause or not known
        yield "cause_in_view", known or got["cause_in_view"] is False


def _problems(case: Case, got: Case) -> Iterator[tuple[str, bool]]:
    shown = [problem["line"] for problem in got["problems"]]
    errors = [problem for problem in got["problems"] if problem["severity"] == "error"]
    yield "noise", not any(words in line for words in case["noise_contains"] for line in shown)
    yield "hidden", not case["noise_contains"] or got["hidden"]["lines"] > 0
    yield "errors", len(errors) <= case["errors_shown_max"]
    yield "an_error", bool(errors) or got["phase"] != "failed" or not case["errors_shown_max"]


def _figures(case: Case, got: Case) -> Iterator[tuple[str, bool]]:
    want, seen = case["spec"] or {}, got["spec"] or {}
    vllm = case["engine"] == "vllm"
    for name in ("drafted", "accepted"):
        yield name, want.get(name) is None or seen.get(name) == want[name]
    if want.get("rate") is not None:
        value, scale = (seen.get("rate"), 100) if vllm else (seen.get("printed_rate"), 1)
        yield "rate", _near(value, want["rate"] / scale, 0.0015 if vllm else 0.0051)
    if want.get("mean_length") is not None:
        yield "mean_length", _near(seen.get("mean_length"), want["mean_length"], 0.015)
    if want.get("per_position"):
        pairs = zip(seen.get("per_position") or (), want["per_position"], strict=False)
        same = len(seen.get("per_position") or ()) == len(want["per_position"])
        yield "per_position", same and all(_near(a, b, 0.002) for a, b in pairs)
    if case["gen_tok_s"] is not None:
        yield "gen_tok_s", _near(got["gen_tok_s"], case["gen_tok_s"], 0.05)
    for name in ("model_weights", "kv_available", "kv_needed", "cuda_graphs"):
        gib = (case.get("gpu_gib") or {}).get(name)
        if vllm and isinstance(gib, int | float):
            yield name, _near(got["memory_gib"].get(name), gib, max(0.01, abs(gib) * 0.01))


def _near(got: float | None, want: float, most: float) -> bool:
    return got is not None and abs(got - want) <= most


@pytest.mark.parametrize("case", expected(), ids=lambda case: case["file"][:-4])
def test_a_case_is_read_whole(case: Case) -> None:
    raw = (CASES / case["file"]).read_bytes()
    wrong = misses(case, read(raw), raw.decode(errors="replace"))
    if case["file"] in WRONG:
        assert wrong == ["progress"], WRONG[case["file"]]
    else:
        assert wrong == []


def test_enough_of_the_cases_pass() -> None:
    cases = expected()
    raw = {case["file"]: (CASES / case["file"]).read_bytes() for case in cases}
    good = [c for c in cases if not misses(c, read(raw[c["file"]]), raw[c["file"]].decode(errors="replace"))]
    assert len(good) >= LEAST * len(cases)


@pytest.mark.parametrize("case", expected(), ids=lambda case: case["file"][:-4])
def test_a_case_read_in_small_pieces_is_the_same(case: Case) -> None:
    raw = (CASES / case["file"]).read_bytes()[:20_000]
    assert read(raw, 997) == read(raw)
