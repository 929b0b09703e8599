"""`specwatch doctor TARGET DRAFTER`: what is wrong with a drafter, before 25 minutes are spent on it."""

import sys

import click
import msgspec

from collectors.checks.findings import Diagnosis
from collectors.errors import SpecwatchError
from launch import output

_SIGN = {"error": "✗", "warning": "!", "info": "·"}


@click.command
@click.argument("target")
@click.argument("drafter")
@click.option("--engine", type=click.Choice(["vllm", "sglang"]), default="vllm", show_default=True)
@click.option("--engine-version", help="As the engine's banner says it.  [the newest known]")
@click.option(
    "--runner", type=click.Choice(["v1", "v2"]), help="vLLM's model runner.  [v2 from 0.30 on; a CPU has v1]"
)
@click.option("--tp", type=click.IntRange(1), default=1, show_default=True, help="Tensor parallel size.")
@click.option("--num-speculative-tokens", "k", type=click.IntRange(1), help="Drafted tokens a step (K).")
@click.option("--max-model-len", type=click.IntRange(1), help="The served context.  [the target's]")
@click.option("--method", help="`method` of --speculative-config, where it is given.")
@click.option("--dtype", help="`--dtype` of the server, where it is given.")
@click.option("--patch", "patches", multiple=True, help="A patch that the launch applies (eagle3).")
@click.option("--json", "as_json", is_flag=True, help="One JSON object on stdout.")
def command(target: str, drafter: str, as_json: bool, **options: object) -> None:
    """Check a DRAFTER against its TARGET from their files alone: no GPU, no torch, under a second.

    Both are checkpoint folders (config.json and safetensors headers are read; weights are not). Exit code
    0: no error found, 1: errors found, 2: something could not be read.
    """
    from collectors.checks.checkpoint import load
    from collectors.checks.conventions import NEWEST, parse_version
    from collectors.checks.doctor import examine
    from collectors.checks.pair import Options, Pair

    engine, given = str(options["engine"]), options.pop("engine_version")
    try:
        version = parse_version(str(given)) if given else NEWEST[engine]
    except ValueError as error:
        raise SpecwatchError(f"{given!r} is no version", "give it as the banner does: 0.16.0") from error
    runner = options.pop("runner") or ("v2" if version >= (0, 30) else "v1")
    settings = msgspec.convert({**options, "version": version, "runner": runner}, Options)
    diagnosis = examine(Pair(load(target), load(drafter), settings))
    if as_json:
        output.json(diagnosis)
    else:
        output.data(render(diagnosis))
    sys.exit(any(f.severity == "error" for f in diagnosis.findings))


def render(diagnosis: Diagnosis) -> str:
    """The findings as a person reads them, the worst first, then what was checked and is fine."""
    lines = []
    for finding in sorted(diagnosis.findings, key=lambda f: list(_SIGN).index(f.severity)):
        lines += [
            f"{_SIGN[finding.severity]} {finding.id}: {finding.found}",
            f"    expected  {finding.expected}",
            f"    why       {finding.why}",
            f"    do        {finding.fix}",
        ]
    errors = sum(f.severity == "error" for f in diagnosis.findings)
    others = len(diagnosis.findings) - errors
    engine = "vLLM" if diagnosis.engine == "vllm" else "SGLang"
    if lines:
        lines.append("")
    if diagnosis.captures:
        runner = f" with model runner {diagnosis.runner}" if diagnosis.runner else ""
        lines.append(f"{engine} {diagnosis.engine_version}{runner}: {diagnosis.captures}")
        if diagnosis.runner == "v2":
            lines.append("(a server on a CPU has model runner v1: --runner v1)")
    lines.append(
        f"{errors or 'no'} error{'s' * (errors != 1)}, {others or 'no'} other finding{'s' * (others != 1)}"
    )
    lines.append(f"checked and fine ({len(diagnosis.passed)}): {' '.join(diagnosis.passed)}")
    return "\n".join(lines)
