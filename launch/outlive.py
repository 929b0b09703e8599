"""What would still end a detached server here, in one sentence, and the way around it where there is one."""

import os
import pwd
import re
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

SCOPE = ("systemd-run", "--user", "--scope", "--quiet", "--collect", "--")


class Outlook(NamedTuple):
    sentence: str  # "" when nothing is known to end it
    prefix: tuple[str, ...] = ()


def outlook(env: Mapping[str, str], root: Path = Path("/")) -> Outlook:
    if job := env.get("SLURM_JOB_ID"):
        return Outlook(f"the server outlives this terminal, and ends with Slurm job {job}")
    if _logind_kills(root) and _in_session(root):
        if _lingers(root) and _scope_works():
            return Outlook("", SCOPE)
        return Outlook(
            "logind (KillUserProcesses) ends the server when you log out; `loginctl enable-linger` keeps it"
        )
    if env.get("KUBERNETES_SERVICE_HOST"):
        return Outlook("the server outlives this terminal, and ends when this pod does")
    if any((root / mark).exists() for mark in (".dockerenv", "run/.containerenv")):
        return Outlook("the server outlives this terminal, and ends when this container does")
    return Outlook("")


def _logind_kills(root: Path) -> bool:
    """The last KillUserProcesses= of logind.conf and its drop-ins (logind.conf(5); the default is no)."""
    etc = root / "etc/systemd"
    said = False
    for file in (etc / "logind.conf", *sorted((etc / "logind.conf.d").glob("*.conf"))):
        try:
            found = re.findall(r"(?mi)^\s*KillUserProcesses\s*=\s*(\w+)", file.read_text(errors="replace"))
        except OSError:
            continue
        if found:
            said = found[-1].lower() in ("yes", "true", "1", "on")
    return said


def _in_session(root: Path) -> bool:
    try:
        return re.search(r"/session-[^/]*\.scope", (root / "proc/self/cgroup").read_text()) is not None
    except OSError:
        return False


def _lingers(root: Path) -> bool:
    """Without it the user's systemd, and every scope in it, ends with the last session."""
    return (root / "var/lib/systemd/linger" / pwd.getpwuid(os.getuid()).pw_name).exists()


def _scope_works() -> bool:
    try:
        tried = subprocess.run(
            [*SCOPE, "true"], capture_output=True, stdin=subprocess.DEVNULL, timeout=5, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return tried.returncode == 0
