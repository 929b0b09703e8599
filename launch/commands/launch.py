"""`specwatch launch`: start a server that outlives this terminal."""

import os
import sys

import click

from collectors.errors import SpecwatchError
from launch import config as configuration
from launch import output, plan
from launch.config import Profile
from launch.options import state_of
from launch.start import start


class AfterDashes(click.Command):
    """Keeps what stands behind the first `--` apart: without a PROFILE, click would take `vllm` for one."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        at = args.index("--") if "--" in args else len(args)
        ctx.meta["argv"] = tuple(args[at + 1 :])
        return super().parse_args(ctx, args[:at])


def _complete_profiles(ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[str]:
    try:
        known = configuration.load(ctx.find_root().params.get("config"))
    except SpecwatchError:
        return []
    return [name for name in known.profile if name.startswith(incomplete)]


@click.command("launch", cls=AfterDashes, options_metavar="[OPTIONS]")
@click.argument(
    "profile", required=False, metavar="[PROFILE] [-- COMMAND…]", shell_complete=_complete_profiles
)
@click.option("--name", help="What to call the run.  [the profile's or the model's name]")
@click.option("--detach", is_flag=True, help="Print the run's id instead of opening the screen.")
@click.option(
    "--patch", "patches", multiple=True, metavar="NAME", help="Patch this launch; `specwatch patches` lists."
)
@click.option("--no-doctor", is_flag=True, help="Do not check the drafter against its target.")
@click.option("--force", is_flag=True, help="Start although the checks say that it will fail.")
@click.pass_context
def command(
    ctx: click.Context,
    profile: str | None,
    name: str | None,
    detach: bool,
    patches: tuple[str, ...],
    no_doctor: bool,
    force: bool,
) -> int | None:
    """Start a server that outlives this terminal, and watch it load.

    \b
    specwatch launch -- vllm serve MODEL --port 8001
    specwatch launch eagle3
    specwatch launch eagle3 --detach -- --max-num-seqs 64

    Port, GPUs, checkpoint, disk, and an EAGLE-3 drafter against its target (`doctor`) are checked first. The
    server gets your command and environment as they are: no flag is added. Behind `--` stands the command, or
    flags to be added to the PROFILE's.

    A profile, in the configuration file: `[profile.NAME]` with command, flags, env, patches, engine, url, extends.
    """
    config = configuration.load(ctx.obj.get("config"))
    chosen = configuration.profile(config, profile) if profile else Profile()
    planned = plan.make(
        _argv(chosen, ctx.meta["argv"]),
        os.environ,
        profile=chosen,
        profile_name=profile,
        name=name,
        patches=patches,
    )
    terminal = sys.stdin.isatty() and sys.stdout.isatty()
    folder = start(
        planned, config, state_of(ctx.obj), force=force, doctor=not no_doctor, ask=_ask if terminal else None
    )
    if detach or not terminal:
        output.data(folder.id)
        return None
    from tui.app import run_app

    return run_app(folder)


def _ask(question: str) -> bool:
    return click.confirm(question, err=True)


def _argv(profile: Profile, given: tuple[str, ...]) -> tuple[str, ...]:
    """The profile's command and flags; what was given is another command, or flags behind the profile's."""
    flags = profile.argv()[len(profile.command) :]
    if given and not given[0].startswith("-"):
        return (*given, *flags)
    return (*profile.command, *flags, *given) if profile.command else ()
