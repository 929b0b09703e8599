"""What is found before a launch, from made-up GPUs and a real disk; the port and the models are tried in
test_launch_run.py. On a real H200 the same findings came with the pid and the run that held its memory.
"""

import os
import shutil
import socket
import sys
from collections import namedtuple
from pathlib import Path

import pytest

from launch import plan as planning
from launch import preflight
from launch.holders import Card
from launch.preflight import Finding, Site

H200 = 143_771


def card(index: int, used: int = 0, pids: tuple[int, ...] = ()) -> Card:
    return Card(index, "NVIDIA H200", f"GPU-{index}", H200, used, pids)


def found(state: Path, *words: str, cards: tuple[Card, ...] = (), **env: str) -> list[Finding]:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = str(probe.getsockname()[1])
    argv = (sys.executable, "serve", "m", "--load-format", "dummy", "--port", port, *words)
    plan = planning.make(argv, {"PATH": os.defpath, **env})
    return preflight.findings(plan, Site(state=state, target=None, drafter=None, cards=cards))


def test_free_gpus_are_no_finding(tmp_path: Path) -> None:
    assert found(tmp_path, "-tp", "2", cards=(card(0), card(1))) == []


def test_a_gpu_that_is_held_ends_the_launch_and_names_the_holder(tmp_path: Path) -> None:
    (one,) = found(tmp_path, cards=(card(0, 100_000, (os.getpid(),)),))
    assert one.error
    assert "GPU 0 has 42.7 of 140.4 GiB free" in one.message
    assert f"(pid {os.getpid()})" in one.message


def test_what_the_server_asks_for_decides(tmp_path: Path) -> None:
    held = (card(0, 100_000, (os.getpid(),)),)
    (one,) = found(tmp_path, "--gpu-memory-utilization", "0.25", cards=held)
    assert not one.error


def test_a_holder_of_another_container_is_said(tmp_path: Path) -> None:
    (one,) = found(tmp_path, cards=(card(0, 100_000, (4_194_000,)),))
    assert "pid 4194000 of another container" in one.message
    (one,) = found(tmp_path, cards=(card(0, 100_000),))
    assert "nobody that is seen from here" in one.message


@pytest.mark.parametrize(
    ("words", "env", "names"),
    [
        ((), {}, []),
        (("--tensor-parallel-size", "2"), {}, [1]),
        (("-tp", "2", "-pp", "2"), {}, [1, 3]),
        ((), {"CUDA_VISIBLE_DEVICES": "3,0"}, []),
        ((), {"CUDA_VISIBLE_DEVICES": "3"}, [3]),
        (("-tp", "2"), {"CUDA_VISIBLE_DEVICES": "0,2"}, []),
    ],
)
def test_only_gpus_that_the_server_will_use_are_looked_at(
    tmp_path: Path, words: tuple[str, ...], env: dict[str, str], names: list[int]
) -> None:
    cards = (card(0), card(1, 140_000), card(2), card(3, 140_000))
    told = [int(finding.message.split()[1]) for finding in found(tmp_path, *words, cards=cards, **env)]
    assert told == names


@pytest.mark.parametrize(("free", "errors"), [(1 << 40, []), (100 << 20, [False]), (1 << 20, [True])])
def test_a_full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, free: int, errors: list[bool]) -> None:
    usage = namedtuple("usage", "free")
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage(free))
    assert [finding.error for finding in found(tmp_path / "state" / "not" / "yet")] == errors


def test_switches_that_blind_us_are_said_and_end_nothing(tmp_path: Path) -> None:
    said = found(tmp_path, "--disable-log-stats", VLLM_CONFIGURE_LOGGING="0", TQDM_DISABLE="1")
    assert [finding.message.split(":")[0] for finding in said] == [
        "--disable-log-stats", "VLLM_CONFIGURE_LOGGING=0", "TQDM_DISABLE",
    ]  # fmt: skip
    assert not any(finding.error for finding in said)
