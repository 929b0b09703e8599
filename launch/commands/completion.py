"""`specwatch completion SHELL`: click's own completion script, knowing commands, options and runs."""

import click

from launch import output

SHELLS = ("bash", "fish", "zsh")


@click.command("completion")
@click.argument("shell", type=click.Choice(SHELLS))
@click.pass_context
def command(ctx: click.Context, shell: str) -> None:
    """Print the completion script for bash, zsh or fish: commands, options and the names of runs.

    \b
    bash   eval "$(specwatch completion bash)"   in ~/.bashrc
    zsh    eval "$(specwatch completion zsh)"   in ~/.zshrc
    fish   specwatch completion fish > ~/.config/fish/completions/specwatch.fish
    """
    from click.shell_completion import get_completion_class

    from launch.cli import COMPLETE

    kind = get_completion_class(shell)
    assert kind is not None
    # Not `.source()` of bash: it starts a bash only to ask for its version.
    script = kind(ctx.find_root().command, {}, "specwatch", COMPLETE)
    output.data((script.source_template % script.source_vars()).rstrip("\n"))
