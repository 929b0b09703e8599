"""A real vLLM 0.16 with tiny DeepSeek-V3 and Kimi-K2.5 targets, launched by `specwatch launch --patch`."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from launch.demo.engines import Engine
from launch.demo.models import MAKER, Pair
from tests.engine.conftest import pytest_runtest_makereport  # noqa: F401  (a failure shows its run)
from tests.engine.driver import Server
from tests.patches.engine16.installing import HERE, engine16


@pytest.fixture(scope="session")
def old_engine(pytestconfig: pytest.Config) -> Engine:
    capture = pytestconfig.pluginmanager.getplugin("capturemanager")
    with capture.global_and_fixture_disabled():
        return engine16()


@pytest.fixture(scope="session")
def models(old_engine: Engine, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """target, kimi, drafter, drafter-bad: the drafter checks the hidden states that it is fed."""
    out = tmp_path_factory.mktemp("models")
    env = {**os.environ, "MAKE_TINY": str(MAKER.parent)}
    subprocess.run([old_engine.python, HERE / "make_dsv3.py", out], env=env, check=True, capture_output=True)
    return out


class OldServer(Server):
    """vLLM 0.16 on the CPU: the scaffold lifts "no speculation on a CPU" and touches none of the three checks."""

    def __init__(self, state: Path, engine: Engine, models: Path) -> None:
        super().__init__(state, engine, Pair(models / "target", models / "drafter"))
        self.models = models

    def serve(self, target: str, drafter: str | None, *patches: str) -> "subprocess.CompletedProcess[str]":
        argv = [
            str(self.engine.vllm),
            "serve",
            str(self.models / target),
            "--host",
            "127.0.0.1",
            "--port",
            str(self.port),
        ]
        argv += [
            "--served-model-name",
            "tiny",
            "--max-model-len",
            "2048",
            "--max-num-seqs",
            "8",
            "--dtype",
            "float32",
        ]
        argv += ["--enforce-eager", *(["--trust-remote-code"] if target == "kimi" else [])]
        if drafter:
            spec = f'{{"method":"eagle3","model":"{self.models / drafter}","num_speculative_tokens":3}}'
            argv += ["--speculative-config", spec]
        options = [word for patch in patches for word in ("--patch", patch)]
        words = self.words("launch", "--name", target, "--detach", "--no-doctor", *options, "--", *argv)
        done = subprocess.run(
            words,
            env=self.environment16(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        if done.returncode == 0:
            self.id = done.stdout.split()[0]
        return done

    def environment16(self) -> dict[str, str]:
        env = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
        return env | {
            "PYTHONPATH": str(HERE / "plugin-cpuspec"),
            "HF_HUB_OFFLINE": "1",
            "VLLM_NO_USAGE_STATS": "1",
            "DO_NOT_TRACK": "1",
            "VLLM_CPU_KVCACHE_SPACE": "1",
            "VLLM_CPU_OMP_THREADS_BIND": "nobind",
            "OMP_NUM_THREADS": "1",
            "VLLM_MLA_DISABLE": "1",  # 0.16 has no MLA on a CPU: its own non-MLA path of the same class
            "VLLM_LOG_STATS_INTERVAL": "2",
            "TORCHDYNAMO_DISABLE": "1",
        }


@pytest.fixture
def server(old_engine: Engine, models: Path, tmp_path: Path) -> Iterator[OldServer]:
    under_test = OldServer(tmp_path / "state", old_engine, models)
    yield under_test
    under_test.clear()
