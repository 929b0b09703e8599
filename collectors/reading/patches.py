"""What the patches of a launch did, as each process of the server said in one line.

A process says "armed" first where the patch waits for a module, then what came of it: its last word counts. The
inspection subprocess is captured by vLLM and silent.
"""

from collections import Counter
from collections.abc import Iterator

from collectors.reading.hosts import HostState
from collectors.reading.log.parts import Problem
from collectors.reading.log.phases import at_least
from collectors.reading.log.state import LogState
from collectors.reading.state import State


def counts(log: LogState) -> dict[str, dict[str, int]]:
    """patch -> status -> number of processes."""
    return {patch: dict(Counter(said.values())) for patch, said in log.patches.items()}


def troubles(state: State) -> Iterator[Problem]:
    """Patches that failed, were skipped, never ran, or are missing in a process. An error each."""
    log, wanted = state.log, state.run.patches
    for patch, said in log.patches.items():
        bad = Counter(status for status in said.values() if status in ("failed", "skipped"))
        for status, processes in bad.items():
            many = f" in {processes} processes" if processes > 1 else ""
            yield _problem(state, f"patch {patch} {status}{many}", "the log says why", patch)
    if not wanted or not at_least(log, "weights"):
        return
    silent = [w for w in wanted if not any(p == w or p.startswith(w + ".") for p in log.patches)]
    if silent:
        advice = "a sanitised environment (python -I, -E) hides PYTHONPATH; VLLM_PLUGINS may leave it out"
        yield _problem(
            state, f"patch {', '.join(silent)} never ran: no process of the server said so", advice, "silent"
        )
        return
    spoke = {int(pid) for said in log.patches.values() for pid in said}
    missing = [name for pid, name in _engine_processes(state.hosts) if pid not in spoke]
    if missing:
        yield _problem(
            state,
            f"the patches did not run in {', '.join(missing)}",
            "see the log for its plug-ins",
            "missing",
        )


def _engine_processes(hosts: HostState) -> Iterator[tuple[int, str]]:
    """vLLM names its own (setproctitle); helpers such as resource trackers have no such title."""
    for pid, proc in hosts.procs.items():
        if proc.title.startswith("VLLM::"):
            yield pid, proc.title


def _problem(state: State, text: str, advice: str, what: str) -> Problem:
    return Problem("error", f"patch-{what}", text, 0, 0, state.t, advice=advice)
