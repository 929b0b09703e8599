"""One server of the demo from launch to stop, by the very commands that a user would type."""

import contextlib
import shlex
import subprocess
from collections.abc import Mapping, Sequence
from typing import Any

import click
import msgspec

from collectors.errors import ExitCode, SpecwatchError
from collectors.reading.state import State
from collectors.record.folder import RunFolder
from collectors.record.follow import Follower
from collectors.record.runs import runs_dir
from launch.bench.result import Result
from launch.options import state_of
from launch.output import say
from launch.selfexec import self_argv

START_TIMEOUT_S = 900  # a start takes 25 s; without compiled bytecode, on a machine at work, some minutes


class Job:
    """`quiet`: the screen has the terminal, so the commands say nothing."""

    def __init__(self, options: Mapping[str, Any], name: str) -> None:
        self._state = state_of(dict(options))
        self._common = [
            word for flag in ("state_dir", "config") if options.get(flag)
            for word in ("--" + flag.replace("_", "-"), str(options[flag]))
        ]  # fmt: skip
        self.name = name
        self.id = ""
        self._running: subprocess.Popen[str] | None = None

    @property
    def folder(self) -> RunFolder:
        return RunFolder(runs_dir(self._state) / self.id)

    def launch(self, argv: Sequence[str], env: dict[str, str]) -> None:
        words = ["launch", "--name", self.name, "--detach", "--", *argv]
        # Ctrl-C must not meet it half-way: a server without an id could not be stopped.
        done = self._specwatch(words, env=env, own_session=True)
        self._check(done, quiet=False, what="the demo's server could not be launched")
        self.id = done.stdout.split()[0]

    def wait(self, *, quiet: bool = False) -> None:
        done = self._specwatch(["wait", self.id, "--timeout", str(START_TIMEOUT_S)], quiet=quiet)
        self._check(done, quiet, "the demo's server did not become ready")

    def bench(self, *, quiet: bool = False) -> Result:
        done = self._specwatch(["bench", self.id, "--json"], quiet=quiet)
        self._check(done, quiet, "the demo's benchmark failed")
        return msgspec.json.decode(done.stdout, type=Result)

    def _check(self, done: subprocess.CompletedProcess[str], quiet: bool, what: str) -> None:
        """A command that was seen has said its error already; one behind the screen has not."""
        if done.returncode and not quiet:
            raise click.exceptions.Exit(done.returncode)
        if done.returncode:
            hint = f"`specwatch status {self.id}` says where it stands" if self.id else ""
            raise SpecwatchError(f"{what} (exit code {done.returncode})", hint, ExitCode.SERVER_FAILED)

    def stop(self, *, kill: bool = False) -> None:
        """Safe to be called again, and for a run that never came to be."""
        if self._running is not None:
            with contextlib.suppress(OSError):
                self._running.terminate()
        if self.id and not self.reading().ended:
            # Cut short, its tiny server holds nothing worth the minute that a loading vLLM does not hear SIGTERM.
            hurry = ["--kill", "--timeout", "5"] if kill else []
            self._specwatch(["stop", self.id, *hurry], own_session=True)

    def reading(self) -> Follower:
        run = Follower(self.folder)
        run.advance()
        return run

    @property
    def state(self) -> State:
        return self.reading().state

    def _specwatch(
        self,
        words: list[str],
        *,
        env: dict[str, str] | None = None,
        quiet: bool = False,
        own_session: bool = False,
    ) -> subprocess.CompletedProcess[str]:
        if not quiet:
            say("$ specwatch " + shlex.join(words))
        argv = self_argv(*self._common, *words)
        with subprocess.Popen(
            argv, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL if quiet else None, text=True, start_new_session=own_session,
        ) as self._running:  # fmt: skip
            out, _ = self._running.communicate()
        code, self._running = self._running.returncode, None
        if out and not quiet and "--json" not in words:
            say(out.rstrip())
        return subprocess.CompletedProcess(argv, code, out)
