"""What a hostile or unlucky user tried: each of these ended in a traceback, a hang or a wrong answer once."""

import os
from pathlib import Path

import pytest

from collectors.record import checkpoint, inbox
from launch.commands import COMMANDS
from tests.conftest import Cli
from tests.run_folders import make_run

DEEP = b"[" * 5000 + b"]" * 5000


def test_a_command_stands_once_in_the_table() -> None:
    names = [row.name for row in COMMANDS]
    assert sorted(set(names)) == sorted(names)


def test_what_is_no_file_is_no_request(tmp_path: Path) -> None:
    """A FIFO in the inbox stopped the recorder for good; a folder kept all later requests from being read."""
    folder = make_run(tmp_path)
    os.mkfifo(folder.inbox / "000.json")
    (folder.inbox / "001.json").mkdir()
    (folder.inbox / "002.json").symlink_to("/dev/zero")
    (folder.inbox / "003.json").symlink_to("nowhere")
    inbox.post(folder, "mark", label="mine")
    (path,) = inbox.waiting(folder)
    asked = inbox.read(path)
    assert isinstance(asked, inbox.Asked)
    assert asked.label == "mine"


def test_json_nested_without_end_is_damaged_everywhere(tmp_path: Path, state: Path, cli: Cli) -> None:
    folder = make_run(tmp_path)
    (folder.inbox / "0.json").write_bytes(b'{"kind":"note","data":{"a":' + DEEP + b"}}")
    (path,) = inbox.waiting(folder)
    assert isinstance(inbox.read(path), str)
    folder.record.touch()
    folder.checkpoint.write_bytes(DEEP)
    assert checkpoint.load(folder) is None
    (state / "runs" / "deep").mkdir(parents=True)
    (state / "runs" / "deep" / "run.json").write_bytes(b'{"v":' + DEEP + b"}")
    answer = cli("status", "deep")
    assert answer.returncode == 2
    assert "is damaged" in answer.stderr


@pytest.mark.parametrize("command", ["status", "logs", "wait", "stop"])
def test_a_run_of_any_length_is_only_unknown(cli: Cli, command: str) -> None:
    answer = cli(command, "x" * 5000)
    assert answer.returncode == 4
    assert answer.stderr.startswith("error: there is no run `xxx")


def test_a_fifo_as_a_log_is_refused_and_not_waited_for(cli: Cli, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    answer = cli("attach", "--no-screen", "--log", str(tmp_path / "pipe"), timeout=10)
    assert answer.returncode == 2
    assert "--log - <" in answer.stderr
