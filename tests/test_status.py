"""One reading of a run, for a person and as JSON."""

import json
import os
from pathlib import Path

import pytest

from collectors.errors import ExitCode
from collectors.reading.events import Clock, Exit, Gpu, GpuSample, Log, RunFacts, Tick
from collectors.record.folder import hold
from tests.conftest import Cli, Importer
from tests.run_folders import make_run, write_record

FIELDS = ("run", "host", "live", "age_s", "exit", "gpus")


def status(cli: Cli, *args: str) -> dict[str, object]:
    answer = cli("status", *args, "--json")
    assert (answer.returncode, answer.stderr) == (0, "")
    found = json.loads(answer.stdout)
    assert isinstance(found, dict)
    return found


def test_it_is_the_explain_object_and_what_only_a_run_has(imported: Importer, cli: Cli) -> None:
    folder = imported("cpu/12-eagle3-eager", "eagle3")
    found = status(cli, "eagle3")
    explained = json.loads(cli("explain", str(folder.server_log), "--json").stdout)
    assert set(found) == set(explained) | set(FIELDS)
    assert found["v"] == 1
    assert found["engine_version"] == explained["engine_version"]
    assert found["root_cause"] == explained["root_cause"]


def test_a_failed_run_is_exit_0_and_says_why(imported: Importer, cli: Cli) -> None:
    imported("cpu/31-fail-no-such-model", "failed")
    found = status(cli, "failed")
    assert (found["phase"], found["live"], found["ready"]) == ("failed", False, False)
    assert found["root_cause"] is not None
    text = cli("status", "failed")
    assert text.returncode == 0
    assert 3 <= len(text.stdout.splitlines()) <= 9
    assert "cause: " in text.stdout


def test_gpus_of_the_run_only_and_unknown_is_null(state: Path, cli: Cli) -> None:
    facts = RunFacts(gpus_of_run=(0, 2), gpu_names=("A", "A", "B"), gpu_total_mib=(1024, 1024))
    folder = make_run(state / "runs", "r", facts=facts)
    gpus = {n: Gpu(used_mib=512 * n if n else None) for n in range(3)}
    write_record(folder, [GpuSample(t=1.0, gpus=gpus), Tick(t=2.0)])
    found = status(cli, "r")["gpus"]
    assert isinstance(found, list)
    assert [(gpu["index"], gpu["name"], gpu["used_mib"], gpu["total_mib"]) for gpu in found] == [
        (0, "A", None, 1024),
        (2, "B", 1024, None),
    ]
    assert "— 1.0 GiB" in cli("status", "r").stdout


def test_live_is_told_from_gone_and_from_unknown(state: Path, cli: Cli) -> None:
    folder = make_run(state / "runs", "r")
    write_record(folder, [Tick(t=1.0)])
    unwatched = status(cli, "r")
    assert unwatched["live"] is None
    assert isinstance(unwatched["age_s"], float)
    assert "nothing records this run" in cli("status", "r").stdout
    lock = hold(folder.recorder_lock)
    assert lock is not None
    assert status(cli, "r")["live"] is True
    os.close(lock)
    write_record(folder, [Tick(t=1.0), Exit(t=2.0, code=None, signal=9)])
    gone = status(cli, "r")
    assert gone["live"] is False
    assert gone["age_s"] is None
    assert gone["exit"] == {"code": None, "signal": 9, "reason": None}
    assert "signal 9" in cli("status", "r").stdout


@pytest.mark.parametrize(
    "content", [b"", b"{", b'{"t": 1.0, "tick": true}\n{"t": 2.0, "ti', b"\xff\x00\n\n[]\n"]
)
def test_any_record_gives_a_reading(state: Path, cli: Cli, content: bytes) -> None:
    folder = make_run(state / "runs", "r")
    folder.record.write_bytes(content)
    assert status(cli, "r")["phase"] == "starting"


def test_no_such_run(cli: Cli) -> None:
    answer = cli("status", "nothing", "--json")
    assert answer.returncode == ExitCode.NO_SUCH_RUN
    assert answer.stdout == ""
    assert answer.stderr.splitlines()[0].startswith("error: ")


def test_a_failure_is_dated_by_itself_and_a_foreign_log_by_nothing(state: Path, cli: Cli) -> None:
    """ "failed for 5:11" stood at the very second of the death: that was since its last step began."""
    said = b"(EngineCore pid=2) ERROR 12-01 10:00:00 [core.py:9] EngineCore failed to start.\n"
    begun = (
        b"(APIServer pid=1) INFO 12-01 03:25:00 [startup.py:40] vLLM server version 0.32.0, serving model m\n"
    )
    for run_id, foreign in (("ours", False), ("theirs", True)):
        folder = make_run(state / "runs", run_id, facts=RunFacts(foreign=foreign))
        folder.server_log.write_bytes(begun + said)
        logs = [Log(t=1.0, offset=0, data=begun), Log(t=300.0, offset=len(begun), data=said)]
        if foreign:
            logs = logs[:1]
        write_record(folder, [Clock(t=0.0, wall=1e9), *logs, Tick(t=310.0)])
        lock = hold(folder.recorder_lock)
        assert lock is not None
        told = cli("status", run_id).stdout
        os.close(lock)
        assert ("starting, watched for 5:10" if foreign else "failed for 0:10, started 5:10 ago") in told
