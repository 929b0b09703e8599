"""What is wrong with a launch before it costs 25 minutes. Each check: the plan in, findings out; add one to CHECKS."""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec

from collectors.reading.events import RunFacts
from launch import argv as words
from launch import holders
from launch.holders import Card
from launch.modelfacts import ModelFacts
from launch.plan import Plan

DISK_NEEDED = 20 << 20  # the start of a log and a record
DISK_WANTED = 500 << 20  # a run writes at most 60 MB of record a day for one engine, and its log
UTILIZATION = 0.9  # vLLM's --gpu-memory-utilization (0.9 to 0.31, 0.92 from 0.32)
_FALSE = ("", "0", "false", "no")


class Finding(msgspec.Struct, frozen=True):
    """An error stops the launch (unless --force); a warning is said."""

    message: str
    hint: str = ""
    error: bool = True


class Site(msgspec.Struct, frozen=True):
    """What the checks look at besides the plan, read once."""

    state: Path
    target: ModelFacts | None
    drafter: ModelFacts | None
    cards: tuple[Card, ...]

    def gpu_facts(self, plan: Plan) -> RunFacts:
        return RunFacts(
            gpu_names=tuple(card.name for card in self.cards),
            gpu_total_mib=tuple(card.total_mib for card in self.cards),
            gpus_of_run=holders.visible(self.cards, plan.env.get("CUDA_VISIBLE_DEVICES")),
        )


def findings(plan: Plan, site: Site) -> list[Finding]:
    return [finding for check in CHECKS for finding in check(plan, site)]


def _port(plan: Plan, site: Site) -> Iterator[Finding]:
    if plan.bound is None:
        yield Finding(f"--port {words.value(plan.argv, '--port')} is no port", "a number from 1 to 65535")
        return
    host, port = plan.bound
    trouble = holders.bind_trouble(host, port)
    if trouble is None:
        return
    same = [folder.id for folder, info in holders.living(site.state) if info.url == plan.url]
    pid = holders.listener(port)
    by = f" by {holders.described(pid, site.state)}" if pid else f" (run {same[0]})" if same else ""
    run = same[0] if same else holders.run_of(pid) if pid else None
    way_out = f"`specwatch stop {run}`, or another --port" if run else "choose another --port"
    yield Finding(f"port {port} {trouble}{by}", way_out)


def _gpus(plan: Plan, site: Site) -> Iterator[Finding]:
    """vLLM refuses a GPU with less free memory than it is to use; another's small share is only said."""
    seen = holders.visible(site.cards, plan.env.get("CUDA_VISIBLE_DEVICES"))
    usable = [card for card in site.cards if seen is None or card.index in seen]
    wanted = words.number(plan.argv, UTILIZATION, "--gpu-memory-utilization", "--mem-fraction-static")
    for card in usable[: _gpus_wanted(plan)]:
        free = card.total_mib - card.used_mib
        short = free < wanted * card.total_mib
        if not card.pids and not short:
            continue
        who = (
            ", ".join(holders.described(pid, site.state) for pid in card.pids)
            or "nobody that is seen from here"
        )
        runs = sorted({run for pid in card.pids if (run := holders.run_of(pid))})
        yield Finding(
            f"GPU {card.index} has {free / 1024:.1f} of {card.total_mib / 1024:.1f} GiB free, held by {who}",
            f"`specwatch stop {runs[0]}`, or other GPUs with CUDA_VISIBLE_DEVICES"
            if runs
            else "other GPUs with CUDA_VISIBLE_DEVICES, or a lower --gpu-memory-utilization",
            error=short,
        )


def _gpus_wanted(plan: Plan) -> int:
    flags = (
        ("--tensor-parallel-size", "-tp", "--tp-size", "--tp"),
        ("--pipeline-parallel-size", "-pp", "--pp-size"),
        ("--data-parallel-size", "-dp", "--dp-size"),
    )
    wanted = 1
    for names in flags:
        wanted *= max(1, int(words.number(plan.argv, 1, *names)))
    return wanted


def _models(plan: Plan, site: Site) -> Iterator[Finding]:
    if words.value(plan.argv, "--load-format") == "dummy":
        return
    for model, what in ((site.target, "model"), (site.drafter, "drafter")):
        if model is None:
            continue
        if model.missing:
            yield Finding(f"the {what} cannot be read: {model.missing}", "a relative path counts from here")
        if model.broken:
            more = f" (and {len(model.broken) - 1} more)" if len(model.broken) > 1 else ""
            yield Finding(
                f"the {what} {model.given} is damaged: {model.broken[0]}{more}", "copy or download it again"
            )
        if model.path is None and not model.missing and _on(plan, "HF_HUB_OFFLINE"):
            yield Finding(
                f"the {what} {model.given} is not on this machine, and HF_HUB_OFFLINE is set",
                "download it first, or unset HF_HUB_OFFLINE",
                error=False,
            )


def _disk(plan: Plan, site: Site) -> Iterator[Finding]:
    place = next(folder for folder in (site.state, *site.state.absolute().parents) if folder.exists())
    free = shutil.disk_usage(place).free
    if free < DISK_WANTED:
        yield Finding(
            f"{free >> 20} MB are free for logs and records in {site.state}",
            "free some, or choose another place with --state-dir",
            error=free < DISK_NEEDED,
        )


def _switches(plan: Plan, site: Site) -> Iterator[Finding]:
    """What takes away what specwatch shows; the user's to decide, so it is only said."""
    said = [
        (
            words.has(plan.argv, "--disable-log-stats"),
            "--disable-log-stats: no counters, so no acceptance and no rates",
            "",
        ),
        (
            plan.env.get("VLLM_CONFIGURE_LOGGING") == "0",
            "VLLM_CONFIGURE_LOGGING=0: the log says little, phases and causes may stay unknown",
            "",
        ),
        (_on(plan, "TQDM_DISABLE"), "TQDM_DISABLE: no bars, so no arrival from them", ""),
        (
            _on(plan, "PYTHONDONTWRITEBYTECODE") and "PYTHONPYCACHEPREFIX" not in plan.env,
            "PYTHONDONTWRITEBYTECODE: where no bytecode lies yet, each start compiles all imports anew (70–100 s)",
            "unset it for one start",
        ),
        (
            plan.engine == "vllm"
            and "cpu" in (plan.version or "")
            and not words.has(plan.argv, "--kv-cache-memory-bytes")
            and "VLLM_CPU_KVCACHE_SPACE" not in plan.env,
            "a CPU server takes most of the machine's memory for its KV cache, and fails where that is not free",
            "such as --kv-cache-memory-bytes 268435456",
        ),
    ]
    return (Finding(message, hint, error=False) for holds, message, hint in said if holds)


def _on(plan: Plan, name: str) -> bool:
    return plan.env.get(name, "").lower() not in _FALSE


CHECKS: tuple[Callable[[Plan, Site], Iterator[Finding]], ...] = (_port, _gpus, _models, _disk, _switches)
