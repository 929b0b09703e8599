"""A weight file that vLLM calls broken without its name is named by its own header."""

import json
import struct
from pathlib import Path

from collectors.reading.events import BrokenFiles, Exit, Log, RunFacts, Started
from collectors.reading.report import report
from collectors.reading.state import State, step
from collectors.record.autopsy import broken_files

SAID = (
    b"(EngineCore pid=7) ERROR 12-01 10:00:00 [core.py:9] EngineCore failed to start.\n"
    b"(EngineCore pid=7) ERROR 12-01 10:00:00 [core.py:9] Traceback (most recent call last):\n"
    b'(EngineCore pid=7) ERROR 12-01 10:00:00 [core.py:9]   File "core.py", line 1, in run\n'
    b"(EngineCore pid=7) ERROR 12-01 10:00:00 [core.py:9] safetensors_rust.SafetensorError: Error while "
    b"deserializing header: incomplete metadata, file not fully covered\n"
)
OOM = SAID.replace(
    b"safetensors_rust.SafetensorError: Error while deserializing header: incomplete metadata, file not fully "
    b"covered",
    b"torch.OutOfMemoryError: CUDA out of memory.",
)


def checkpoint(folder: Path) -> Path:
    """Two shards, the second one cut."""
    folder.mkdir()
    (folder / "config.json").write_text("{}")
    header = json.dumps({"w": {"dtype": "F32", "shape": [8], "data_offsets": [0, 32]}}).encode()
    whole = struct.pack("<Q", len(header)) + header + bytes(32)
    (folder / "model-00001-of-00002.safetensors").write_bytes(whole)
    (folder / "model-00002-of-00002.safetensors").write_bytes(whole[:-5])
    return folder


def died(folder: Path, said: bytes) -> State:
    state = step(State(), Started(t=0.0, run=RunFacts(model_path=str(folder))))
    return step(state, Log(t=1.0, offset=0, data=said))


def test_it_is_named_in_the_hint_and_in_the_one_problem(tmp_path: Path) -> None:
    state = died(checkpoint(tmp_path / "target"), SAID)
    found = broken_files(state)
    assert len(found) == 1
    state = step(step(state, BrokenFiles(t=2.0, files=found)), Exit(t=2.0, code=1))
    told = report(state)
    assert told.root_cause is not None
    assert "model-00002-of-00002.safetensors" in told.root_cause["hint"]
    assert [problem["advice"] for problem in told.problems] == [told.root_cause["hint"]]


def test_the_files_are_not_looked_at_for_another_cause(tmp_path: Path) -> None:
    assert broken_files(died(checkpoint(tmp_path / "target"), OOM)) == ()


def test_a_folder_that_is_gone_changes_nothing(tmp_path: Path) -> None:
    assert broken_files(died(tmp_path / "gone", SAID)) == ()
