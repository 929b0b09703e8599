"""What the files of a dead server say, where its log does not."""

from collectors.checks.checkpoint import load
from collectors.errors import SpecwatchError
from collectors.reading.report import BROKEN_WEIGHTS
from collectors.reading.state import State

MOST = 8


def broken_files(state: State) -> tuple[str, ...]:
    """The weight files that are no whole safetensors files, by their headers, if the server died of reading one."""
    if not any(suspect.rule in BROKEN_WEIGHTS for suspect in state.log.suspects.suspects.values()):
        return ()
    found: list[str] = []
    for given in (state.run.model_path, state.run.drafter_path):
        if given is not None:
            try:
                found += load(given).broken
            except SpecwatchError:
                continue
    return tuple(found[:MOST])
