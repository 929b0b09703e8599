"""launch asks doctor first: errors end a launch without a terminal, warnings stay with the run."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from collectors.record import runs
from tests.makers.pairs import SICK, Made, healthy, make

NAMED = {sick.name: sick for sick in SICK}


def launch(
    tmp_path: Path, made: Made, *options: str, method: str = "eagle3"
) -> "subprocess.CompletedProcess[str]":
    vllm = tmp_path / "vllm"
    vllm.write_text("#!/bin/sh\nexec sleep 60\n")
    vllm.chmod(0o755)
    spec = json.dumps({"method": method, "model": str(made.drafter), "num_speculative_tokens": 3})
    server = [str(vllm), "serve", str(made.target), "--port", "8341", "--speculative-config", spec]
    words = [
        sys.executable,
        "-m",
        "launch",
        "--state-dir",
        str(tmp_path / "state"),
        "launch",
        "--detach",
        *options,
    ]
    return subprocess.run(
        [*words, "--", *server], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60
    )


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
