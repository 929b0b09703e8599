"""`specwatch bench`: what speculation buys, measured with the server's own counters."""

import os
import secrets
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import click
import msgspec

from collectors.errors import ExitCode, SpecwatchError
from collectors.record.folder import RunFolder, hold
from launch import output
from launch.bench import asked
from launch.options import complete_runs, json_option, run_of
from launch.selfexec import self_argv


class _SplitAtDashes(click.Command):
    """Keeps what stands behind `--` apart: to click, RUN and COMMAND would be one list."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        place = args.index("--") if "--" in args else len(args)
        ctx.meta["command"] = tuple(args[place + 1 :])
        ctx.meta["wrapped"] = place < len(args)
        ctx.meta["own"] = tuple(args[:place])
        return super().parse_args(ctx, args[:place])


@click.command(
    "bench", cls=_SplitAtDashes, options_metavar="[OPTIONS]", epilog="bench [RUN] [OPTIONS] [-- COMMAND …]"
)
@click.argument("run", required=False, metavar="[RUN]", shell_complete=complete_runs)
@click.option("--url", help="The server's address.  [the run's]")
@click.option(
    "--concurrency", default="1,8", callback=asked.concurrency, show_default=True, help="Requests at a time."
)
@click.option(
    "--temperature", default="0", callback=asked.temperatures, show_default=True, help="Such as 0,1: each."
)
@click.option(
    "--context",
    default="0",
    callback=asked.contexts,
    show_default=True,
    help="Tokens of text before each prompt: 0,8000.",
)
@click.option(
    "--requests", default="", callback=asked.requests, help="Requests for each level.  [each prompt once]"
)
@click.option("--max-tokens", type=click.IntRange(1), default=128, show_default=True, help="Of each request.")
@click.option(
    "--max-time",
    type=click.FloatRange(0.1),
    metavar="S",
    help="End after S seconds of load; keeps what was measured.",
)
@click.option("--prompts", type=click.Path(path_type=Path), metavar="FILE", help="JSONL of your own prompts.")
@click.option("--api", type=click.Choice(["chat", "completions"]), help="[chat, where there is a template]")
@click.option("--stop-at-eos", is_flag=True, help="Let the model end its answers: lengths then differ.")
@click.option("--label", default="", help="A name for this benchmark.")
@click.option("--id", "bench_id", hidden=True)
@click.option("--detach", is_flag=True, help="Measure in the background; print the benchmark's id.")
@json_option
@click.pass_context
def command(ctx: click.Context, /, run: str | None, as_json: bool, detach: bool, **options: Any) -> int:
    """Measure what speculation buys, with the server's own counters.

    Sends our own prompts (prose, code, dialogue, maths) one at a time, then eight at a time. With -- COMMAND
    it puts marks around that command instead and adds nothing to it. Ctrl-C keeps what was measured. An API
    key comes from OPENAI_API_KEY or VLLM_API_KEY. Exit code 1: no request succeeded.
    """
    if ctx.meta["wrapped"] and not ctx.meta["command"]:
        raise SpecwatchError("no command stands behind `--`", "bench -- vllm bench serve --model …")
    if ctx.meta["wrapped"]:
        _refuse_built_ins(ctx)
    folder = None if options["url"] and not run else run_of(ctx.obj, run)
    url = asked.address(options["url"] or (folder.info().url if folder else None))
    bench_id = options["bench_id"] or time.strftime("%H%M%S-") + secrets.token_hex(2)
    if detach:
        return _detach(ctx, folder, bench_id, as_json)
    result = _measure(folder, url, bench_id, ctx.meta["command"], options)
    if as_json:
        output.json(result)
    else:
        from launch.bench.summary import lines

        for line in lines(result):
            output.data(line)
    return _code(result)


def _refuse_built_ins(ctx: click.Context) -> None:
    """Nothing is added to the command's argv: what only our own requests obey would be lost without a word."""
    for name in (
        "concurrency",
        "temperature",
        "context",
        "requests",
        "max_tokens",
        "max_time",
        "prompts",
        "api",
        "stop_at_eos",
    ):
        if ctx.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE:
            flag = f"--{name.replace('_', '-')}"
            raise SpecwatchError(
                f"{flag} is for the built-in requests, not for a command",
                "give the command its own behind `--`",
            )


def _measure(
    folder: RunFolder | None, url: str, bench_id: str, argv: tuple[str, ...], options: dict[str, Any]
) -> Any:
    from launch.bench import builtin, prompts, wrapped
    from launch.bench.marks import Marks, save
    from launch.bench.result import Result

    blank = Result(
        id=bench_id,
        label=options["label"],
        kind="command" if argv else "built-in",
        run=folder.id if folder else None,
        url=url,
        started=time.time(),
        nonce=None if argv else secrets.token_hex(6),
    )
    alone = None if folder is None else _alone(folder)
    marks = Marks(folder, bench_id, options["label"])
    line = _Line()
    try:
        if argv:
            result = wrapped.run(argv, url, blank, marks, line.command)
        else:
            chosen = prompts.load(options["prompts"]) if options["prompts"] else prompts.built_in()
            ask = builtin.Ask(
                url=url,
                concurrency=options["concurrency"],
                temperature=options["temperature"],
                context=options["context"],
                requests=options["requests"],
                max_tokens=options["max_tokens"],
                max_time=options["max_time"],
                api=options["api"],
                ignore_eos=not options["stop_at_eos"],
            )
            named = {"source": chosen.source, "sha256": chosen.sha256, "count": len(chosen.prompts)}
            blank = msgspec.structs.replace(blank, prompts=named)
            result = builtin.run(ask, chosen, blank, marks, line.level)
    finally:
        line.done()
        if alone is not None:
            os.close(alone)
    if folder is not None:
        save(folder, result)
        output.say(f"saved: {folder.path / f'bench-{bench_id}.json'}")
    return result


def _alone(folder: RunFolder) -> int:
    """Two benchmarks at a time would measure each other. The descriptor holds the run until it is closed."""
    lock = hold(folder.path / "bench.lock")
    if lock is None:
        raise SpecwatchError(
            f"a benchmark of run {folder.id} is running already",
            "its progress is on the screen: `specwatch attach`",
        )
    return lock


class _Line:
    """Progress on stderr: a line that is drawn over on a terminal, nothing otherwise (the record has it)."""

    def __init__(self) -> None:
        import sys

        self._status = output.StatusLine() if sys.stderr.isatty() else None

    def level(self, now: Any) -> None:
        left = "" if now.left_s is None else f", {now.left_s:.0f} s left"
        rate = "" if now.tok_s is None else f", {now.tok_s:.0f} tok/s"
        failed = f", {now.failed} failed" if now.failed else ""
        self._draw(f"{now.name}: {now.done} of {now.total} requests{rate}{failed}{left}")

    def command(self, _seconds: float) -> None:
        """The command draws on stderr itself."""

    def _draw(self, text: str) -> None:
        if self._status is not None:
            self._status.draw(text)

    def done(self) -> None:
        if self._status is not None:
            self._status.done()


def _code(result: Any) -> int:
    """Zero successes are an error, whatever the wrapped command's own exit code says."""
    if _interrupted(result):
        return int(ExitCode.INTERRUPTED)
    done = sum(level.completed for level in result.levels)
    if result.kind == "command":
        own, counted = result.own, result.counters
        done = own.completed if own else None
        if done is None and counted is not None:
            done = counted.requests_finished
            if done is not None:
                done -= counted.requests_failed or 0
        if result.exit_code:
            how = _ended(result.exit_code)
            output.error(f"the command was ended by {how}", "its own words stand above")
            return int(ExitCode.SERVER_FAILED)
    if done == 0:
        hint = (
            "the command's own words stand above"
            if result.kind == "command"
            else "the notes say how they failed"
        )
        output.error("no request succeeded", hint)
        return int(ExitCode.SERVER_FAILED)
    return int(ExitCode.OK)


def _ended(code: int) -> str:
    """Python's negative codes are signals."""
    return f"exit code {code}" if code > 0 else signal.Signals(-code).name


def _interrupted(result: Any) -> bool:
    return any(level.cut == "interrupted" for level in result.levels) or (
        result.kind == "command" and result.partial
    )


def _detach(ctx: click.Context, folder: RunFolder | None, bench_id: str, as_json: bool) -> int:
    if folder is None:
        raise SpecwatchError(
            "a detached benchmark needs a run to keep its result", "`attach --url …` makes one"
        )
    os.close(_alone(folder))
    words = [word for word in ctx.meta["own"] if word not in ("--detach", "--json")]
    words += ["--id", bench_id, *(("--", *ctx.meta["command"]) if ctx.meta["command"] else ())]
    groups = [f"--{name.replace('_', '-')}={value}" for name, value in (ctx.obj or {}).items() if value]
    with (folder.path / f"bench-{bench_id}.out").open("wb") as out:
        (folder.path / f"bench-{bench_id}.out").chmod(0o600)
        subprocess.Popen(
            self_argv(*groups, "bench", *words),
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    if as_json:
        output.json({"id": bench_id})
    else:
        output.data(bench_id)
    return int(ExitCode.OK)
