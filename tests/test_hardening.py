"""What a hostile or unlucky user tried: each of these ended in a traceback, a hang or a wrong answer once."""

import os
from pathlib import Path

import pytest

from collectors.reading.events import Exit, Health, Log, Started, Tick
from collectors.record import checkpoint, inbox, reader
from launch.commands import COMMANDS
from launch.output import clean
from tests.conftest import Cli
from tests.run_folders import make_run, read, write_record

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


@pytest.mark.parametrize(
    "damage",
    [
        b'{"t":1,"health":{"status":"x"}}',
        b'{"t":1,"request":{"id":5}}',
        b'{"t":1,"exit":{"code":"a"}}',
        b'{"t":1,"log":[-5,10]}',
        b'{"t":1,"log":[10,5]}',
        b'{"t":1,"health":{"a":' + DEEP + b"}}",
        b"\0" * 5000,
    ],
    ids=["health", "request", "exit", "negative", "backwards", "deep", "nul"],
)
def test_a_line_damaged_within_is_passed_over(tmp_path: Path, damage: bytes) -> None:
    """One such line ended `status`, `runs` of all runs, and the recorder that should go on."""
    folder = make_run(tmp_path)
    write_record(folder, [Health(t=1.0, status=200)])
    with folder.record.open("ab") as record:
        record.write(damage + b"\n")
    with folder.record.open("ab") as record:
        record.write(b'{"t":2,"tick":true}\n{"t":3,"exit":{"code":7,"signal":null,"reason":""}}\n')
    assert [type(event) for _, event in reader.replay(folder)] == [Started, Health, Tick, Exit]
    run = read(folder)
    assert run.ended
    assert run.state.life.exit is not None
    assert run.state.life.exit.code == 7


def test_a_record_that_points_far_beyond_the_log_gives_what_there_is(tmp_path: Path) -> None:
    folder = make_run(tmp_path)
    folder.server_log.write_bytes(b"abc\n")
    folder.record.write_bytes(b'{"t":1,"log":[0,99999999999999]}\n')
    assert [event for _, event in reader.replay(folder)] == [Log(t=1.0, offset=0, data=b"abc\n")]
    folder.server_log.unlink()
    os.mkfifo(folder.server_log)
    assert [event for _, event in reader.replay(folder)] == [Log(t=1.0, offset=0, data=b"")]


@pytest.mark.parametrize("name", ["x" * 5000, "a\nb", "\x1b[31m", os.fsdecode(b"\xff")])
def test_a_name_that_no_list_could_show_is_refused(cli: Cli, name: str) -> None:
    answer = cli("launch", "--detach", "--name", name, "--", "true")
    assert answer.returncode == 2
    assert "cannot be named" in answer.stderr


def test_bytes_that_are_no_text_are_refused_before_the_launch(cli: Cli, state: Path) -> None:
    answer = cli("launch", "--detach", "--force", "--", "true", os.fsdecode(b"\xff"))
    assert answer.returncode == 2
    assert "not UTF-8" in answer.stderr
    assert not list(state.glob("runs/*"))


@pytest.mark.parametrize("url", ["http://127.0.0.1:99999", "http://:8000", "http://a:b", "http://[::1"])
def test_no_address_of_a_server(cli: Cli, url: str) -> None:
    answer = cli("attach", "--no-screen", "--url", url)
    assert answer.returncode == 2
    assert "is no address" in answer.stderr


def test_a_log_command_that_does_not_exist(cli: Cli) -> None:
    answer = cli("attach", "--no-screen", "--log-command", "--", "no-such-program")
    assert answer.returncode == 2
    assert "no-such-program" in answer.stderr


@pytest.mark.parametrize("mark", ["\u200e", "\u200f", "\u061c", "\u202e", "\u2066"])
def test_no_mark_turns_the_reading_direction(mark: str) -> None:
    assert mark not in clean(f"a{mark}b")
