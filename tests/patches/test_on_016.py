"""The EAGLE-3 patch on a real vLLM 0.16: refused three ways in turn without it, served with it, same greedy tokens."""

import json
import random
import urllib.request
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.engine.driver import DIRECT
from tests.patches.conftest import OldServer

ANSWERS, TOKENS = 20, 96
_plain: dict[str, list[list[int]]] = {}  # target -> its greedy answers without speculation


def ask(server: OldServer) -> list[list[int]]:
    """Greedy answers, eight at a time, as token ids."""
    words, rnd = (
        ["import", "self", "return", "class", "value", "the", "path", "for", "name", "in", "string", "error"],
        random.Random(7),
    )
    prompts = [
        " ".join(rnd.choice(words) for _ in range(rnd.randint(3, 60))) + f" {i}" for i in range(ANSWERS)
    ]

    def one(prompt: str) -> list[int]:
        body = {"model": "tiny", "prompt": prompt, "max_tokens": TOKENS, "temperature": 0, "ignore_eos": True}
        request = urllib.request.Request(
            f"http://127.0.0.1:{server.port}/v1/completions",
            json.dumps({**body, "return_token_ids": True}).encode(),
            {"Content-Type": "application/json"},
        )
        answer = json.load(DIRECT.open(request, timeout=300))
        return list(answer["choices"][0]["token_ids"])

    with ThreadPoolExecutor(8) as pool:
        return list(pool.map(one, prompts))


def plain_answers(server: OldServer, target: str) -> list[list[int]]:
    if target not in _plain:
        assert server.serve(target, None).returncode == 0
        assert server.wait().returncode == 0
        _plain[target] = ask(server)
        server.clear()
    return _plain[target]


@pytest.mark.parametrize(
    ("target", "patches", "refusal"),
    [
        ("target", (), "Eagle3 is only supported for"),
        ("target", ("eagle3.whitelist",), "Model does not support EAGLE3 interface"),
        ("kimi", (), "Eagle3 is only supported for"),
        ("kimi", ("eagle3.whitelist",), "has no attribute 'image_token_index'"),
        ("kimi", ("eagle3.whitelist", "eagle3.image_token"), "Model does not support EAGLE3 interface"),
    ],
)
def test_unpatched_it_refuses_and_the_hint_names_the_patch(
    server: OldServer, target: str, patches: tuple[str, ...], refusal: str
) -> None:
    assert server.serve(target, "drafter", *patches).returncode == 0
    waited = server.wait()
    assert waited.returncode == 1
    cause = server.status()["root_cause"]
    assert refusal in cause["line"]
    assert "--patch eagle3" in cause["hint"]
    # It ends by itself within 5 s; a SIGTERM while it does so makes this version hang for good.
    server.until("its end", lambda now: now["exit"], 60)


@pytest.mark.parametrize("target", ["target", "kimi"])
def test_patched_it_serves_and_the_answers_are_the_same(server: OldServer, target: str) -> None:
    plain = plain_answers(server, target)
    assert server.serve(target, "drafter", "eagle3").returncode == 0
    assert server.wait().returncode == 0
    assert ask(server) == plain
    counted = server.counters()
    accepted, drafted = (counted[f"vllm:spec_decode_num_{n}_tokens_total"] for n in ("accepted", "draft"))
    assert (
        accepted > 0.5 * drafted > 100
    )  # made to be right at 80 %: only hidden states of the right layers give that
    patches = server.status()["patches"]
    assert patches["eagle3.whitelist"] == {"applied": 2}  # API server and engine core
    assert patches["eagle3.interface_deepseek"]["applied"] == 1
    assert "failed" not in json.dumps(patches)


def test_the_wrong_layers_are_accepted_never_and_still_answer_the_same(server: OldServer) -> None:
    """The check bites: one captured layer of three is another, and no draft is right."""
    plain = plain_answers(server, "target")
    assert server.serve("target", "drafter-bad", "eagle3").returncode == 0
    assert server.wait().returncode == 0
    assert ask(server) == plain
    counted = server.counters()
    assert counted["vllm:spec_decode_num_draft_tokens_total"] > 1000
    assert counted["vllm:spec_decode_num_accepted_tokens_total"] == 0
