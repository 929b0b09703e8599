"""From a plan to a living run: preflight, run folder, keeper. What `launch` and `restart` share."""

import contextlib
import os
import pwd
import shutil
from collections.abc import Callable
from pathlib import Path

from msgspec.structs import replace

from collectors.errors import SpecwatchError
from collectors.record import runs
from collectors.record.folder import RunFolder
from collectors.redact import Redactor
from collectors.sources.tree import TAG
from launch import detach, holders, modelfacts, outlive, output, predoctor, preflight
from launch.config import Config
from launch.patches import environment as patching
from launch.plan import Plan, run_info, version_tuple

Ask = Callable[[str], bool]


def start(
    plan: Plan,
    config: Config,
    state: Path,
    *,
    force: bool = False,
    doctor: bool = True,
    ask: Ask | None = None,
) -> RunFolder:
    """Raises SpecwatchError, with nothing left behind, when the launch cannot or should not go on.

    `ask`: puts doctor's errors to the user; without it they end the launch.
    """
    site = preflight.Site(
        state=state,
        target=modelfacts.read(plan.model) if plan.model else None,
        drafter=modelfacts.read(plan.drafter) if plan.drafter else None,
        cards=holders.cards(),
    )
    _preflight(plan, site, force)
    advice = _doctor(plan, site, ask) if doctor and not force else ()
    _own(state)
    redactor = Redactor(plan.argv, plan.env)
    facts = site.gpu_facts(plan)
    info = run_info(plan, redactor, config, site.target, site.drafter, facts, state)
    info = replace(info, facts=replace(info.facts, advice=advice))
    outlook = outlive.outlook(plan.env)
    made = _new_folders(runs.runs_dir(state))
    try:
        folder = RunFolder.create(runs.runs_dir(state), info)
        detach.start(
            folder,
            plan.program,
            plan.argv,
            {**plan.env, **_patched(plan, site), TAG: folder.id},
            prefix=outlook.prefix,
            secrets=redactor.values,
        )
    except BaseException:
        shutil.rmtree(runs.runs_dir(state) / info.facts.id, ignore_errors=True)
        for empty in made:
            with contextlib.suppress(OSError):
                empty.rmdir()
        raise
    if outlook.sentence:
        output.say(f"note: {outlook.sentence}")
    return folder


def _preflight(plan: Plan, site: preflight.Site, force: bool) -> None:
    found = preflight.findings(plan, site)
    errors = [finding for finding in found if finding.error]
    for finding in found:
        if not finding.error or force or finding is not errors[0]:
            output.say(f"{'warning' if force or not finding.error else 'error'}: {finding.message}")
            if finding.hint:
                output.say(f"hint: {finding.hint}")
    if errors and not force:
        raise SpecwatchError(errors[0].message, f"{errors[0].hint}; --force starts it all the same")


def _doctor(plan: Plan, site: preflight.Site, ask: Ask | None) -> tuple[str, ...]:
    """Its warnings, which the screen keeps. An error is put to the user before 25 minutes are spent."""
    diagnosis = predoctor.diagnose(plan, site)
    if diagnosis is None:
        return ()
    errors = [finding for finding in diagnosis.findings if finding.severity == "error"]
    for finding in errors if ask else errors[1:]:  # the first one is the error that ends the launch
        output.say(f"error: {predoctor.sentence(finding)}")
        output.say(f"hint: {finding.fix}")
    if errors and ask is None:
        raise SpecwatchError(
            predoctor.sentence(errors[0]), f"{errors[0].fix}; --no-doctor launches it unchecked"
        )
    if errors and ask is not None and not ask("launch it all the same?"):
        raise SpecwatchError("nothing was launched", "`specwatch doctor` says more of the pair")
    return tuple(predoctor.sentence(finding) for finding in diagnosis.findings if finding.severity != "info")


def _patched(plan: Plan, site: preflight.Site) -> dict[str, str]:
    config = b""
    if site.drafter and site.drafter.path:
        with contextlib.suppress(OSError):
            config = (site.drafter.path / "config.json").read_bytes()
    return patching.additions(
        plan.patches, plan.env, version=version_tuple(plan.version), drafter_config=config
    )


def _own(state: Path) -> None:
    """Root can write everywhere, and would leave files that their owner cannot."""
    for folder in (runs.runs_dir(state), state):
        try:
            owner = folder.stat().st_uid
        except OSError:
            continue
        if owner != os.geteuid():
            raise SpecwatchError(
                f"the state folder {folder} belongs to {_user(owner)}",
                "choose another place with --state-dir or XDG_STATE_HOME",
            )


def _user(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return f"user {uid}"


def _new_folders(runs_folder: Path) -> list[Path]:
    """The folders that are not there yet, innermost first: a launch that fails leaves none of them."""
    return [folder for folder in (runs_folder, *runs_folder.parents) if not folder.exists()]
