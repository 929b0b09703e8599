"""One server of the demo from launch to stop, by the very commands that a user would type."""

import contextlib
import shlex
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import PurePath
from typing import Any

import click
import msgspec

from collectors.errors import ExitCode, SpecwatchError
from collectors.reading.state import State
from collectors.record.folder import RunFolder
from collectors.record.follow import Follower
from collectors.record.runs import runs_dir
from launch.bench.result import Result
from launch.demo import signals, watching
from launch.demo.stages import Stages
from launch.options import state_of
from launch.output import say
from launch.selfexec import self_argv

START_TIMEOUT_S = 900  # a start takes 25 s; without compiled bytecode, on a machine at work, some minutes
GRACE_S = 5  # a server cut short holds nothing worth the minute in which a loading vLLM hears no SIGTERM


class Job:
    """With `stages`, commands and their progress are told in lines; without, the screen has the terminal."""

    def __init__(self, options: Mapping[str, Any], name: str) -> None:
        self._state = state_of(dict(options))
        self._common = [
            word for flag in ("state_dir", "config") if options.get(flag)
            for word in ("--" + flag.replace("_", "-"), str(options[flag]))
        ]  # fmt: skip
        self.name = name
        self.id = ""
        self._going_on: subprocess.Popen[str] | None = None  # behind the screen, in a thread of its own

    @property
    def folder(self) -> RunFolder:
        return RunFolder(runs_dir(self._state) / self.id)

    def launch(self, argv: Sequence[str], env: dict[str, str]) -> None:
        words = ["launch", "--name", self.name, "--detach", "--", *argv]
        _echo(words)
        with signals.held():  # a server whose id is not known yet could not be stopped
            done = self._specwatch(words, env=env, own_session=True)
            self.id = (done.stdout.split() or [""])[0]
        if done.returncode:
            raise click.exceptions.Exit(done.returncode)
        say(self.id)

    def wait(self, stages: Stages | None = None) -> None:
        words = ["wait", self.id, "--timeout", str(START_TIMEOUT_S)]
        self._followed(words, stages, f"start of {self.name}", "server did not become ready")

    def bench(self, stages: Stages | None = None) -> Result:
        words = ["bench", self.id, "--json"]
        done = self._followed(words, stages, f"benchmark of {self.name}", "benchmark failed")
        return msgspec.json.decode(done.stdout, type=Result)

    def _followed(
        self, words: list[str], stages: Stages | None, doing: str, failed: str
    ) -> subprocess.CompletedProcess[str]:
        if stages is None:
            done = self._specwatch(words, quiet=True)
        else:
            _echo(words)
            with stages.stage(doing, watching.look(self.folder)):
                done = self._specwatch(words, quiet=True)
        if done.returncode and stages is not None:
            say(done.stderr.rstrip())  # its error, and what led there
            raise click.exceptions.Exit(done.returncode)
        if done.returncode:
            hint = f"`specwatch status {self.id}` says where it stands"
            what = f"the demo's {failed} (exit code {done.returncode})"
            raise SpecwatchError(what, hint, ExitCode.SERVER_FAILED)
        return done

    def stop(self, *, hurry: bool = False) -> None:
        """Safe to be called again, and for a run that never came to be."""
        if self._going_on is not None:
            with contextlib.suppress(OSError):
                self._going_on.terminate()
        if not self.id or self.reading().ended:
            return
        words = ["stop", self.id, "--kill", *(["--timeout", str(GRACE_S)] if hurry else [])]
        with contextlib.suppress(OSError):  # it must end, whether or not anybody reads on
            _echo(words)
        done = self._specwatch(words, own_session=True)
        with contextlib.suppress(OSError):
            say(done.stdout.rstrip())

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
        argv = self_argv(*self._common, *words)
        with subprocess.Popen(
            argv, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE if quiet else None, text=True, start_new_session=own_session,
        ) as child:  # fmt: skip
            if not own_session:
                self._going_on = child
            try:
                out, err = child.communicate()
            except BaseException:
                child.terminate()  # what was asked of us alone, it would not hear
                child.wait()
                raise
        return subprocess.CompletedProcess(argv, child.returncode, out, err or "")


def _echo(words: Sequence[str]) -> None:
    """What a user would type: on a terminal in one line, without the folders; run.json holds it whole."""
    if not sys.stderr.isatty():
        say("$ specwatch " + shlex.join(words))
        return
    short = ["…/" + PurePath(word).name if word.startswith("/") else shlex.quote(word) for word in words]
    text = "$ specwatch " + " ".join(short)
    width = shutil.get_terminal_size().columns - 1
    say(text if len(text) <= width else text[: width - 2] + " …")
