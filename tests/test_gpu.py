"""The GPU source on a fake libnvidia-ml, in its own process: the loader reads LD_LIBRARY_PATH at start."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from collectors.reading.events import Gpu
from collectors.sources import gpu
from tests.run_folders import FAKES

CODE = """
import json, sys, msgspec
from collectors.sources.gpu import GpuSource
now = 0.0
source = GpuSource(lambda: now, json.loads(sys.argv[1]))
out = []
for _ in range(int(sys.argv[2])):
    sample = source.sample(pcie=True)
    gpus = {k: msgspec.structs.asdict(v) for k, v in sample.gpus.items()} if sample else {}
    out.append({"gpus": gpus, "error": sample.error} if sample else None)
    now += 1.0
print(json.dumps({"samples": out, "holders": source.holders}))
"""


@pytest.fixture(scope="session")
def nvml(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the fake libnvidia-ml.so.1, built once."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        pytest.skip("no C compiler: the fake NVML cannot be built")
    folder = tmp_path_factory.mktemp("nvml")
    target = folder / "libnvidia-ml.so.1"
    subprocess.run(
        [compiler, "-shared", "-fPIC", "-O1", "-w", "-o", target, FAKES / "fake_nvml.c", "-lm"], check=True
    )
    return folder


def sampled(folder: Path | None, only: list[int] | None, times: int, **env: str) -> Any:
    library = {} if folder is None else {"LD_LIBRARY_PATH": str(folder)}
    done = subprocess.run(
        [sys.executable, "-c", CODE, json.dumps(only), str(times)],
        env={**os.environ, **library, **env},
        cwd=Path(__file__).parent.parent,
        capture_output=True,
        check=True,
    )
    return json.loads(done.stdout)


def test_eight_gpus_and_who_holds_them(nvml: Path) -> None:
    found = sampled(nvml, None, 1, FAKE_NVML_PID="4711")
    gpus = found["samples"][0]["gpus"]
    assert sorted(map(int, gpus)) == list(range(8))
    assert gpus["3"]["temp_c"] == 53
    assert gpus["3"]["power_w"] == 423
    assert found["holders"] == {"4711": list(range(8))}


def test_pcie_counters_take_turns(nvml: Path) -> None:
    samples = sampled(nvml, [0, 1], 4)["samples"]
    asked = [
        [(int(i), key) for i, g in s["gpus"].items() for key in ("pcie_rx_mb_s", "pcie_tx_mb_s") if g[key]]
        for s in samples
    ]
    rx, tx = "pcie_rx_mb_s", "pcie_tx_mb_s"
    assert asked == [[(0, rx)], [(0, tx)], [(1, rx)], [(1, tx)]]


def test_only_the_runs_own_gpus_are_read(nvml: Path) -> None:
    assert list(sampled(nvml, [2, 5], 1)["samples"][0]["gpus"]) == ["2", "5"]


def test_memory_is_version_2s(nvml: Path) -> None:
    """Version 1 counts the driver's reserve as used; the fake tells them apart by its reserve."""
    found = sampled(nvml, [0], 1, FAKE_NVML_V2_USED_MIB="1234")
    assert found["samples"][0]["gpus"]["0"]["used_mib"] == 1234


def test_without_nvml_it_is_said_once_and_not_faked() -> None:
    if any(Path(p, "libnvidia-ml.so.1").exists() for p in ("/usr/lib/x86_64-linux-gnu", "/usr/lib64")):
        pytest.skip("this machine has an NVML")
    found = sampled(None, None, 3)
    assert found["samples"][0]["error"].startswith("NVML: ")
    assert found["samples"][0]["gpus"] == {}
    assert found["samples"][1:] == [None, None]


@pytest.mark.parametrize(
    ("old", "new", "differs"),
    [
        (Gpu(100, 0, 78, 35), Gpu(100, 0, 79, 36), False),
        (Gpu(100, 0, 78, 35), Gpu(101, 0, 78, 35), True),
        (Gpu(100, 90, 600, 60), Gpu(100, 91, 600, 60), True),
        (Gpu(100, 0, 600, 60), Gpu(100, 0, 610, 60), False),
        (Gpu(100, 0, 600, 60), Gpu(100, 0, 620, 60), True),
        (Gpu(100, 0, 78, 35), Gpu(100, 0, 78, 35, 1200), True),
    ],
)
def test_what_counts_as_a_change(old: Gpu, new: Gpu, differs: bool) -> None:
    assert gpu._differs(old, new) is differs
