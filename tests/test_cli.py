"""The frame: errors as two lines, exit codes, streams, and nothing that a terminal would obey."""

import io
import json
import os
import subprocess
import sys
from pathlib import Path

import click
import pytest

from collectors.errors import ExitCode
from launch import cli as frame
from launch import figures, output
from launch.commands import COMMANDS, Row
from tests.conftest import ROOT, Cli


def test_help_lists_every_command_once(cli: Cli) -> None:
    answer = cli("--help")
    assert answer.returncode == 0
    for row in COMMANDS:
        assert (f"\n  {row.name} " in answer.stdout) is not row.hidden


@pytest.mark.parametrize("row", COMMANDS, ids=lambda row: row.name)
def test_every_row_has_its_command_and_its_help(row: Row) -> None:
    command = frame.cli.get_command(click.Context(frame.cli), row.name)
    assert command is not None
    assert command.help
    assert row.help.endswith(".")


def test_version(cli: Cli) -> None:
    answer = cli("--version")
    assert (answer.returncode, answer.stderr) == (0, "")
    assert answer.stdout.startswith("specwatch")


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (["statsu"], "did you mean `status`?"),
        (["nonsense"], "--help"),
        (["status", "--nope"], "specwatch status --help"),
        (["--nope"], "specwatch --help"),
        (["runs", "surplus"], "specwatch runs --help"),
        (["wait", "--timeout", "soon"], "specwatch wait --help"),
    ],
)
def test_bad_usage_is_two_lines_and_exit_2(cli: Cli, args: list[str], says: str) -> None:
    answer = cli(*args)
    assert answer.returncode == ExitCode.USAGE
    assert answer.stdout == ""
    first, second = answer.stderr.splitlines()
    assert first.startswith("error: ")
    assert second.startswith("hint: ")
    assert says in second


def test_no_arguments_show_the_help_as_an_error() -> None:
    command = [sys.executable, "-m", "launch"]
    answer = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert answer.returncode == ExitCode.USAGE
    assert answer.stdout == ""
    assert "Commands:" in answer.stderr


def test_a_fault_of_ours_is_not_a_failed_server(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)

    def broken() -> int:
        raise ZeroDivisionError("by \x1b[31mzero")

    monkeypatch.setattr(frame, "_run", broken)
    with pytest.raises(SystemExit) as caught:
        frame.main()
    assert caught.value.code == ExitCode.FAULT
    said = capsys.readouterr().err
    assert "Traceback" not in said
    assert "\x1b" not in said
    (fault,) = tmp_path.glob("specwatch-fault-*.txt")
    assert str(fault) in said
    assert "ZeroDivisionError" in fault.read_text()


def test_a_reader_that_leaves_early_is_fine(state: Path) -> None:
    command = f"{sys.executable} -m launch --help | true; exit ${{PIPESTATUS[0]}}"
    answer = subprocess.run(["bash", "-c", command], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (answer.returncode, answer.stderr) == (0, "")


@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize("args", ["--help", "--version", "runs --help", "runs --json", "completion bash"])
@pytest.mark.parametrize(
    ("where", "says"), [(">/dev/full", "standard output cannot be written"), (">&-", "is closed")]
)
def test_a_stdout_that_takes_nothing_is_one_error(
    where: str, says: str, args: str, unbuffered: str, state: Path
) -> None:
    command = f"{sys.executable} -m launch --state-dir {state} {args} {where}"
    env = {**os.environ, "PYTHONUNBUFFERED": unbuffered}
    answer = subprocess.run(
        ["bash", "-c", command], cwd=ROOT, env=env, capture_output=True, text=True, check=False
    )
    assert answer.returncode == ExitCode.USAGE
    first, second = answer.stderr.splitlines()
    assert first.startswith("error: ")
    assert says in first
    assert second.startswith("hint: ")


@pytest.mark.parametrize("where", ["2>/dev/full", "2>&-"])
def test_a_stderr_that_takes_nothing_changes_no_exit_code(where: str, state: Path) -> None:
    for args, code in (("nonsense", ExitCode.USAGE), ("status", ExitCode.NO_SUCH_RUN), ("runs", ExitCode.OK)):
        command = f"{sys.executable} -m launch --state-dir {state} {args} {where}"
        assert subprocess.run(["bash", "-c", command], cwd=ROOT, check=False).returncode == code


@pytest.mark.parametrize("name", [row.name for row in COMMANDS if not row.hidden])
def test_a_named_configuration_must_exist(name: str, cli: Cli) -> None:
    """Also for a command that would not read it."""
    answer = cli("--config", "/nowhere", name)
    assert answer.returncode == ExitCode.USAGE
    assert answer.stderr == "error: there is no configuration file /nowhere\nhint: --config names it\n"


def test_help_needs_no_configuration(cli: Cli) -> None:
    assert "Usage:" in cli("--config", "/nowhere", "runs", "--help").stdout


def test_a_configuration_that_the_environment_names_must_exist(cli: Cli, state: Path) -> None:
    answer = cli("runs", SPECWATCH_CONFIG="/nowhere")
    assert answer.returncode == ExitCode.USAGE
    assert "hint: $SPECWATCH_CONFIG names it" in answer.stderr
    answer = cli("record", str(state / "runs" / "x"), SPECWATCH_CONFIG="/nowhere")
    assert "run.json cannot be read" in answer.stderr


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        ("vllm serve X", "-- vllm serve X"),
        ("vllm serve X --port 8001 --detach", "--detach -- vllm serve X --port 8001"),
        ("--name b vllm serve X", "--name b -- vllm serve X"),
        ("--name=b vllm serve X -tp 8", "--name=b -- vllm serve X -tp 8"),
        ("python -m sglang.launch_server", "-- python -m sglang.launch_server"),
        ("eagle3 --max-num-seqs 64", "eagle3 -- --max-num-seqs 64"),
        ("eagle3 x -- y", "eagle3 -- x y"),
        ("--port 8001", None),
        ("--detatch", None),
        ("eagle3 --detatch", None),
        ("eagle3 --name", None),
    ],
)
def test_a_launch_without_its_dashes_is_shown_with_them(
    words: str, meant: str | None, tmp_path: Path, cli: Cli
) -> None:
    (tmp_path / "config.toml").write_text('[profile.eagle3]\ncommand = ["vllm", "serve", "m"]\n')
    answer = cli("--config", str(tmp_path / "config.toml"), "launch", *words.split())
    assert answer.returncode == ExitCode.USAGE
    assert (f"`specwatch launch {meant}`" in answer.stderr) is bool(meant)
    assert len(answer.stderr.splitlines()) == 2


@pytest.mark.parametrize(
    ("term", "terminal", "why"),
    [
        ("xterm", True, ""),
        ("xterm", False, "the screen needs a terminal"),
        ("dumb", True, "TERM=dumb says that this one cannot"),
        ("", True, "TERM, which says so, is not set"),
    ],
)
def test_why_there_is_no_screen(term: str, terminal: bool, why: str, monkeypatch: pytest.MonkeyPatch) -> None:
    class Stream(io.StringIO):
        def isatty(self) -> bool:
            return terminal

    monkeypatch.setenv("TERM", term)
    said = output.no_screen(Stream(), Stream())
    assert said.endswith(why)
    assert bool(said) is bool(why)


def test_a_state_directory_that_is_closed_or_a_file(state: Path, cli: Cli) -> None:
    state.write_text("")
    answer = cli("status")
    assert answer.returncode == ExitCode.USAGE
    assert answer.stderr.startswith("error: ")
    assert "--state-dir" in answer.stderr


@pytest.mark.parametrize("hostile", ["\x1b]0;title\x07", "\x9b2J", "\r", "\x08", "‮", "⁦"])
def test_nothing_that_a_terminal_obeys_is_printed(hostile: str, capsys: pytest.CaptureFixture[str]) -> None:
    output.data(f"a{hostile}b")
    output.say(f"a{hostile}b")
    output.error(f"a{hostile}b", hostile)
    output.json({"a": hostile})
    out, err = capsys.readouterr()
    assert not set(out + err) & set("\x1b\x07\x9b\r\x08‮⁦")
    assert "ab" not in err
    assert json.loads(out.splitlines()[-1]) == {"a": hostile}


def test_a_narrow_encoding_gets_question_marks(cli: Cli, state: Path) -> None:
    code = "from launch import output; output.data('× — ▸'); output.say('×')"
    env = {**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONPATH": str(ROOT)}
    answer = subprocess.run(
        [sys.executable, "-c", code], env=env, capture_output=True, text=True, check=False
    )
    assert answer.returncode == 0
    assert answer.stdout == "? ? ?\n"


@pytest.mark.parametrize(
    ("made", "text"),
    [
        (figures.duration(None), "—"),
        (figures.duration(0), "0:00"),
        (figures.duration(59.6), "1:00"),
        (figures.duration(3723), "1:02:03"),
        (figures.duration(90_000), "1 d 1 h"),
        (figures.about(None), "—"),
        (figures.about(3), "3 s"),
        (figures.about(42), "40 s"),
        (figures.about(840), "14 min"),
        (figures.about(4200), "1 h 10 min"),
        (figures.about(3600), "1 h"),
        (figures.ago(130), "2 min"),
        (figures.ago(-1), "0 s"),
        (figures.size(547e9), "547 GB"),
        (figures.size(0.71e9), "710 MB"),
        (figures.size(1.44e9), "1.44 GB"),
        (figures.size(0), "0 B"),
        (figures.percent(0.5599), "56.0 %"),
        (figures.number(31.0), "31"),
    ],
)
def test_numbers_as_they_are_written(made: str, text: str) -> None:
    assert made == text


@pytest.mark.parametrize("name", ["launch", "attach", "completion"])
def test_examples_stand_on_lines_of_their_own(name: str, cli: Cli) -> None:
    shown = cli(name, "--help").stdout
    assert "\\b" not in shown
    lines = [line.strip() for line in shown.splitlines()]
    assert {"launch": "specwatch launch -- vllm serve MODEL --port 8001",
            "attach": "specwatch attach --log vllm.log --url http://127.0.0.1:8000",
            "completion": 'bash   eval "$(specwatch completion bash)"   in ~/.bashrc'}[name] in lines  # fmt: skip
