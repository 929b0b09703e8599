"""The generated pages are what the code says, and the hand-written ones point at things that exist."""

import importlib.util
import re
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parent.parent


def _generator() -> ModuleType:
    spec = importlib.util.spec_from_file_location("generate", ROOT / "docs/generate.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_no_generated_page_is_stale() -> None:
    stale = _generator().stale()
    assert not stale, f"{', '.join(stale)}: `make docs` writes them anew"


def test_every_field_of_the_json_has_a_meaning() -> None:
    rows = [line for line in (ROOT / "docs/json.md").read_text().splitlines() if line.startswith("| `")]
    assert len(rows) > 20
    bare = [row for row in rows if row.rstrip().endswith("|  |")]
    assert not bare, bare


@pytest.mark.parametrize("page", ["README.md", "CONTRIBUTING.md", "docs/architecture.md"])
def test_paths_that_a_page_names_exist(page: str) -> None:
    text = (ROOT / page).read_text()
    for link in re.findall(r"\]\(([^)#:]+)\)", text):
        assert (ROOT / page).parent.joinpath(link).exists(), f"{page} links to {link}"
    for path in re.findall(r"`((?:collectors|launch|tui|tests|docs)/[\w/.-]+)`", text):
        assert (ROOT / path).exists(), f"{page} names {path}"


def test_every_command_of_the_table_is_in_the_readme() -> None:
    from launch.commands import COMMANDS

    readme = (ROOT / "README.md").read_text()
    missing = [row.name for row in COMMANDS if not row.hidden and f"`{row.name}" not in readme]
    assert not missing, "README.md's table of commands lacks them"
