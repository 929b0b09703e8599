"""A real vLLM on the CPU: the one on PATH where it runs here, else the demo's own."""

from collections.abc import Generator, Iterator
from pathlib import Path

import pytest

from launch.demo import models, setup
from launch.demo.engines import Engine, engine_on_path
from launch.demo.models import Pair
from launch.demo.stages import Stages
from tests.engine.driver import Server


@pytest.fixture(scope="session")
def engine(pytestconfig: pytest.Config) -> Engine:
    capture = pytestconfig.pluginmanager.getplugin("capturemanager")
    with capture.global_and_fixture_disabled():  # a set-up takes minutes: let it be seen
        found = engine_on_path()
        if found is not None and found.usable:
            return found
        return setup.set_up(setup.cache_folder(), Stages())


@pytest.fixture(scope="session")
def pair(engine: Engine, tmp_path_factory: pytest.TempPathFactory) -> Pair:
    return models.tiny_pair(engine, tmp_path_factory.mktemp("models"))


@pytest.fixture
def server(engine: Engine, pair: Pair, tmp_path: Path) -> Iterator[Server]:
    under_test = Server(tmp_path / "state", engine, pair)
    yield under_test
    under_test.clear()
    assert not under_test.processes()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """A failure shows its run: status and the ends of the logs."""
    report = yield
    ran = getattr(item, "funcargs", {}).get("server")
    if report.when == "call" and report.failed and ran is not None:
        report.sections.append(("the run", ran.tell()))
    return report
