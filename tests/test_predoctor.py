"""launch asks doctor first: errors end a launch without a terminal, warnings stay with the run."""

import contextlib
import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from collectors.record import runs
from launch import predoctor
from launch.plan import make as make_plan
from tests.makers.pairs import SICK, Made, healthy, make

NAMED = {sick.name: sick for sick in SICK}


def command(tmp_path: Path, made: Made, *options: str, method: str = "eagle3") -> list[str]:
    vllm = tmp_path / "vllm"
    vllm.write_text("#!/bin/sh\nexec sleep 60\n")
    vllm.chmod(0o755)
    spec = json.dumps({"method": method, "model": str(made.drafter), "num_speculative_tokens": 3})
    server = [str(vllm), "serve", str(made.target), "--port", "8341", "--speculative-config", spec]
    words = [sys.executable, "-m", "launch", "--state-dir", str(tmp_path / "state"), "launch", "--detach"]
    return [*words, *options, "--", *server]


def launch(
    tmp_path: Path, made: Made, *options: str, method: str = "eagle3"
) -> "subprocess.CompletedProcess[str]":
    words = command(tmp_path, made, *options, method=method)
    return subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)


def stop(tmp_path: Path) -> None:
    words = [sys.executable, "-m", "launch", "--state-dir", str(tmp_path / "state"), "stop", "--kill"]
    subprocess.run(words, capture_output=True, timeout=60, check=True)


def test_an_error_ends_the_launch_and_leaves_nothing(tmp_path: Path) -> None:
    done = launch(tmp_path, make(tmp_path / "pair", NAMED["missing tensor"]))
    assert (done.returncode, done.stdout) == (2, "")
    assert "\nerror: doctor, names: missing: " in "\n" + done.stderr
    assert "--no-doctor" in done.stderr
    assert runs.every(tmp_path / "state") == []


@pytest.mark.parametrize("way", ["--no-doctor", "--force", "another method"])
def test_ways_round_it(tmp_path: Path, way: str) -> None:
    made = make(tmp_path / "pair", NAMED["missing tensor"])
    done = launch(tmp_path, made, method="draft_model") if " " in way else launch(tmp_path, made, way)
    assert done.returncode == 0, done.stderr
    stop(tmp_path)


@pytest.mark.parametrize(("answer", "code", "launched"), [("n", 2, 0), ("y", 0, 1)])
def test_at_a_terminal_an_error_is_asked_about(tmp_path: Path, answer: str, code: int, launched: int) -> None:
    made = make(tmp_path / "pair", NAMED["missing tensor"])
    pid, terminal = pty.fork()
    if pid == 0:
        words = command(tmp_path, made)
        os.execv(words[0], words)
    said = b""
    with contextlib.suppress(OSError):  # EIO: the other side is closed
        while part := os.read(terminal, 4096):
            said += part
            if b"[y/N]" in said and answer:
                os.write(terminal, f"{answer}\n".encode())
                answer = ""
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == code
    assert said.count(b"error: doctor, names: missing: ") == 1
    found = runs.every(tmp_path / "state")
    assert len(found) == launched
    if found:
        assert [line.split(":")[0] for line in found[0].info().facts.advice] == ["doctor, names"]
        stop(tmp_path)


@pytest.mark.parametrize(
    ("flags", "seen"),
    [
        ("--max-model-len 128k --tp 4", (128_000, 4, None, None)),
        ("--max-model-len=128K -tp 8", (131_072, 8, None, None)),
        ("--max-model-len auto --tensor-parallel-size inf", (None, 1, None, None)),
        ("--max-model-len -1 --tp nan", (None, 1, None, None)),
        (
            "--speculative-config.method eagle3 --speculative-config.num-speculative-tokens 5",
            (None, 1, 5, "eagle3"),
        ),
        ("--speculative_config.num_speculative_tokens=x", (None, 1, None, None)),
        ('--speculative-config {"method":"eagle3","num_speculative_tokens":true}', (None, 1, None, "eagle3")),
    ],
)
def test_what_the_command_line_says_of_the_pair(tmp_path: Path, flags: str, seen: tuple[object, ...]) -> None:
    (tmp_path / "vllm").touch(0o755)
    plan = make_plan([str(tmp_path / "vllm"), "serve", "m", *flags.split()], {})
    options = predoctor._options(plan, predoctor._speculation(plan))
    assert (options.max_model_len, options.tp, options.k, options.method) == seen


def test_a_warning_stays_with_the_run(tmp_path: Path) -> None:
    done = launch(tmp_path, make(tmp_path / "pair", NAMED["t2d of another run"]))
    assert done.returncode == 0, done.stderr
    [folder] = runs.every(tmp_path / "state")
    assert [line.split(":")[0] for line in folder.info().facts.advice] == ["doctor, t2d"]
    stop(tmp_path)


def test_a_healthy_pair_is_launched_without_a_word_of_it(tmp_path: Path) -> None:
    done = launch(tmp_path, healthy(tmp_path / "pair"))
    assert done.returncode == 0, done.stderr
    assert "doctor" not in done.stderr
    stop(tmp_path)
