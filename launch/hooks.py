"""Tells the user's own programs that a run became ready, failed or stalled.

A hook that fails is said on stderr (the recorder's is recorder.err) and changes nothing else. Hooks come only from the
user's own configuration file: nothing that a log, a server or a run folder says starts a program.
"""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec

from collectors.errors import SpecwatchError
from collectors.redact import Redactor, mask
from launch import config
from launch.config import Hook

COMMAND_S = 60.0
SECRETS = "SPECWATCH_SECRETS"  # the keeper hands them to the recorder
POST_S = 5.0


def run_hooks(path: Path, event: str, facts: dict[str, Any]) -> str | None:
    """Run the hook for `event` ("ready", "failed", "stalled"), if the configuration has one. Why it failed, or None.

    A command gets the facts as SPECWATCH_ID, SPECWATCH_PHASE, … (what is nested as JSON) beside its environment; a url
    gets `{"event": …, **facts}`.
    """
    trouble = _run(path, event, _clean(facts))
    if trouble is not None:
        sys.stderr.write(f"hook on_{event}: {trouble}\n")
    return trouble


def _inherited() -> dict[str, str]:
    """Ours, without the values that the redactor was given."""
    return {name: value for name, value in os.environ.items() if name != SECRETS}


def variables(event: str, facts: dict[str, Any]) -> dict[str, str]:
    """The facts as environment variables; unknown is the empty string."""
    said = {"event": event, **facts}
    return {f"SPECWATCH_{name.upper()}": _text(value) for name, value in said.items()}


def _run(path: Path, event: str, facts: dict[str, Any]) -> str | None:
    try:
        hook = config.load(str(path)).hooks.of(event)
        if hook is None:
            return None
        return _command(hook, event, facts) or _post(hook, event, facts)
    except SpecwatchError as problem:
        return problem.message


def _command(hook: Hook, event: str, facts: dict[str, Any]) -> str | None:
    if not hook.command:
        return None
    try:
        done = subprocess.run(
            hook.command,
            env={**_inherited(), **variables(event, facts)},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            timeout=COMMAND_S,
            start_new_session=True,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return f"`{hook.command[0]}` took longer than {COMMAND_S:.0f} s and was ended"
    except (OSError, ValueError) as error:
        return f"`{hook.command[0]}` could not be started: {error}"
    if done.returncode == 0:
        return None
    last = done.stderr.decode(errors="replace").strip().rpartition("\n")[2]
    return f"`{hook.command[0]}` ended with {done.returncode}: {last}"


def _post(hook: Hook, event: str, facts: dict[str, Any]) -> str | None:
    if hook.url is None:
        return None
    import httpx

    try:
        answer = httpx.post(hook.url, json={"event": event, **facts}, timeout=POST_S)
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        return f"{_host(hook.url)}: {type(error).__name__} {error}"
    return None if answer.is_success else f"{_host(hook.url)} answered {answer.status_code}"


def _host(url: str) -> str:
    """A webhook's path is its secret."""
    return "/".join(url.split("/")[:3])


def _clean(facts: dict[str, Any]) -> dict[str, Any]:
    """Without the secrets of the launch, which the keeper hands on to the recorder, and what is printed like one."""
    known: list[str] = msgspec.json.decode(os.environ.get(SECRETS) or "[]", type=list[str])
    redactor = Redactor((), os.environ, {f"SECRET_{i}_KEY": value for i, value in enumerate(known)})
    return {name: redactor.tree(_masked(value)) for name, value in facts.items()}


def _masked(value: Any) -> Any:
    if isinstance(value, str):
        return mask(value)
    if isinstance(value, dict):
        return {key: _masked(item) for key, item in value.items()}
    return [_masked(item) for item in value] if isinstance(value, list | tuple) else value


def _text(value: Any) -> str:
    """As it can stand in an environment variable: no NUL, no more than a screenful."""
    text = "" if value is None else value if isinstance(value, str) else msgspec.json.encode(value).decode()
    return text.replace("\0", "")[:16384]
