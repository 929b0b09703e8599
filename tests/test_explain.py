"""`specwatch explain`: what a person and what a program is told of a saved log or a saved metrics page."""

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from collectors.reading.events import Log
from collectors.reading.exposition import NotMetrics
from collectors.reading.report import report
from collectors.reading.state import State, step
from launch import explained, page
from launch.commands.explain import _log
from tests.conftest import ROOT, Cli
from tests.run_folders import RECORDINGS

# Of a server that was dead by then the page is empty.
PAGES = sorted(path for path in (RECORDINGS / "cpu" / "metrics").glob("*.prom") if path.stat().st_size)
CASES = ROOT.parent / "shared" / "cases"
GOOD = RECORDINGS / "h200-good" / "server.log"
FAILED = RECORDINGS / "cpu" / "41-fail-kv-too-small.log"


def told(path: Path) -> list[str]:
    state = _log(str(path))
    return list(explained.lines(state, report(state, 2026)))


def row(lines: list[str], label: str) -> str:
    """A row by its label, its further lines joined."""
    at = next(n for n, line in enumerate(lines) if line.startswith(f"{label:11}"))
    more = []
    for line in lines[at + 1 :]:
        if not line.startswith(" " * 11):
            break
        more.append(line.strip())
    return " ".join([lines[at][11:], *more])


# -- text


def test_a_failure_is_told_from_the_top() -> None:
    lines = told(FAILED)
    assert lines[0] == "FAILED     while loading weights · vLLM 0.32.0 · models/tiny/target"
    assert row(lines, "cause").startswith("The KV cache is too small for one request of 4096 tokens")
    assert "--max-model-len 128" in row(lines, "do")
    assert row(lines, "line 71").startswith("ValueError: To serve at least one request")
    assert "progress   Loading safetensors checkpoint shards: 32 of 32" in lines


def test_a_cause_that_is_not_in_the_log_is_said_not_to_be() -> None:
    lines = told(RECORDINGS / "cpu" / "53-kill-engine-loading.log")
    assert row(lines, "cause") == "not in this log: it was printed before the log begins, or not at all"
    assert row(lines, "error").startswith("RuntimeError: Engine core initialization failed.")


def test_a_good_run_has_its_figures_and_its_steps() -> None:
    lines = told(GOOD)
    assert lines[0] == "STOPPED    in an orderly way while serving · vLLM 0.24.0 · /srv/m/target"
    assert "1,925 of 3,438 drafted tokens accepted · acceptance 56.0 % · mean length 2.68" in row(
        lines, "figures"
    )
    assert "capturing  graphs       12-01 04:01:30     1:57" in lines
    assert not any(line.startswith("progress") for line in lines)
    assert row(lines, "hidden").startswith("578 lines: access ×418")


def test_a_hang_that_the_log_tells(tmp_path: Path) -> None:
    queue = (
        "(EngineCore_DP0 pid=3) INFO 12-09 11:25:53 [shm_broadcast.py:466] No available shared memory broadcast "
        "block found in 60 seconds. This typically happens when some processes are hanging\n"
    )
    (tmp_path / "log").write_text(queue * 4)
    assert "has not read its queue for 4 minutes" in row(told(tmp_path / "log"), "stalled")


@pytest.mark.parametrize(
    ("held", "said"),
    [
        (b"", "EMPTY      nothing was logged yet, or the output went elsewhere"),
        (b"to whom it may concern\n", "UNKNOWN    no line of a vLLM or SGLang log is in it"),
        (b"\n\n", "UNKNOWN    no line of a vLLM or SGLang log is in it"),
        (bytes(range(256)) * 40, "UNKNOWN    no line of a vLLM or SGLang log is in it"),
    ],
    ids=["empty", "text", "blank", "binary"],
)
def test_a_file_of_something_else_is_no_server_that_starts(
    held: bytes, said: str, tmp_path: Path, cli: Cli
) -> None:
    (tmp_path / "log").write_bytes(held)
    answer = cli("explain", str(tmp_path / "log"))
    assert (answer.returncode, answer.stdout, answer.stderr) == (0, said + "\n", "")
    assert explain(cli, str(tmp_path / "log"))["engine"] is None


def test_a_program_and_a_readme_too() -> None:
    for path in (Path(sys.executable), ROOT / "README.md"):
        assert told(path) == ["UNKNOWN    no line of a vLLM or SGLang log is in it"]


@pytest.mark.parametrize(
    "path", [GOOD, FAILED, *sorted((RECORDINGS / "eagle16").glob("*.log"))], ids=lambda p: p.stem
)
def test_it_fits_the_screen(path: Path) -> None:
    lines = told(path)
    assert max(len(line) for line in lines) <= explained.WIDTH
    assert len(lines) <= 50
    assert not any(line != line.rstrip() for line in lines)


def test_a_page_of_one_long_message_is_cut(tmp_path: Path) -> None:
    words = "ValueError: " + "word " * 2000
    (tmp_path / "log").write_text(
        'Traceback (most recent call last):\n  File "x.py", line 1, in <module>\n' + words + "\n"
    )
    lines = told(tmp_path / "log")
    assert len(lines) < 20
    assert row(lines, "line 3").endswith(" …")


def test_escapes_of_a_hostile_log_do_not_reach_the_terminal(tmp_path: Path, cli: Cli) -> None:
    (tmp_path / "log").write_bytes(
        b'Traceback (most recent call last):\n  File "x.py", line 1, in f\n'
        b"ValueError: \x1b[2J\x1b]0;owned\x07 \xe2\x80\xae evil \x9b31m [red]markup[/red]\n"
    )
    answer = cli("explain", str(tmp_path / "log"))
    assert answer.returncode == 0
    assert not {"\x1b", "\x07", "\x9b", "\u202e"} & set(answer.stdout)
    assert "[red]markup[/red]" in answer.stdout


# -- json


def explain(cli: Cli, *args: str) -> dict[str, Any]:
    answer = cli("explain", "--json", *args)
    assert (answer.returncode, answer.stderr) == (0, "")
    found: dict[str, Any] = json.loads(answer.stdout)
    return found


def test_the_object(cli: Cli) -> None:
    found = explain(cli, str(FAILED))
    assert (found["v"], found["phase"], found["ready"]) == (1, "failed", False)
    assert found["root_cause"]["lineno"] == 71
    assert found["memory_gib"]["kv_needed"] == 0.02


def test_a_saved_logs_times_have_the_year_of_the_file(cli: Cli, tmp_path: Path) -> None:
    """vLLM's stamps have none."""
    (tmp_path / "log").write_bytes(FAILED.read_bytes())
    os.utime(tmp_path / "log", (1_700_000_000, 1_700_000_000))
    assert explain(cli, str(tmp_path / "log"))["timeline"][0]["started_at"] == "2023-12-01T03:38:50"


@pytest.mark.parametrize("content", [b"", b"\n", b"\0" * 1000, b"\xff\xfe\r\r\n", b"{" * 5000])
def test_any_file_gives_the_object(cli: Cli, tmp_path: Path, content: bytes) -> None:
    (tmp_path / "log").write_bytes(content)
    found = explain(cli, str(tmp_path / "log"))
    assert (found["phase"], found["engine"], found["root_cause"]) == ("starting", None, None)


# -- a metrics page


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_a_pages_counters_are_its_figures(path: Path) -> None:
    text = path.read_text()
    state = page.read(text)
    assert state is not None
    found = report(state)
    want = {
        name: sum(
            float(line.rpartition(" ")[2])
            for line in text.splitlines()
            if line.startswith(f"vllm:{counter}{{")
        )
        for name, counter in (
            ("drafts", "spec_decode_num_drafts_total"),
            ("drafted", "spec_decode_num_draft_tokens_total"),
            ("accepted", "spec_decode_num_accepted_tokens_total"),
            ("generated", "generation_tokens_total"),
        )
    }
    assert (found.engine, found.ready) == ("vllm", True)
    assert found.phase == ("serving" if want["generated"] else "ready")
    assert (found.spec is not None) == ("spec_decode" in text)
    if found.spec is not None:
        assert (found.spec["drafted"], found.spec["accepted"]) == (want["drafted"], want["accepted"])
        if want["drafts"]:
            assert found.spec["mean_length"] == pytest.approx(1 + want["accepted"] / want["drafts"])
            assert found.spec["rate"] == pytest.approx(want["accepted"] / want["drafted"])


def test_a_page_in_words(cli: Cli) -> None:
    answer = cli("explain", "--metrics", str(RECORDINGS / "cpu" / "metrics" / "14-eagle3-steered.after.prom"))
    lines = answer.stdout.splitlines()
    assert (answer.returncode, lines[0]) == (0, "SERVING    vLLM")
    assert "754 of 8,736 drafted tokens accepted · acceptance 8.6 %" in row(lines, "figures")
    assert row(lines, "requests") == "0 running · 0 waiting · 50 finished · KV cache 0.0 % used"
    assert row(lines, "tokens") == "1,190 in prompts · 3,712 generated"
    assert row(lines, "times").startswith("TTFT 27.9 ms mean · step ")


def test_sglangs_gauges_are_its_own_words() -> None:
    text = (
        'sglang:num_running_reqs{model_name="m"} 2.0\nsglang:gen_throughput{model_name="m"} 1.5e+03\n'
        'sglang:spec_accept_length{model_name="m"} 3.1\nsglang:spec_accept_rate{model_name="m"} 0.7\n'
        'sglang:generation_tokens_total{model_name="m"} 10.0\n'
    )
    state = page.read(text)
    assert state is not None
    found = report(state)
    assert (found.engine, found.phase, found.gen_tok_s) == ("sglang", "serving", 1500.0)
    assert found.spec == {
        "drafted": None, "accepted": None, "rate": None, "printed_rate": 0.7, "mean_length": 3.1, "per_position": None,
    }  # fmt: skip


@pytest.mark.skipif(not CASES.is_dir(), reason="no ../shared/cases beside this repository")
def test_the_strangers_pages() -> None:
    expected = json.loads((CASES / "expected.json").read_text())
    pages = [case for case in expected if case["file"].endswith(".metrics")]
    assert pages
    for case in pages:
        state = page.read((CASES / case["file"]).read_text())
        assert state is not None
        found, figures = report(state), page.figures_of(state)
        assert found.phase in (case["phase"], *case.get("phase_also_ok", ()))
        assert (found.ready, found.engine, found.gen_tok_s) == (
            case["ready"],
            case["engine"],
            case["gen_tok_s"],
        )
        extra = case.get("extra", {})
        if "ttft_mean_s" in extra:
            assert figures.ttft_mean_s == pytest.approx(extra["ttft_mean_s"], abs=0.001)
        if "requests_total" in extra:
            assert figures.requests_finished == extra["requests_total"]


def test_what_is_no_page() -> None:
    for text in ("", "hello", "<html></html>"):
        with pytest.raises(NotMetrics):
            page.read(text)
    assert page.read("python_gc_objects_collected_total 3.0\n") is None


# -- bad input: one error, one hint, exit code 2


@pytest.mark.parametrize(
    ("args", "words"),
    [
        ((), "explain reads one file"),
        (("{tmp}/missing",), "no such file or directory"),
        (("{tmp}",), "is a directory"),
        (("--metrics", "{tmp}/missing"), "no such file or directory"),
        (("--metrics", "{tmp}"), "is a directory"),
        (("--metrics", "{tmp}/other"), "not a metrics page"),
        (("--metrics", "{tmp}/empty"), "the page is empty"),
        (("--metrics", "{tmp}/page"), "has no metric of vLLM or SGLang"),
        (("{tmp}/other", "--metrics", "{tmp}/other"), "explain reads one file"),
    ],
)
def test_bad_input(cli: Cli, tmp_path: Path, args: tuple[str, ...], words: str) -> None:
    (tmp_path / "other").write_text("hello\n")
    (tmp_path / "empty").write_text("")
    (tmp_path / "page").write_text("python_gc_objects_collected_total 3.0\n")
    answer = cli("explain", *(arg.format(tmp=tmp_path) for arg in args))
    assert (answer.returncode, answer.stdout) == (2, "")
    error, hint = answer.stderr.splitlines()
    assert error.startswith("error: ")
    assert words in error
    assert hint.startswith("hint: ")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_may_not_be_read(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "log").write_text("x")
    (tmp_path / "log").chmod(0)
    answer = cli("explain", str(tmp_path / "log"))
    assert (answer.returncode, "permission denied" in answer.stderr) == (2, True)


def test_a_file_whose_reading_fails(cli: Cli) -> None:
    """As root too: the kernel gives EIO for address 0 of a process."""
    answer = cli("explain", "/proc/self/mem")
    assert answer.returncode == 2
    assert answer.stderr.startswith("error: cannot read /proc/self/mem: ")


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-be", "utf-8-sig"])
def test_a_file_with_a_byte_order_mark(tmp_path: Path, encoding: str) -> None:
    mark = "\ufeff" if encoding == "utf-16-be" else ""
    (tmp_path / "log").write_bytes((mark + GOOD.read_text("utf-8")).encode(encoding))
    plain, marked = _log(str(GOOD)), _log(str(tmp_path / "log"))
    assert report(marked, 2026) == report(plain, 2026)


def test_heads_alone_tell_the_engine() -> None:
    for said, engine in (
        (b"[2026-02-26 16:41:05 DP0 TP1] something new\n", "sglang"),
        (b"(Worker_TP1 pid=9) INFO 12-01 10:00:00 [new.py:1] something new\n", "vllm"),
        (b"[2026-02-26 16:41:05] a wrapper says\n", None),
    ):
        assert step(State(), Log(t=0.0, offset=0, data=said)).log.engine == engine
