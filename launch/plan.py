"""What is to be started: the user's argv and environment, resolved but never added to; and what run.json says of it."""

import contextlib
import os
import re
import shutil
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from collectors.errors import SpecwatchError
from collectors.reading.events import RunFacts
from collectors.record import runs, timings
from collectors.record.clock import boot_id
from collectors.record.folder import RunInfo
from collectors.redact import Redactor
from collectors.sources.tree import TAG
from launch import argv as words
from launch.config import Config, Profile
from launch.demo.engines import interpreter_of
from launch.modelfacts import ModelFacts
from launch.patches import environment as patching

# The part of the environment that decides how a server behaves and that run.json tells; restart sets it again.
CHOSEN = re.compile(
    r"(VLLM|SGLANG|SGL|CUDA|NVIDIA|NCCL|HF|HUGGING_FACE|TRANSFORMERS|TORCH|PYTORCH|TORCHINDUCTOR|OMP|TQDM|RAY|UCX|GLOO"
    r"|TRITON|FLASHINFER|DG|LD|HIP|ROCR|ASCEND|SLOWLOAD)_|PYTHON|NO_COLOR$|FORCE_COLOR$"
)


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    argv: tuple[str, ...]
    env: dict[str, str]  # whole, as the server gets it but for SPECWATCH_RUN and the patches' additions
    program: str  # the file to execute
    engine: str | None
    version: str | None  # the engine's
    url: str | None
    model: str | None
    drafter: str | None
    name: str
    profile: str | None = None
    patches: tuple[str, ...] = ()
    named_env: tuple[str, ...] = ()  # variables that the profile set

    @property
    def bound(self) -> tuple[str, int] | None:
        return words.address(self.argv, self.engine)


def make(
    argv: Sequence[str],
    env: Mapping[str, str],
    *,
    profile: Profile | None = None,
    profile_name: str | None = None,
    name: str | None = None,
    patches: Sequence[str] = (),
    cwd: str = ".",
) -> Plan:
    """Raises SpecwatchError where there is no command, or none that can be executed."""
    profile = profile or Profile()
    if not argv:
        raise SpecwatchError(
            "there is no command to launch",
            "`specwatch launch -- vllm serve MODEL`, or a profile with a `command`",
        )
    runs.check_name(name)
    whole = _environment(env, profile)
    engine = profile.engine or words.engine_of(argv)
    program = executable(argv[0], whole.get("PATH", os.defpath), cwd)
    bound = words.address(argv, engine)
    model = words.model_of(argv)
    wanted = patching.resolved((*profile.patches, *patches), engine)
    return Plan(
        argv=tuple(argv),
        env=whole,
        program=program,
        engine=engine,
        version=engine_version(program),
        url=profile.url or (words.url_of(bound) if bound else None),
        model=model,
        drafter=words.drafter_of(argv),
        name=name or profile_name or words.value(argv, "--served-model-name") or Path(model or argv[0]).name,
        profile=profile_name,
        patches=wanted,
        named_env=tuple(profile.env),
    )


def _environment(env: Mapping[str, str], profile: Profile) -> dict[str, str]:
    """The user's, and the profile's on top. A tag of an outer run would make this server look like that run's."""
    whole = {name: value for name, value in env.items() if name != TAG}
    for name, value in profile.env.items():
        whole.pop(name, None)
        if value is not False:
            whole[name] = "1" if value is True else value
    return whole


def executable(word: str, path: str, cwd: str = ".") -> str:
    """The file that a shell in `cwd` would execute for `word`. SpecwatchError says why there is none."""
    if "/" in word:
        word = os.path.join(os.path.abspath(cwd), word)
    if found := shutil.which(word, path=path):
        return os.path.abspath(found)
    if "/" not in word:
        raise SpecwatchError(
            f"there is no `{word}` on PATH",
            "activate the environment that it is installed in, or give its path",
        )
    if not os.path.exists(word):
        raise SpecwatchError(f"there is no command {word}", "is the path right?")
    if os.path.isdir(word):
        raise SpecwatchError(f"{word} is a directory", "name the program in it")
    raise SpecwatchError(f"{word} is not executable", f"chmod +x {word}")


def engine_version(program: str) -> str | None:
    """From the installed distribution's name beside the script's interpreter: importing vLLM would take seconds."""
    python = interpreter_of(Path(program))
    if python is None:
        return None
    for info in sorted(python.parent.parent.glob("lib*/python3*/*-packages/*.dist-info")):
        if match := re.fullmatch(r"(?:vllm(?:_cpu)?|sglang)-(\d.*)\.dist-info", info.name):
            return match[1]
    return None


def version_tuple(version: str | None) -> tuple[int, ...] | None:
    found = re.match(r"\d+(?:\.\d+)*", version or "")
    return tuple(map(int, found[0].split("."))) if found else None


def run_info(
    plan: Plan,
    redactor: Redactor,
    config: Config,
    target: ModelFacts | None,
    drafter: ModelFacts | None,
    gpus: RunFacts,
    state: Path,
) -> RunInfo:
    """run.json of the new run. `gpus`: holds the GPU fields."""
    run_id = runs.new_id()
    facts = msgspec.structs.replace(
        gpus,
        id=run_id,
        name=plan.name,
        argv=redactor.argv(plan.argv),
        engine=plan.engine,
        model_path=_path(target),
        drafter_path=_path(drafter),
        shard_bytes=target.shard_bytes if target else (),
        drafter_bytes=drafter.shard_bytes if drafter else (),
        filesystem=target.filesystem if target else None,
        patches=plan.patches,
        noise=config.noise,
    )
    chosen = {k: v for k, v in plan.env.items() if CHOSEN.match(k) or k in plan.named_env}
    env = redactor.env(chosen)
    info = RunInfo(
        facts=facts,
        created=time.time(),
        boottime0=time.clock_gettime(time.CLOCK_BOOTTIME),
        boot_id=boot_id(),
        pid_namespace=os.readlink("/proc/self/ns/pid"),
        host=os.uname().nodename,
        cwd=os.getcwd(),
        env=env,
        profile=plan.profile,
        versions=_versions(plan),
        url=plan.url,
        config=str(config.path) if config.path else None,
        secrets=redactor.names_in((*facts.argv, *env.values())),
    )
    past = timings.history(state, timings.key_of(info))
    return msgspec.structs.replace(info, facts=msgspec.structs.replace(facts, history=past))


def _path(model: ModelFacts | None) -> str | None:
    return None if model is None else str(model.path.absolute()) if model.path else model.given


def _versions(plan: Plan) -> dict[str, str]:
    from importlib.metadata import PackageNotFoundError, version

    said = {"python": sys.version.split()[0]}
    if plan.version is not None:
        said[plan.engine or "vllm"] = plan.version
    with contextlib.suppress(PackageNotFoundError):  # a bare checkout
        said["specwatch"] = version("specwatch")
    return said
