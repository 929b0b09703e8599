"""The benchmark against an endpoint whose counters are known to the token."""

import json
import os
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import pytest

from launch.bench import builtin, generator, judge, ownresult, prompts, statistics, summary, wrapped
from launch.bench.marks import Marks
from launch.bench.result import Result, loads_of
from tests.fakes.fake_endpoint import Endpoint
from tests.run_folders import make_run
from tui import acts

ROOT = Path(__file__).parent.parent
Serve = Callable[..., Endpoint]


@pytest.fixture
def serve() -> Iterator[Serve]:
    started: list[Endpoint] = []

    def start(**options: object) -> Endpoint:
        started.append(Endpoint(**options).start())  # type: ignore[arg-type]
        return started[-1]

    yield start
    for endpoint in started:
        endpoint.stop()


def measured(endpoint: Endpoint, **ask: object) -> Result:
    blank = Result(id="t", kind="built-in", url=endpoint.url, started=time.time(), nonce="n0")
    wanted = builtin.Ask(url=endpoint.url, **{"max_tokens": 33, "concurrency": (1, 4), **ask})  # type: ignore[arg-type]
    return builtin.run(wanted, prompts.built_in(), blank, Marks(None, "t", ""), lambda _: None)


def test_figures_are_the_counters_differences_and_ours_agree(serve: Serve) -> None:
    endpoint = serve()
    result = measured(endpoint, requests=(8, 12))
    assert [level.completed for level in result.levels] == [8, 12]
    for level in result.levels:
        assert level.output_tokens == 33 * level.completed
        assert level.counters is not None
        assert level.counters.generated == level.output_tokens
        # 1 token of prefill, then steps that accept 3, 1, 0, 2 in turn: 13 steps to 32 tokens, 19 accepted.
        assert (level.counters.drafts, level.counters.accepted) == (
            13 * level.completed,
            19 * level.completed,
        )
        assert level.counters.identity_ok
        assert level.foreign is not None
        assert (level.foreign.requests, level.foreign.tokens) == (0, 0)
        assert level.still
        assert level.tok_s_ci95 is not None
        assert level.ttft is not None
        assert level.ttft.n == level.completed
    assert not result.partial


def test_no_two_requests_share_a_prefix_and_none_is_random(serve: Serve) -> None:
    endpoint = serve()
    measured(endpoint, requests=(8, 8))
    firsts = [ask["messages"][0]["content"].splitlines()[0] for ask in endpoint.seen]
    assert len(set(firsts)) == len(firsts)
    assert {ask["temperature"] for ask in endpoint.seen} == {0.0}
    assert all(ask["ignore_eos"] for ask in endpoint.seen)


def test_a_model_without_a_chat_template_is_asked_for_completions(serve: Serve) -> None:
    result = measured(serve(template=False), requests=(4, 4))
    assert result.api == "completions"
    assert result.levels[0].completed == 4


def test_failed_requests_are_counted_and_said(serve: Serve) -> None:
    result = measured(serve(fail_every=7), concurrency=(2,), requests=(12,))
    (level,) = result.levels
    assert level.failed > 0
    assert level.completed + level.failed == 12
    assert list(level.errors) == ["HTTP 500: broken on purpose"]
    assert any("requests failed" in note for note in result.notes)


def test_fewer_requests_than_the_concurrency_are_said(serve: Serve) -> None:
    result = measured(serve(), concurrency=(8,), requests=(4,))
    assert "c8: only 4 requests: never more than so many ran at a time" in result.notes
    assert not any("never more" in note for note in measured(serve(), concurrency=(2,), requests=(4,)).notes)


def test_max_time_keeps_what_was_measured(serve: Serve) -> None:
    result = measured(serve(step_s=0.02), concurrency=(1,), requests=(50,), max_time=2.0)
    (level,) = result.levels
    assert result.partial
    assert level.cut == "max-time"
    assert 0 < level.completed < 50


def test_warm_up_takes_nothing_of_max_time(serve: Serve) -> None:
    result = measured(serve(step_s=0.1), concurrency=(1,), requests=(50,), max_time=1.5, max_tokens=9)
    assert (
        result.levels[0].completed > 1
    )  # warm-up alone: two requests of 4 steps; each measured one the same
    assert result.levels[0].seconds is not None
    assert result.levels[0].seconds > 0.8


def test_of_a_server_that_died_only_what_is_known_is_said(serve: Serve) -> None:
    result = measured(serve(), concurrency=(2,), requests=(4,))
    (level,) = result.levels
    dead = msgspec.structs.replace(level, counters=None, still=False)
    found = list(judge.notes(msgspec.structs.replace(result, levels=(dead,))))
    assert not any("other people's traffic" in note for note in found)
    assert any("counters could not be read" in note for note in found)


def test_levels_are_every_concurrency_with_every_temperature_and_context(serve: Serve) -> None:
    endpoint = serve()
    result = measured(
        endpoint, concurrency=(1, 2), temperature=(0.0, 0.7), context=(0, 900), requests=(4, 6), max_tokens=9
    )
    assert [load.name for load in loads_of(result)] == [
        "c1", "c1 +900", "c1 T0.7", "c1 T0.7 +900", "c2", "c2 +900", "c2 T0.7", "c2 T0.7 +900",
    ]  # fmt: skip
    assert [level.planned for level in result.levels] == [4] * 4 + [6] * 4
    assert result.temperature is None
    asked = [ask["temperature"] for ask in endpoint.seen[-40:]]
    assert asked == [0.0] * 8 + [0.7] * 8 + [0.0] * 12 + [0.7] * 12
    for level in result.levels:
        assert level.prompt_tokens is not None
        if level.context:  # by the server's own count, not by ours
            assert 900 < level.prompt_tokens < 1100
    assert len({json.dumps(ask["messages"])[:80] for ask in endpoint.seen[-40:]}) == 40
    said = [line for line in summary.lines(result) if line.startswith(("load", "prompt tokens"))]
    assert (
        " ".join(" ".join(said[::2]).split())
        == "load c1 c1 +900 c1 T0.7 c1 T0.7 +900 load c2 c2 +900 c2 T0.7 c2 T0.7 +900"
    )
    assert max(map(len, summary.lines(result))) <= 110


@pytest.mark.parametrize(("factor", "values"), [("temperature", (0.0, 1.0)), ("context", (0, 900))])
def test_what_makes_the_drafter_worse_is_said(serve: Serve, factor: str, values: tuple[float, ...]) -> None:
    varied = {"temperature": (0.0, 1.0), "context": (0, 900)}
    ask = {"concurrency": (4,), "requests": (40,), "max_tokens": 64, **varied}
    result = measured(serve(worse_with=factor), **ask)
    assert sorted(verdict.id for verdict in result.verdicts) == sorted(
        f"worse-with-{name}" if name == factor else f"holds-with-{name}" for name in varied
    )
    worse = next(verdict for verdict in result.verdicts if verdict.id.startswith("worse"))
    assert worse.tone == "bad"
    # 3, 1, 0, 2 accepted in turn: three of four at position 0; 1, 0, 0, 0: one.
    assert "consistent with" in worse.sentence
    assert any(worse.sentence in line for line in summary.lines(result))


def test_a_result_from_before_loads_were_named_is_read(tmp_path: Path) -> None:
    old = {"v": 1, "id": "a", "kind": "built-in", "url": "u", "started": 0.0, "temperature": 0.0,
           "levels": [{"concurrency": 8, "planned": 2, "completed": 2, "failed": 0, "tok_s": 5.0}]}  # fmt: skip
    result = msgspec.convert(old, Result)
    assert [load.name for load in loads_of(result)] == ["c8"]


def cli(*args: str, **env: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "launch", "bench", *args],
        cwd=ROOT,
        env={**os.environ, **env},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_ctrl_c_keeps_what_was_measured_and_is_130(serve: Serve) -> None:
    endpoint = serve(step_s=0.02)
    process = cli(
        "--url", endpoint.url, "--concurrency", "1", "--requests", "200", "--max-tokens", "33", "--json"
    )
    while endpoint.finished < 12:
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=30)
    result = json.loads(out)
    assert process.returncode == 130
    assert result["partial"] is True
    assert result["levels"][0]["cut"] == "interrupted"
    assert result["levels"][0]["completed"] >= 2


def test_the_api_key_is_sent_and_nowhere_written(serve: Serve) -> None:
    endpoint = serve()
    process = cli(
        "--url",
        endpoint.url,
        "--requests",
        "2",
        "--max-tokens",
        "5",
        "--json",
        OPENAI_API_KEY="sk-a-secret-1234",
    )
    out, err = process.communicate(timeout=30)
    assert process.returncode == 0, err
    assert all("authorization: bearer sk-a-secret-1234" in head.lower() for head in endpoint.headers)
    assert "sk-a-secret" not in out + err


def test_no_success_is_exit_1_without_a_traceback(serve: Serve) -> None:
    process = cli("--url", serve(fail_every=1).url)
    out, err = process.communicate(timeout=30)
    assert (process.returncode, out) == (1, "")
    assert err.startswith("error: the warm-up request failed: HTTP 500: broken on purpose\nhint: ")


def test_no_server_is_one_error_and_one_hint() -> None:
    process = cli("--url", "http://127.0.0.1:9")
    out, err = process.communicate(timeout=30)
    assert (process.returncode, out) == (2, "")
    assert [line.split(":")[0] for line in err.splitlines()] == ["error", "hint"]


SAVED = {
    "backend": "openai", "duration": 6.93, "completed": 12, "failed": 0, "output_throughput": 443.31,
    "request_throughput": 1.73, "max_concurrency": 1, "spec_decode_acceptance_rate": 55.99,
    "spec_decode_acceptance_length": 2.68, "mean_ttft_ms": 25.5, "mean_itl_ms": 5.78,
}  # fmt: skip


def wrap(endpoint: Endpoint, *argv: str) -> Result:
    blank = Result(id="w", kind="command", url=endpoint.url, started=time.time())
    return wrapped.run(argv, endpoint.url, blank, Marks(None, "w", ""), lambda _: None)


def test_a_commands_own_result_stands_beside_our_counters(
    serve: Serve, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    endpoint = serve()
    code = (
        "import json, sys, urllib.request as r\n"
        "body = json.dumps({'max_tokens': 33, 'messages': []}).encode()\n"
        f"r.urlopen(r.Request('{endpoint.url}/v1/chat/completions', body)).read()\n"
        f"json.dump({SAVED!r}, open(sys.argv[-1], 'w')); print(sys.argv[1:])"
    )
    saved = str(tmp_path / "own.json")
    result = wrap(
        endpoint, sys.executable, "-c", code, "--api-key", "sk-hidden-99", "--result-filename", saved
    )
    assert result.own is not None
    assert (result.own.kind, result.own.seconds, result.own.tok_s) == ("vllm bench serve", 6.93, 443.31)
    assert result.own.acceptance_rate == pytest.approx(0.5599)
    assert result.counters is not None
    assert (result.counters.generated, result.counters.drafts, result.counters.requests_finished) == (
        33,
        13,
        1,
    )
    out, err = capfd.readouterr()
    assert out == ""
    assert f"['--api-key', 'sk-hidden-99', '--result-filename', '{saved}']" in err  # its argv is its own
    assert "sk-hidden" not in msgspec.json.encode(result).decode()
    assert "443.3" in "\n".join(summary.lines(result))


SGLANG = {
    "backend": "sglang", "duration": 5.0, "completed": 4, "output_throughput": 100.0, "accept_length": 2.4,
    "request_rate": float("inf"), "max_concurrency": 1, "mean_itl_ms": 4.0, "median_itl_ms": 4.0,
}  # fmt: skip


@pytest.mark.parametrize(
    ("script", "kind"),
    [
        ("vllm bench serve --result_dir {dir}/out --result_filename own.json", "vllm bench serve"),
        ("vllm bench serve --append-result --result-dir {dir}/out", "vllm bench serve"),
        (
            "vllm bench serve --save-result --result-dir={dir}/out --result-filename=own.json",
            "vllm bench serve",
        ),
        ("./script-that-saves-where-it-likes", "vllm bench serve"),
        ("sh -c 'vllm bench serve --result-filename own.json --result-dir {dir}/out'", "vllm bench serve"),
        ("python -m sglang.bench_serving --output-file {dir}/out/s.jsonl", "sglang"),
        ("python -m sglang.bench_serving", "sglang"),
    ],
)
def test_a_commands_result_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str, kind: str
) -> None:
    words = shlex.split(script.format(dir=tmp_path))
    elsewhere = "/out" in script
    monkeypatch.chdir(tmp_path)
    (tmp_path / "out").mkdir()
    (tmp_path / "package.json").write_text('{"name": "not a result"}')
    place = tmp_path / "out" if elsewhere else tmp_path
    if kind == "sglang":
        (place / "s.jsonl").write_text(json.dumps(SAVED) + "\n" + json.dumps(SGLANG) + "\n")
    else:
        (place / "own.json").write_text(json.dumps(SAVED))
    own = ownresult.find(words, time.time())
    assert own is not None
    assert own.kind == kind
    if kind == "sglang":  # its rate is `Infinity`; its inter-token latency is no step's
        assert (own.request_rate, own.mean_length, own.mean_step_s) == ("inf", 2.4, None)
        assert "Infinity" in (place / "s.jsonl").read_text()


def test_a_detailed_result_has_an_interval(tmp_path: Path) -> None:
    found = SAVED | {
        "output_lens": [100, 100, 100, 100, 0],
        "ttfts": [0.1] * 4 + [0.0],
        "itls": [[0.4, 0.5]] * 4 + [[]],
    }
    path = tmp_path / "own.json"
    path.write_text(json.dumps(found))
    own = ownresult.read(path)
    assert own is not None
    assert own.tok_s_ci95 == pytest.approx((443.31, 443.31))  # four equal requests; the failed one is none
    path.write_text(json.dumps(found | {"output_lens": "none", "duration": float("nan")}))
    broken = ownresult.read(path)
    assert broken is not None
    assert (broken.tok_s_ci95, broken.seconds) == (None, None)


def test_an_old_result_file_is_not_taken_for_the_commands(serve: Serve, tmp_path: Path) -> None:
    old = tmp_path / "own.json"
    old.write_text(json.dumps(SAVED))
    os.utime(old, (time.time() - 3600,) * 2)
    result = wrap(serve(), sys.executable, "-c", "", "--result-filename", str(old))
    assert result.own is None


def test_the_recordings_own_results_are_read() -> None:
    own = ownresult.read(Path(__file__).parent / "recordings/h200-good/bench-c1.json")
    assert own is not None
    assert (own.completed, own.concurrency) == (12, 1)
    assert own.mean_length == pytest.approx(2.68, abs=0.001)
    assert own.mean_step_s == pytest.approx(0.00578, abs=1e-5)


def test_a_saturated_generator_is_called_the_limit() -> None:
    assert not generator.judged(0.3, 0.001).limited
    busy, late = generator.judged(0.97, 0.001), generator.judged(0.3, 0.2)
    assert busy.limited
    assert late.limited
    assert "97% of a core" in busy.why


def test_a_result_of_the_generators_is_not_called_the_servers(serve: Serve) -> None:
    result = measured(serve(), concurrency=(2,), requests=(4,))
    level = msgspec.structs.replace(result.levels[0], generator=generator.judged(0.97, 0.0))
    limited = msgspec.structs.replace(result, levels=(level,))
    limited = msgspec.structs.replace(limited, notes=tuple(judge.notes(limited)))
    text = "\n".join(summary.lines(limited))
    assert "≥ " in text
    assert "the server may do more than this" in text


def test_acceptance_stands_with_its_interval_and_what_that_is(serve: Serve) -> None:
    result = measured(serve(), concurrency=(2,), requests=(10,))
    text = "\n".join(summary.lines(result))
    # 190 of 390 drafted tokens: binomial, 1.96 * sqrt(0.487 * 0.513 / 390) = 5.0 points.
    assert "48.7 % ± 4.9" in text
    assert "binomial, too narrow since tokens of a draft depend on each other" in text


def test_intervals() -> None:
    even = statistics.throughput_ci95([(100, 1.0)] * 20, 100.0)
    assert even is not None
    assert even == pytest.approx((100.0, 100.0))
    low, high = statistics.throughput_ci95([(100, 0.5), (100, 1.5)] * 10, 100.0) or (0, 0)
    assert low < 100 < high
    assert statistics.throughput_ci95([(1, 1.0)] * 3, 1.0) is None
    share = statistics.binomial_ci95(560, 1000)
    assert share == pytest.approx((0.529, 0.5905), abs=0.001)


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("", "no prompts"),
        ("{\n", "line 1"),
        ('{"prompt": "a"}\n{"x": 1}\n', "line 2"),
        ('{"prompt": "a"}\n\n{"prompt": 5}\n', "line 3"),
        ('["a"]\n', "line 1"),
        ('{"messages": [{"role": "system", "content": "a"}]}', "line 1: no prompt"),
        ('{"messages": ["a"]}', "line 1"),
    ],
)
def test_bad_prompt_files_are_said(tmp_path: Path, text: str, word: str) -> None:
    from collectors.errors import SpecwatchError

    file = tmp_path / "p.jsonl"
    file.write_text(text)
    with pytest.raises(SpecwatchError, match=word):
        prompts.load(file)


def test_own_prompts_in_any_of_the_usual_forms(tmp_path: Path) -> None:
    file = tmp_path / "p.jsonl"
    file.write_text(
        '\ufeff{"prompt": "one"}\r\n{"text": "two"}\n\n{"messages": [{"role": "user", "content": "three"}]}\n'
        '{"messages": [{"role": "user", "content": [{"type": "text", "text": "four"}]}, {"role": "assistant"}]}'
    )
    assert [p.text for p in prompts.load(file).prompts] == ["one", "two", "three", "four"]


def test_a_command_that_exits_0_without_a_success_is_exit_1(serve: Serve, tmp_path: Path) -> None:
    saved = str(tmp_path / "own.json")
    code = f"import json, sys; json.dump({SAVED | {'completed': 0}!r}, open(sys.argv[-1], 'w'))"
    process = cli("--url", serve().url, "--", sys.executable, "-c", code, "--result-filename", saved)
    out, err = process.communicate(timeout=30)
    assert process.returncode == 1
    assert "error: no request succeeded" in err
    assert "note: the command's own result has no successful request" in out


def test_requests_that_only_ended_by_an_abort_are_no_success(serve: Serve) -> None:
    endpoint = serve(step_s=0.5)
    code = (
        "import json, socket\n"
        "body = json.dumps({'max_tokens': 33, 'messages': []})\n"
        f"s = socket.create_connection(('127.0.0.1', {endpoint.port}))\n"
        "s.sendall(f'POST /v1/chat/completions HTTP/1.1\\r\\nContent-Length: {len(body)}\\r\\n\\r\\n{body}'.encode())\n"
        "s.recv(100); s.close()"
    )
    process = cli("--url", endpoint.url, "--", sys.executable, "-c", code)
    _, err = process.communicate(timeout=30)
    assert endpoint.aborted == 1
    assert (process.returncode, err) == (
        1,
        "error: no request succeeded\nhint: the command's own words stand above\n",
    )


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_what_ends_us_ends_the_command_and_its_measurements_stay(
    serve: Serve, number: signal.Signals
) -> None:
    code = "import os, time; print(os.getpid(), flush=True); time.sleep(60)"
    process = cli("--url", serve().url, "--json", "--", sys.executable, "-c", code)
    assert process.stderr is not None
    pid = int(process.stderr.readline())
    time.sleep(0.2)
    process.send_signal(number)
    out, _ = process.communicate(timeout=30)
    assert process.returncode == 130
    assert json.loads(out)["partial"] is True
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_a_command_ended_by_a_signal_is_told_so(serve: Serve) -> None:
    process = cli("--url", serve().url, "--", "sh", "-c", "kill -9 $$")
    _, err = process.communicate(timeout=30)
    assert process.returncode == 1
    assert "error: the command was ended by SIGKILL" in err


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("--concurrency", "8,8"), "each once"),
        (("--concurrency", ""), "each once"),
        (("--temperature", "nan"), "numbers from 0 to 2"),
        (("--context", "-1"), "whole numbers of tokens"),
        (("--url", "http://127.0.0.1:notaport"), "is no web address"),
        (("--url", "http://[::1"), "is no web address"),
        (("--url", "ftp://127.0.0.1"), "is no web address"),
        (
            ("--url", "http://127.0.0.1:9", "--max-time", "5", "--", "true"),
            "--max-time is for the built-in requests",
        ),
        (
            ("--url", "http://127.0.0.1:9", "--concurrency", "1", "--", "true"),
            "--concurrency is for the built-in",
        ),
        (("--url", "http://127.0.0.1:9", "--"), "no command stands behind"),
    ],
)
def test_bad_words_are_one_error_and_one_hint(args: tuple[str, ...], said: str) -> None:
    process = cli(*args)
    out, err = process.communicate(timeout=30)
    assert (process.returncode, out) == (2, "")
    assert said in err
    assert [line.split(":")[0] for line in err.splitlines()] == ["error", "hint"]


@pytest.mark.parametrize(("key", "code"), [("sk-\u00e9", 2), ("sk-a\nX-Evil: 1", 2), (" sk-a\n", 0)])
def test_a_key_that_no_header_can_hold(serve: Serve, key: str, code: int) -> None:
    endpoint = serve()
    process = cli("--url", f"{endpoint.url}/v1/", "--requests", "1", "--concurrency", "1", OPENAI_API_KEY=key)
    out, err = process.communicate(timeout=30)
    assert process.returncode == code, err
    assert key not in out + err
    if code:
        assert err.startswith("error: the API key in OPENAI_API_KEY has characters that no header can hold\n")


def test_one_benchmark_at_a_time_of_a_run(serve: Serve, tmp_path: Path) -> None:
    """Two would measure each other; both stood in the table as good rows."""
    endpoint = serve(step_s=0.02)
    make_run(tmp_path / "runs", "r", url=endpoint.url)
    args = ("--concurrency", "1", "--requests", "100", "--max-tokens", "33")
    env = {**os.environ}
    command = [sys.executable, "-m", "launch", "--state-dir", str(tmp_path), "bench", "r", *args]
    with subprocess.Popen(
        command, cwd=ROOT, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as first:
        while endpoint.finished < 3:
            time.sleep(0.05)
        for more in ([], ["--detach"]):
            second = subprocess.run(
                [*command, *more], cwd=ROOT, env=env, capture_output=True, text=True, check=False
            )
            assert second.returncode == 2
            assert "a benchmark of run r is running already" in second.stderr
            assert second.stdout == ""
        first.send_signal(signal.SIGINT)
        first.communicate(timeout=30)


def test_the_screens_benchmark_finds_its_run_in_any_state_folder(serve: Serve, tmp_path: Path) -> None:
    endpoint = serve()
    folder = make_run(tmp_path / "elsewhere" / "runs", "r", url=endpoint.url)
    assert acts.bench(folder).startswith("The benchmark runs beside this screen")
    deadline = time.monotonic() + 30
    while not list(folder.path.glob("bench-*.json")):
        assert time.monotonic() < deadline
        time.sleep(0.1)
