import json

import msgspec
import pytest

from collectors.reading.events import Log
from collectors.reading.log import reader
from collectors.reading.log.state import LogState
from collectors.reading.report import report
from collectors.reading.state import State
from collectors.redact import Redactor, is_secret, mask, resolve
from tui.loglook import look

KEY = "sk-verysecret-1"


@pytest.mark.parametrize(
    "name", ["HF_TOKEN", "VLLM_API_KEY", "AWS_SECRET_ACCESS_KEY", "hf-token", "api_key", "DB_PASSWORD"]
)
def test_names_of_secrets(name: str) -> None:
    assert is_secret(name)


@pytest.mark.parametrize(
    "name", ["TOKENIZERS_PARALLELISM", "max-num-batched-tokens", "ssl-keyfile", "tokenizer", "PATH"]
)
def test_names_that_only_look_like_it(name: str) -> None:
    assert not is_secret(name)


@pytest.mark.parametrize(
    ("argv", "shown"),
    [
        (["--api-key", KEY, "--port", "1"], ("--api-key", "$VLLM_API_KEY", "--port", "1")),
        (["--api_key", KEY], ("--api_key", "$VLLM_API_KEY")),
        ([f"--api-key={KEY}"], ("--api-key=$VLLM_API_KEY",)),
        (["--api-key", KEY, "second-key", "--x"], ("--api-key", "$VLLM_API_KEY", "$VLLM_API_KEY", "--x")),
        (["--api-key", "abc"], ("--api-key", "$VLLM_API_KEY")),
        (["env", f"MY_TOKEN={KEY}", "vllm"], ("env", "MY_TOKEN=$MY_TOKEN", "vllm")),
        (["--kv-transfer-config", json.dumps({"a": [{"password": KEY}]})], None),
        (["--proxy", "http://u:hunter22@host"], ("--proxy", "http://u:$URL_PASSWORD@host")),
    ],
)
def test_argv_keeps_its_shape_and_loses_its_secrets(argv: list[str], shown: tuple[str, ...] | None) -> None:
    redacted = Redactor(argv).argv(argv)
    assert KEY not in " ".join(redacted)
    assert len(redacted) == len(argv)
    assert shown is None or redacted == shown


def test_a_value_is_called_by_the_variable_that_holds_it() -> None:
    redactor = Redactor(["--api-key", KEY], {"TEAM_KEY": KEY})
    assert redactor.argv(["--api-key", KEY]) == ("--api-key", "$TEAM_KEY")
    assert redactor.tree({"line": [f"key {KEY}!"], "n": 3}) == {"line": ["key $TEAM_KEY!"], "n": 3}
    assert redactor.names_in(["--api-key", "$TEAM_KEY"]) == ("TEAM_KEY",)


def test_numbers_and_switches_are_no_secrets() -> None:
    redactor = Redactor([], {"BATCH_KEY": "4096", "USE_TOKEN": "true"})
    assert redactor.text("4096 true") == "4096 true"


def test_a_reference_is_resolved_only_where_it_was_made() -> None:
    assert resolve("$A_KEY and $HOME", ["A_KEY"], {"A_KEY": "v", "HOME": "/h"}) == "v and $HOME"
    with pytest.raises(KeyError):
        resolve("$A_KEY", ["A_KEY"], {})


@pytest.mark.parametrize(
    "line",
    [
        f"non-default args: {{'api_key': ['{KEY}'], 'port': 8000}}",
        f"non-default args: {{'api_key': '{KEY}'}}",
        f"Namespace(host=None, api_key='{KEY}', hf_token=None)",
        f"vllm serve m --api-key {KEY} --port 1",
        f"Authorization: Bearer {KEY}",
        f"using {KEY}-and-more-of-it",
    ],
)
def test_mask_hides_what_is_printed_as_a_secret(line: str) -> None:
    assert KEY not in mask(line)


def test_mask_leaves_innocent_lines_alone() -> None:
    line = "Resolved tokenizer='x', max_num_batched_tokens=2048, hf_token=None, KeyError: 'model.layers.0'"
    assert mask(line) == line


def test_what_is_shown_of_a_log_is_masked() -> None:
    """vLLM before 0.30 prints its arguments, keys among them; server.log keeps what the server wrote."""
    line = f"(APIServer pid=1) ERROR 12-01 03:25:00 [api_server.py:1] non-default args: {{'api_key': ['{KEY}']}}\n"
    read = reader.read(LogState(), Log(t=0.0, offset=0, data=line.encode()))
    found = report(State(log=read))
    assert found.problems
    assert KEY not in msgspec.json.encode(found).decode()
    assert KEY not in look(line.encode(), 0, LogState())[0].text
