"""`specwatch launch`: start a server that outlives this terminal."""

import os
import shlex
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
        try:
            return super().parse_args(ctx, args[:at])
        except click.UsageError as problem:
            ours, theirs = self._apart(args[:at])
            if not theirs or theirs[0].startswith("-") or self._misspelt(problem):
                raise
            profile = theirs[:1] if theirs[0] in _profiles(ctx) else []
            meant = ["specwatch", "launch", *ours, *profile, "--", *theirs[len(profile) :], *args[at + 1 :]]
            raise SpecwatchError(
                problem.message, f"the server's words stand behind `--`: `{shlex.join(meant)}`"
            ) from None

    def _misspelt(self, problem: click.UsageError) -> bool:
        """An option of ours, as far as one can tell."""
        from difflib import get_close_matches

        ours = [name for param in self.params for name in param.opts]
        return isinstance(problem, click.BadOptionUsage) or bool(
            isinstance(problem, click.NoSuchOption)
            and get_close_matches(problem.option_name, ours, 1, cutoff=0.8)
        )

    def _apart(self, args: list[str]) -> tuple[list[str], list[str]]:
        """What is an option of ours, with its value, and the rest."""
        options = [param for param in self.params if isinstance(param, click.Option)]
        takes = {name: not option.is_flag for option in options for name in option.opts}
        ours: list[str] = []
        theirs: list[str] = []
        words = iter(args)
        for word in words:
            if word in takes:
                ours += [word, *([next(words, "")] if takes[word] else [])]
            else:
                (ours if word.partition("=")[0] in takes else theirs).append(word)
        return ours, theirs


def _profiles(ctx: click.Context) -> list[str]:
    try:
        return list(configuration.load(ctx.find_root().params.get("config")).profile)
    except SpecwatchError:
        return []


def _complete_profiles(ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[str]:
    return [name for name in _profiles(ctx) if name.startswith(incomplete)]


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
    why = output.no_screen(sys.stdin, sys.stdout)
    if detach or why:
        if terminal and not detach:
            output.say(why)
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
