"""`specwatch compare A B…`: side by side, with a verdict."""

from pathlib import Path

import click

from collectors.errors import SpecwatchError
from launch import output


@click.command
@click.argument("sides", nargs=-1, metavar="A B…")
@click.option(
    "--save", type=click.Path(path_type=Path), help="Write a report: FILE.svg, FILE.html or FILE.md."
)
@click.option("--json", "as_json", is_flag=True, help="One JSON object on stdout.")
@click.pass_obj
def command(options: dict[str, str | None], sides: tuple[str, ...], save: Path | None, as_json: bool) -> None:
    """Compare what was measured: A and B are runs, RUN:BENCH, or saved results (`vllm bench serve --save-result`).

    The side that drafts nothing is the baseline. Sides of another target or with other prompts are refused; what else
    the launches differ in is listed, and more than one difference is no controlled experiment.
    """
    from collectors.record.folder import state_dir
    from launch.compare.comparison import compare
    from launch.compare.report import save as write
    from launch.compare.sides import load
    from launch.compare.text import lines

    if len(sides) < 2:
        raise SpecwatchError("a comparison has two sides or more", "`specwatch compare BASELINE OTHER`")
    found = compare([load(state_dir(options.get("state_dir")), side) for side in sides])
    if save is not None:
        write(found, save)
        output.say(f"saved {save}")
    if as_json:
        output.json(found)
    else:
        output.data("\n".join(lines(found)))
