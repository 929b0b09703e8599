"""Writes the pages of docs/ that are made from the code; `--check` only says which are stale.

`make docs` after a change of a command, an exit code, the JSON or the run folder; tests/test_docs.py insists.
"""

import ast
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

import click  # noqa: E402  (found through the line above)

from docs.glossary import MEANS  # noqa: E402  (as above)
from launch.cli import cli  # noqa: E402  (as above)
from launch.commands import COMMANDS  # noqa: E402  (as above)

# The fact of which a field of a record's line is the writing, where its name does not say so.
FACTS = {
    "run": "Started",
    "clock": "Clock",
    "log": "Log",
    "gpu": "GpuSample",
    "gpu_error": "GpuSample",
    "host": "HostSample",
    "gone": "HostSample",
    "box": "HostSample",
    "series": "Series",
    "metrics": "Metrics",
    "metrics_gone": "Metrics",
    "metrics_error": "Metrics",
    "took_ms": "Metrics",
    "exact": "Metrics",
    "health": "Health",
    "request": "Request",
    "source": "Source",
    "broken_files": "BrokenFiles",
    "tick": "Tick",
    "reaped": "Reaped",
    "exit": "Exit",
}

MADE = "<!-- Made by docs/generate.py from the code; do not edit. -->"


def commands() -> str:
    """Every --help text, at a fixed width."""
    parts = ["# Commands", "", MADE, "", "```", _help(cli, "specwatch"), "```"]
    for row in COMMANDS:
        if not row.hidden:
            command = cli.get_command(click.Context(cli), row.name)
            assert command is not None
            parts += ["", f"## {row.name}", "", "```", _help(command, f"specwatch {row.name}"), "```"]
    return "\n".join(parts)


def exit_codes() -> str:
    lines = ["# Exit codes", "", MADE, "", "| code | name | when |", "| --- | --- | --- |"]
    source = (ROOT / "collectors/errors.py").read_text()
    for node in _class(source, "ExitCode").body:
        if isinstance(node, ast.Assign):
            name, value = ast.unparse(node.targets[0]), ast.unparse(node.value)
            lines.append(f"| {value} | {name} | {_comment(source, node)} |")
    return "\n".join(lines)


# The objects of `--json`, each with those that it holds: heading -> (file, class) …
OBJECTS = {
    "`bench --json`, and bench-ID.json": (
        ("launch/bench/result.py", "Result"),
        ("launch/bench/result.py", "Level"),
        ("launch/bench/result.py", "Spread"),
        ("launch/bench/result.py", "Generator"),
        ("launch/bench/result.py", "Foreign"),
        ("launch/bench/result.py", "OwnResult"),
        ("collectors/reading/acceptance.py", "Figures"),
        ("collectors/reading/verdict.py", "Verdict"),
    ),
    "`compare --json`": (
        ("launch/compare/comparison.py", "Comparison"),
        ("launch/compare/comparison.py", "Row"),
        ("launch/compare/comparison.py", "Cell"),
        ("collectors/reading/gain.py", "Measured"),
        ("collectors/reading/gain.py", "Gain"),
        ("launch/compare/contrast.py", "Contrast"),
        ("launch/compare/contrast.py", "Difference"),
    ),
    "`doctor --json`": (
        ("collectors/checks/findings.py", "Diagnosis"),
        ("collectors/checks/findings.py", "Finding"),
    ),
}


def json_output() -> str:
    report = (ROOT / "collectors/reading/report.py").read_text()
    status = (ROOT / "launch/summary.py").read_text()
    listed = (ROOT / "launch/commands/runs.py").read_text()
    more: list[str] = []
    for heading, parts in OBJECTS.items():
        more += ["", f"## {heading}"]
        for file, name in parts:
            source = (ROOT / file).read_text()
            said = " ".join((ast.get_docstring(_class(source, name)) or "").split())
            more += ["", f"**{name}**: {said}" if said else f"**{name}**", "", *_fields(source, name)]
    return "\n".join(
        [
            "# JSON",
            "",
            MADE,
            "",
            "One value on one line on stdout. Unknown is `null`, never 0. While `v` is 1, fields are added",
            "but never renamed.",
            "",
            "## `explain --json`, and the first part of `status --json` and `wait --json`",
            "",
            *_fields(report, "Report"),
            "",
            "## `status --json` and `wait --json` have besides",
            "",
            *_fields(status, "Status"),
            "",
            "## `runs --json`: an array of",
            "",
            *_fields(listed, "Listed"),
            *more,
        ]
    )


def run_folder() -> str:
    folder = (ROOT / "collectors/record/folder.py").read_text()
    wire = (ROOT / "collectors/record/wire.py").read_text()
    events = (ROOT / "collectors/reading/events.py").read_text()
    said = {
        node.name: ast.get_docstring(node) or ""
        for node in ast.parse(events).body
        if isinstance(node, ast.ClassDef)
    }
    lines = [
        "# The run folder",
        "",
        MADE,
        "",
        "`$XDG_STATE_HOME/specwatch/runs/ID/` (`--state-dir`), 0700, its files 0600.",
        "",
        _docstring(folder),
        "",
        "## run.json",
        "",
        ast.get_docstring(_class(folder, "RunInfo")) or "",
        "",
        *_fields(folder, "RunInfo"),
        "",
        "## A line of record.jsonl",
        "",
        _docstring(wire),
        "",
        *_fields(wire, "Entry", FACTS),
        "",
        "## The facts",
        "",
        *(f"* **{name}**: {' '.join(text.split())}" for name, text in said.items() if text),
    ]
    return "\n".join(lines)


PAGES = {
    "commands.md": commands,
    "exit-codes.md": exit_codes,
    "json.md": json_output,
    "run-folder.md": run_folder,
}


def stale() -> list[str]:
    """The pages that are not what the code says."""
    found = []
    for name, make in PAGES.items():
        path = ROOT / "docs" / name
        if not path.exists() or path.read_text() != make() + "\n":
            found.append(name)
    return found


def _help(command: click.Command, path: str) -> str:
    context = click.Context(command, info_name=path, terminal_width=96, max_content_width=96)
    return "\n".join(line.rstrip() for line in command.get_help(context).splitlines())


def _fields(source: str, name: str, others: dict[str, str] | None = None) -> list[str]:
    """A table of a struct's fields: type, and what the docstring below or the comment beside says.

    `others`: where a field without either is described, as "see …".
    """
    lines = ["| field | type | meaning |", "| --- | --- | --- |"]
    body = _class(source, name).body
    for node, after in zip(body, (*body[1:], None), strict=True):
        if not isinstance(node, ast.AnnAssign):
            continue
        kind = ast.unparse(node.annotation).replace("|", "\\|")
        if isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant):
            meaning = str(after.value.value)
        else:
            meaning = _comment(source, node)
        meaning = meaning or MEANS.get(ast.unparse(node.target), "") if others is None else meaning
        meaning = " ".join(meaning.split()).replace("|", "\\|")
        if not meaning and others and (other := others.get(ast.unparse(node.target))):
            meaning = f"see {other} below"
        lines.append(f"| `{ast.unparse(node.target)}` | `{kind}` | {meaning} |")
    return lines


def _comment(source: str, node: ast.stmt) -> str:
    """The `# …` behind a statement."""
    line = source.splitlines()[(node.end_lineno or node.lineno) - 1]
    return line[node.end_col_offset or 0 :].partition("#")[2].strip()


def _docstring(source: str) -> str:
    return ast.get_docstring(ast.parse(source)) or ""


def _class(source: str, name: str) -> ast.ClassDef:
    return next(
        node for node in ast.parse(source).body if isinstance(node, ast.ClassDef) and node.name == name
    )


def main(arguments: list[str]) -> Any:
    old = stale()
    if arguments == ["--check"]:
        return f"stale: {', '.join(old)}; `make docs` writes them" if old else 0
    for name in old:
        (ROOT / "docs" / name).write_text(PAGES[name]() + "\n")
        sys.stderr.write(f"docs/{name}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
