"""Completion as the shells ask for it: the words so far in, candidates out, no command imported for its help."""

import shutil
import subprocess
from pathlib import Path

import pytest

from collectors.reading.events import RunFacts
from tests.conftest import Cli
from tests.run_folders import make_run


def complete(cli: Cli, state: Path, *words: str) -> list[str]:
    line = f"specwatch --state-dir {state} " + " ".join(words)
    answer = cli(COMP_WORDS=line, COMP_CWORD=str(2 + len(words)), _SPECWATCH_COMPLETE="bash_complete")
    assert answer.returncode == 0, answer.stderr
    return [found.partition(",")[2] for found in answer.stdout.split()]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_is_one_that_the_shell_reads(cli: Cli, shell: str) -> None:
    answer = cli("completion", shell)
    assert answer.returncode == 0
    assert "_SPECWATCH_COMPLETE" in answer.stdout
    if shutil.which(shell):
        subprocess.run([shell, "-n"], input=answer.stdout, text=True, check=True)


def test_another_shell_is_bad_usage(cli: Cli) -> None:
    answer = cli("completion", "tcsh")
    assert answer.returncode == 2
    assert answer.stderr.startswith("error: ")


def test_commands(cli: Cli, state: Path) -> None:
    assert complete(cli, state, "sta") == ["status"]
    assert "record" not in complete(cli, state, "re")


def test_runs_by_id_and_name(cli: Cli, state: Path) -> None:
    make_run(state / "runs", "20261201-aa", facts=RunFacts(name="kimi"))
    make_run(state / "runs", "20261202-bb", facts=RunFacts(name="base"))
    assert complete(cli, state, "status", "k") == ["kimi"]
    assert complete(cli, state, "wait", "2026") == ["20261202-bb", "20261201-aa"]


def test_options(cli: Cli, state: Path) -> None:
    assert complete(cli, state, "wait", "--ti") == ["--timeout"]
