"""What several commands take: RUN with its completion, --json, and the state directory of the group."""

from pathlib import Path
from typing import Any

import click

from collectors.record import runs
from collectors.record.folder import RunFolder, state_dir


def state_of(options: dict[str, Any] | None) -> Path:
    """The state directory that the group's options (`ctx.obj`) say."""
    return state_dir((options or {}).get("state_dir"))


def run_of(options: dict[str, Any] | None, spec: str | None) -> RunFolder:
    return runs.find(state_of(options), spec)


def complete_runs(ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[Any]:
    from click.shell_completion import CompletionItem

    # While completing, click has parsed the group's options but not run its body.
    state = state_dir(ctx.find_root().params.get("state_dir"))
    words: dict[str, str] = {}
    for folder, info in runs.scan(state).runs:
        words.setdefault(folder.id, info.facts.name)
        words.setdefault(info.facts.name, folder.id)
    return [CompletionItem(word, help=other) for word, other in words.items() if word.startswith(incomplete)]


run_argument = click.argument("run", required=False, metavar="[RUN]", shell_complete=complete_runs)
json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON value instead of text.")
