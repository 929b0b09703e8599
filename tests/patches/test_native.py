"""On a current vLLM the patch touches nothing: `native` everywhere, and the same greedy tokens with and without."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from launch.demo.engines import Engine
from launch.demo.models import Pair
from tests.engine.conftest import engine, pair  # noqa: F401  (fixtures)
from tests.engine.driver import Server
from tests.engine.test_serving import complete


@pytest.fixture
def current(engine: Engine, pair: Pair, tmp_path: Path) -> Iterator[Server]:  # noqa: F811
    under_test = Server(tmp_path / "state", engine, pair)
    yield under_test
    under_test.clear()


def test_nothing_is_touched(current: Server) -> None:
    """With an allow-list of the user's, which is extended: without his own plug-in this load format is unknown."""
    env = current.environment() | {"VLLM_PLUGINS": "slowload"}
    argv = current.argv(speculate=True)
    done = current.specwatch("launch", "--detach", "--patch", "eagle3", "--", *argv, env=env)
    assert done.returncode == 0, done.stderr
    current.id = done.stdout.split()[0]
    assert current.wait().returncode == 0
    said = current.status()["patches"]
    statuses = {status for counts in said.values() for status in counts}
    assert statuses <= {"native", "armed", "absent"}
    assert said["eagle3.whitelist"]["native"] >= 2
    assert complete(current, "import os", 32) == 32
