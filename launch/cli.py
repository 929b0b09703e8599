"""The `specwatch` command: finds a command's module and runs it; errors become two lines and an exit code."""

import importlib
import os
import sys
from typing import Any

import click
from click.core import ParameterSource

from collectors.errors import ExitCode, SpecwatchError
from launch import output
from launch.commands import COMMANDS
from launch.output import data, error, say

COMPLETE = "_SPECWATCH_COMPLETE"  # set by the scripts of `specwatch completion`


class CommandTable(click.Group):
    """Imports a command's module only when that command runs (`status` costs no httpx, no textual)."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [row.name for row in COMMANDS if not row.hidden]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if all(row.name != cmd_name for row in COMMANDS):
            return None
        command: click.Command = importlib.import_module(f"launch.commands.{cmd_name}").command
        return command

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[Any]:
        """From the table: click's own would import each command to ask it for its help."""
        from click.shell_completion import CompletionItem

        shown = [
            CompletionItem(r.name, help=r.help)
            for r in COMMANDS
            if not r.hidden and r.name.startswith(incomplete)
        ]
        return shown + click.Command.shell_complete(self, ctx, incomplete)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(row.name, row.help) for row in COMMANDS if not row.hidden])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        if not name.startswith("-") and all(row.name != name for row in COMMANDS):
            from difflib import get_close_matches

            near = get_close_matches(name, self.list_commands(ctx), 1)
            hint = f"did you mean `{near[0]}`?" if near else "`specwatch --help` lists the commands"
            raise SpecwatchError(f"there is no command `{name}`", hint)
        if not (ctx.resilient_parsing or {"-h", "--help"} & set(args)) and name != "record":
            _check_named_config(ctx)  # not for a recorder, which inherits the variable and outlives the file
        return super().resolve_command(ctx, args)


def _check_named_config(ctx: click.Context) -> None:
    """A file that was named and is not there is a mistake whichever the command: also for one that reads none."""
    named = ctx.params.get("config")
    if named and not os.path.exists(os.path.expanduser(named)):
        in_env = ctx.get_parameter_source("config") is ParameterSource.ENVIRONMENT
        by = "$SPECWATCH_CONFIG" if in_env else "--config"
        raise SpecwatchError(f"there is no configuration file {named}", f"{by} names it")


def _version(ctx: click.Context, _param: click.Parameter, value: bool) -> None:
    if value:
        from importlib.metadata import PackageNotFoundError, version

        try:
            data(f"specwatch {version('specwatch')}")
        except PackageNotFoundError:
            data("specwatch, from a checkout that is not installed")
        ctx.exit()


@click.command(cls=CommandTable, context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--version", is_flag=True, is_eager=True, expose_value=False, callback=_version, help="Show the version."
)
@click.option(
    "--state-dir", envvar="SPECWATCH_STATE_DIR", help="Where runs are kept.  [$XDG_STATE_HOME/specwatch]"
)
@click.option(
    "--config",
    envvar="SPECWATCH_CONFIG",
    help="Profiles, noise, hooks; must exist when named.  [~/.config/specwatch/config.toml]",
)
@click.pass_context
def cli(ctx: click.Context, /, **options: Any) -> None:
    """Watch a vLLM server load, and see what speculative decoding really buys."""
    ctx.obj = options


def main() -> None:
    _stand_in()
    try:
        code = _run()
        sys.stdout.flush()
    except SpecwatchError as problem:
        error(problem.message, problem.hint)
        code = int(problem.code)
    except click.exceptions.Exit as done:  # --help, --version
        code = done.exit_code
    except click.exceptions.NoArgsIsHelpError as problem:
        say(problem.format_message())
        code = int(ExitCode.USAGE)
    except click.ClickException as problem:
        context = getattr(problem, "ctx", None)
        where = context.command_path if context else "specwatch"
        error(problem.format_message(), f"`{where} --help` says how it is used")
        code = int(ExitCode.USAGE)
    except (click.Abort, KeyboardInterrupt):
        code = int(ExitCode.INTERRUPTED)
    except BrokenPipeError:  # `specwatch logs | head`
        for stream in (sys.stdout, sys.stderr):
            output.discard(stream)
        code = int(ExitCode.OK)
    except Exception as fault:
        if isinstance(fault, OSError) and _of_echo(fault):
            why = output.refused(fault)
            error(why.message, why.hint)
            code = int(why.code)
        else:
            code = int(ExitCode.FAULT)  # not Python's own 1: that would tell a script that the server failed
            _report_fault(fault)
    sys.exit(code)


def _stand_in() -> None:
    """For streams that were closed before the start: else the next file opened would be stdin, stdout or stderr."""
    while (fd := os.open(os.devnull, os.O_RDWR)) <= 2:
        pass
    os.close(fd)
    sys.stdin = sys.stdin or open(0, closefd=False)  # noqa: SIM115  (open as long as we run)
    sys.stdout = sys.stdout or output.Closed()
    sys.stderr = sys.stderr or open(2, "w", closefd=False)  # noqa: SIM115  (likewise)


def _run() -> int:
    """A command returns its exit code; what returns nothing was fine.

    Not `cli.main`: that makes a closed pipe exit code 1, which says here that the server failed.
    """
    if asked := os.environ.get(COMPLETE):
        from click.shell_completion import shell_complete

        return shell_complete(cli, {}, "specwatch", COMPLETE, asked)
    with cli.make_context("specwatch", sys.argv[1:]) as context:
        return int(cli.invoke(context) or ExitCode.OK)


def _of_echo(fault: OSError) -> bool:
    """Whether click could not print: --help, a completion. What we print ourselves says so itself."""
    from traceback import walk_tb

    return [frame for frame, _ in walk_tb(fault.__traceback__)][-1].f_code is click.echo.__code__


def _report_fault(fault: Exception) -> None:
    """The traceback goes into a file that can be sent; the terminal gets the two lines it always gets."""
    import tempfile
    import traceback

    with tempfile.NamedTemporaryFile("w", prefix="specwatch-fault-", suffix=".txt", delete=False) as file:
        traceback.print_exception(fault, file=file)
    error(f"specwatch itself failed: {type(fault).__name__}: {fault}", f"the traceback is in {file.name}")
