"""`specwatch restart`: stop a run, and launch the same again."""

import os
from typing import Any

import click
import msgspec

from collectors import redact
from collectors.errors import SpecwatchError
from collectors.record.folder import RunInfo
from launch import config as configuration
from launch import output, plan, stopping
from launch.commands.stop import kill_option, timeout_option
from launch.options import run_argument, run_of, state_of
from launch.plan import Plan
from launch.start import start


@click.command("restart")
@run_argument
@kill_option
@timeout_option
@click.option("--force", is_flag=True, help="Start although the checks say that it will fail.")
@click.pass_obj
def command(options: dict[str, Any], run: str | None, kill: bool, timeout: float, force: bool) -> None:
    """Stop a run and launch it again, in the background: same command, folder, patches, and variables that matter.

    Secrets are taken from your environment, where run.json only refers to them. Prints the new run's id.
    """
    folder = run_of(options, run)
    info = folder.info()
    planned = again(info)  # before anything is stopped: what cannot be started again is left alone
    config = configuration.load(info.config or options.get("config"))
    if stopping.lives(folder):
        output.say(stopping.stop(folder, timeout=timeout, kill=kill, by="restart"))
    os.chdir(info.cwd)
    output.data(start(planned, config, state_of(options), force=force).id)


def again(info: RunInfo) -> Plan:
    """The plan that run.json tells of. SpecwatchError when a secret, the folder or the command is not there now."""
    if info.facts.foreign:
        raise SpecwatchError("specwatch did not start that server", "restart it where it was started")
    if not os.path.isdir(info.cwd):
        raise SpecwatchError(
            f"the folder that it was started in is gone: {info.cwd}", "launch it from another"
        )
    missing = [name for name in info.secrets if name not in os.environ]
    if missing:
        raise SpecwatchError(
            f"{', '.join(missing)} must be set: the run was started with it, and secrets are not stored",
            f"export {missing[0]}=…",
        )
    argv = [redact.resolve(word, info.secrets, os.environ) for word in info.facts.argv]
    then = {name: redact.resolve(value, info.secrets, os.environ) for name, value in info.env.items()}
    now = {name: value for name, value in os.environ.items() if not plan.CHOSEN.match(name)}
    made = plan.make(argv, {**now, **then}, name=info.facts.name, patches=info.facts.patches, cwd=info.cwd)
    return msgspec.structs.replace(
        made, profile=info.profile, url=info.url, engine=info.facts.engine, named_env=tuple(then)
    )
