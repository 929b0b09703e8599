"""Real servers that serve: plain, ngram, EAGLE-3; hang-up, marks and figures, kills while serving."""

import http.server
import os
import pty
import signal
import subprocess
import threading
import time
import urllib.request
from typing import Any

import msgspec

from collectors.reading.acceptance import Figures
from collectors.reading.serving import since_mark
from collectors.record import inbox
from tests.engine.driver import DIRECT, REPOSITORY, Server, ended

NGRAM = '{"method":"ngram","num_speculative_tokens":4,"prompt_lookup_max":4,"prompt_lookup_min":2}'


def complete(server: Server, prompt: str, tokens: int) -> int:
    """One request of our own; the number of tokens that came back."""
    body = {"model": "tiny", "prompt": prompt, "max_tokens": tokens, "temperature": 0, "ignore_eos": True}
    request = urllib.request.Request(
        f"http://127.0.0.1:{server.port}/v1/completions",
        msgspec.json.encode(body), {"Content-Type": "application/json"},
    )  # fmt: skip
    answer: dict[str, Any] = msgspec.json.decode(DIRECT.open(request, timeout=300).read())
    return int(answer["usage"]["completion_tokens"])


def traffic(server: Server, tokens: int = 96) -> int:
    """Four requests at once, then one: the tokens that the clients counted."""
    counts: list[int] = []
    threads = [
        threading.Thread(target=lambda i=i: counts.append(complete(server, f"def f{i}(self):", tokens)))
        for i in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sum(counts) + complete(server, "import os, sys", tokens)


def figures_over(server: Server) -> tuple[Figures, dict[str, float], int]:
    """Our window between a mark and the last page beside the server's own counters before and after it."""
    before = server.counters()
    inbox.post(server.folder, "mark", label="here")
    server.until("the mark", lambda _: server.reading().serving.marks, 20)
    tokens = traffic(server)
    after = still(server)
    grown = {name: value - before.get(name, 0.0) for name, value in after.items()}
    finished = grown["vllm:generation_tokens_total"]

    def caught_up(_: object) -> bool:
        found = since_mark(server.reading().serving)
        return found is not None and found.generated == finished

    server.until("the last page in the record", caught_up, 30)
    found = since_mark(server.reading().serving)
    assert found is not None
    return found, grown, tokens


def still(server: Server) -> dict[str, float]:
    """The counters once they rest: the engine reports a step after the client has its last token."""
    last = server.counters()
    while True:
        time.sleep(0.5)
        now = server.counters()
        if now["vllm:generation_tokens_total"] == last["vllm:generation_tokens_total"]:
            return now
        last = now


def assert_equal(found: Figures, grown: dict[str, float], positions: int) -> None:
    """Every figure is the difference of the server's own counters, to the last token."""
    drafts, drafted, accepted = (
        grown[f"vllm:spec_decode_num_{name}_total"] for name in ("drafts", "draft_tokens", "accepted_tokens")
    )
    at = [grown[f"vllm:spec_decode_num_accepted_tokens_per_pos_total[{i}]"] for i in range(positions)]
    assert drafts > 10
    assert (found.drafts, found.draft_tokens, found.accepted) == (drafts, drafted, accepted)
    assert found.acceptance_rate == accepted / drafted
    assert found.mean_length == 1 + accepted / drafts
    assert found.per_position == tuple(p / drafts for p in at)
    assert found.identity_ok
    assert found.resets == 0


def test_plain_in_a_session_that_hangs_up_then_terminated(server: Server) -> None:
    """No speculation; the launching terminal is gone while it loads; SIGTERM to the server is a stop."""
    argv = server.argv()
    primary, secondary = pty.openpty()
    shell = subprocess.Popen(
        ["sh", "-c", '"$@"; exec sleep 600', "sh", *server.launch_words("plain", argv)],
        cwd=REPOSITORY, env=server.environment(), start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_DFL),  # the tests may run under nohup
        stdin=secondary, stdout=subprocess.PIPE, stderr=secondary, text=True,
    )  # fmt: skip
    os.close(secondary)
    assert shell.stdout is not None
    server.id = shell.stdout.readline().split()[0]
    with shell:
        os.killpg(shell.pid, signal.SIGHUP)  # what the kernel sends to a session whose terminal went away
        os.close(primary)
    waited = server.wait()
    assert waited.returncode == 0, waited.stderr
    assert "ready after" in waited.stdout
    now = server.status()
    assert (now["ready"], now["live"], now["run"]["name"]) == (True, True, "plain")
    assert now["phase"] in ("ready", "serving")
    assert now["spec"] is None
    server.until("whose socket it is", lambda _: server.reading().life.owner == "same", 30)
    assert {"loading", "ready"} <= {row["phase"] for row in now["timeline"]}
    tokens = traffic(server, 32)
    server.until("the tokens", lambda _: served(server) == tokens, 30)
    shown = server.specwatch("logs", server.id)
    assert shown.returncode == 0
    assert "Application startup complete" in shown.stdout
    assert "GET /metrics" not in shown.stdout
    os.kill(server.pid("api"), signal.SIGTERM)
    now = server.until("the end", lambda now: now["live"] is False, 120)
    assert (now["phase"], now["root_cause"], now["exit"]["code"]) == ("stopped", None, 0)
    assert server.wait().returncode == 1
    ended(server)


def served(server: Server) -> int | None:
    state = server.reading().serving
    return round(
        sum(v for n, v in state.totals.values.items() if "generation_tokens_total" in state.names[n])
    )


def test_ngram_then_its_engine_is_killed(server: Server) -> None:
    """A killed engine makes the API server leave in good order, exit code 0; it has failed all the same."""
    assert server.launch("ngram", [*server.argv(), "--speculative-config", NGRAM]).returncode == 0
    assert server.wait().returncode == 0
    found, grown, tokens = figures_over(server)
    assert found.generated == tokens
    assert_equal(found, grown, positions=4)
    server.kill("engine")
    waited = server.specwatch("wait", server.id)  # returns at once or when it is over: 1 either way
    now = server.until("the end", lambda now: now["live"] is False, 120)
    assert (now["phase"], now["exit"]["code"]) == ("failed", 0)
    assert now["root_cause"] is not None
    assert "engine core" in now["root_cause"]["line"].lower().replace("enginecore", "engine core")
    assert waited.returncode in (0, 1)
    assert server.wait().returncode == 1
    ended(server)


def test_eagle3_bench_then_its_api_server_is_killed(server: Server) -> None:
    """The bench's figures; then SIGKILL of the first process: what it leaves is named, and `stop` ends it."""
    assert server.launch("eagle3", server.argv(speculate=True)).returncode == 0
    assert server.wait().returncode == 0
    found, grown, tokens = figures_over(server)
    assert found.generated == tokens
    assert_equal(found, grown, positions=3)
    assert found.acceptance_rate is not None
    assert 0.3 < found.acceptance_rate < 0.95  # the drafter is made to be right 8 times of 10

    before = still(server)
    done = server.specwatch("bench", server.id, "--json")
    assert done.returncode == 0, done.stderr
    after = still(server)
    drafted = (
        after["vllm:spec_decode_num_draft_tokens_total"] - before["vllm:spec_decode_num_draft_tokens_total"]
    )
    passes = server.reading().serving.benchmarks
    assert passes
    assert all(bench.end_t is not None for bench in passes)
    assert done.stdout.strip()
    assert drafted > 0

    size = server.folder.server_log.stat().st_size
    server.kill("api")
    now = server.until("the leftovers", lambda now: notes_of(server), 60)
    assert "live on" in notes_of(server)
    assert now["phase"] == "failed"
    assert server.processes()
    assert server.folder.server_log.stat().st_size >= size
    stopped = server.specwatch("stop", server.id)
    assert stopped.returncode == 0, stopped.stderr
    assert not server.processes()
    state = ended(server)
    assert state.life.exit is not None
    assert state.life.exit.signal == signal.SIGKILL
    assert state.log.size == server.folder.server_log.stat().st_size


def notes_of(server: Server) -> str:
    return "; ".join(text for _t, text in server.reading().life.notes)


def test_a_port_that_another_answers_is_not_our_ready(server: Server) -> None:
    """Somebody else's server answers /health on our port: named, and not taken for ours."""

    class Healthy(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *args: object) -> None:
            pass

    assert server.launch("other", server.argv()).returncode == 0  # the port is free: preflight passes
    with http.server.ThreadingHTTPServer(("127.0.0.1", server.port), Healthy) as stranger:
        threading.Thread(target=stranger.serve_forever, daemon=True).start()
        server.until("the stranger is seen", lambda _: server.reading().life.health == 200, 60)
        life = server.reading().life
        assert (life.owner, life.owner_pid) == ("other", os.getpid())
        assert server.status()["ready"] is False
        refused = Server(server.state, server.engine, server.pair)
        refused.port = server.port
        second = refused.launch("second", refused.argv())
        assert second.returncode == 2
        assert str(server.port) in second.stderr
        assert str(os.getpid()) in second.stderr
        waited = server.wait()  # vLLM finds its port taken
        stranger.shutdown()
    assert waited.returncode == 1
    now = server.status()
    assert now["phase"] == "failed"
    assert "in use" in now["root_cause"]["line"]
    ended(server)
