"""The wheel: one top-level name, everything that the program reads at run time inside, and it runs."""

import os
import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path

import pytest

from tests.conftest import ROOT

DATA = (".tcss", ".json", ".toml", ".txt", ".py")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built without an index and without an environment of its own: hatchling is one of our tools."""
    out = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "build", "--no-isolation", "--wheel", "--outdir", str(out), str(ROOT)]
    subprocess.run(command, check=True, capture_output=True)
    (built,) = out.glob("*.whl")
    return built


def names_in(wheel: Path) -> set[str]:
    with zipfile.ZipFile(wheel) as archive:
        return set(archive.namelist())


def test_its_only_top_level_is_specwatch(wheel: Path) -> None:
    tops = {name.partition("/")[0] for name in names_in(wheel)}
    assert {top for top in tops if not top.endswith(".dist-info")} == {"specwatch"}
    assert len(tops) == 2


def test_everything_of_the_three_packages_is_inside(wheel: Path) -> None:
    wanted = {
        f"specwatch/{path.relative_to(ROOT)}"
        for package in ("collectors", "launch", "tui")
        for path in (ROOT / package).rglob("*")
        if path.suffix in DATA and "_shim" not in path.parts and "__pycache__" not in path.parts
    }
    wanted |= {
        f"specwatch/{path.relative_to(ROOT)}"
        for folder in (ROOT / "launch/patches").rglob("*.dist-info")
        for path in folder.iterdir()
    }
    assert len(wanted) > 50
    assert not wanted - names_in(wheel)


def test_installed_it_runs(wheel: Path, tmp_path: Path) -> None:
    environment = tmp_path / "venv"
    venv.create(environment, with_pip=False, symlinks=True)
    python = environment / "bin/python"
    clean = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}

    def run(*args: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            args,
            cwd=tmp_path,
            env=clean,
            capture_output=True,
            text=True,
            check=False,
            stdin=subprocess.DEVNULL,
        )

    pip = run(
        sys.executable, "-m", "pip", "--python", str(python), "install", "--no-deps", "--no-index", str(wheel)
    )
    assert pip.returncode == 0, pip.stderr
    (site,) = environment.glob("lib/python*/site-packages")
    # The dependencies come from the environment of the tests, whose own .pth files a .pth does not follow:
    # the repository is not on the new path.
    (site / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    specwatch = str(environment / "bin/specwatch")

    version = run(specwatch, "--version")
    assert (version.returncode, version.stderr) == (0, "")
    assert version.stdout.startswith("specwatch 0.")

    log = ROOT / "tests/recordings/cpu/31-fail-no-such-model.log"
    explained = run(specwatch, "explain", str(log), "--json")
    assert explained.returncode == 0, explained.stderr
    assert '"phase":"failed"' in explained.stdout

    as_module = run(str(python), "-m", "specwatch", "runs", "--help")
    assert as_module.returncode == 0, as_module.stderr
    where = run(str(python), "-c", "import specwatch; print(specwatch.__file__)")
    assert where.stdout.startswith(str(site))
