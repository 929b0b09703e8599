"""What a run gains over its baseline: the newest run of the same target here that drafts nothing."""

from collections.abc import Iterator
from itertools import islice

from collectors.errors import SpecwatchError
from collectors.record import runs
from collectors.record.folder import RunFolder, RunInfo
from launch import argv
from launch.compare.comparison import Comparison, compare
from launch.compare.sides import Side, load

MOST = 5  # candidates that are looked into: one without a checkpoint is read from its beginning


def against_baseline(folder: RunFolder) -> Comparison | None:
    """What `compare` says of the run's newest benchmarks. None: none has ended, or nothing is like them."""
    ours = _side(folder)
    if ours is None or not ours.speculates:
        return None
    for other in _candidates(folder, folder.info()):
        base = _side(other)
        if base is None or base.speculates:
            continue
        try:
            return compare((base, ours))
        except SpecwatchError:
            continue
    return None


def _candidates(folder: RunFolder, info: RunInfo) -> Iterator[RunFolder]:
    alike = (
        other
        for other, theirs in runs.scan(folder.root).runs
        if other.id != folder.id
        and theirs.facts.model_path == info.facts.model_path
        and not argv.speculates(theirs.facts.argv)
    )
    return islice(alike, MOST)


def _side(folder: RunFolder) -> Side | None:
    try:
        return load(folder.root, folder.id)
    except SpecwatchError:
        return None
