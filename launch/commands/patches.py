"""`specwatch patches`: what can be patched into a server for one launch."""

import textwrap

import click

from launch import output
from launch.patches import PATCHES


@click.command
@click.option("--json", "as_json", is_flag=True, help="One JSON object on stdout.")
def command(as_json: bool) -> None:
    """List the patches that `launch --patch` and a profile's `patches` can name.

    Nothing is installed: a patch reaches the server as a plug-in on its PYTHONPATH, for that launch only, and each
    process of the server says in one line what it did. Your own: a .py file or module with a function `patch()`.
    """
    if as_json:
        output.json({"v": 1, "patches": [patch._asdict() for patch in PATCHES]})
        return
    for patch in PATCHES:
        output.data(f"{patch.id}   vLLM {patch.versions}")
        for label, text in (
            ("changes", patch.changes),
            ("why", patch.why),
            ("parts", ", ".join(patch.parts)),
        ):
            body = textwrap.wrap(text, 90)
            output.data("\n".join(f"  {label if i == 0 else '':<8} {line}" for i, line in enumerate(body)))
