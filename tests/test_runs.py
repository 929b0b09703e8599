"""Which run is meant, the list, and what prune may remove."""

import json
import os
import time
from pathlib import Path

import pytest

from collectors.errors import ExitCode, SpecwatchError
from collectors.reading.events import Exit, Log, RunFacts, Tick
from collectors.record import runs
from collectors.record.folder import RunFolder, hold
from tests.conftest import Cli
from tests.run_folders import make_run, write_record

HERE = os.uname().nodename


def run_of(state: Path, run_id: str, name: str = "", host: str = HERE, age: float = 0.0) -> RunFolder:
    created = time.time() - age
    return make_run(state / "runs", run_id, facts=RunFacts(name=name), host=host, created=created)


def ended(folder: RunFolder) -> RunFolder:
    write_record(folder, [Tick(t=1.0), Exit(t=2.0, code=0)])
    return folder


def test_no_run_at_all(state: Path) -> None:
    with pytest.raises(SpecwatchError) as caught:
        runs.find(state, None)
    assert caught.value.code == ExitCode.NO_SUCH_RUN


def test_nothing_means_the_newest_on_this_host(state: Path) -> None:
    run_of(state, "a", age=20)
    run_of(state, "b", age=10)
    run_of(state, "c", host="elsewhere")
    assert runs.find(state, None).id == "b"
    assert [folder.id for folder in runs.every(state)] == ["c", "b", "a"]


def test_only_runs_of_other_hosts(state: Path) -> None:
    run_of(state, "c", host="elsewhere")
    with pytest.raises(SpecwatchError, match="on this host") as caught:
        runs.find(state, None)
    assert caught.value.code == ExitCode.NO_SUCH_RUN
    assert "c" in caught.value.hint


def test_id_before_name_before_prefix(state: Path) -> None:
    run_of(state, "20261201-aa", name="base", age=30)
    run_of(state, "20261201-ab", name="base", age=20)
    run_of(state, "base", age=10)
    run_of(state, "basement", name="20261201", age=5)
    assert runs.find(state, "base").id == "base"
    assert runs.find(state, "20261201-ab").id == "20261201-ab"
    assert runs.find(state, "20261201").id == "basement"
    assert runs.find(state, "basem").id == "basement"


def test_a_name_means_its_newest_run(state: Path) -> None:
    run_of(state, "x1", name="base", age=30)
    run_of(state, "x2", name="base", age=20)
    assert runs.find(state, "base").id == "x2"


def test_a_prefix_of_several_lists_them(state: Path) -> None:
    for run_id in ("x1", "x2", "y1"):
        run_of(state, run_id)
    assert runs.find(state, "y").id == "y1"
    with pytest.raises(SpecwatchError, match=r"x1.*|x2.*") as caught:
        runs.find(state, "x")
    assert caught.value.code == ExitCode.USAGE
    assert "x1" in caught.value.message
    assert "x2" in caught.value.message


def test_a_wrong_name_gets_the_nearest(state: Path) -> None:
    run_of(state, "1", name="kimi-eagle3")
    with pytest.raises(SpecwatchError) as caught:
        runs.find(state, "kimi-eagel3")
    assert caught.value.code == ExitCode.NO_SUCH_RUN
    assert "kimi-eagle3" in caught.value.hint


@pytest.mark.parametrize("spec", ["..", "../runs", ".", "/etc", "x/y", "x\0y"])
def test_a_path_is_no_run(state: Path, spec: str) -> None:
    run_of(state, "x")
    with pytest.raises(SpecwatchError) as caught:
        runs.find(state, spec)
    assert caught.value.code == ExitCode.NO_SUCH_RUN


def test_damaged_folders_are_passed_over_and_counted(state: Path) -> None:
    run_of(state, "good")
    (state / "runs/empty").mkdir()
    torn = run_of(state, "torn")
    torn.run_json.write_bytes(torn.run_json.read_bytes()[:40])
    newer = run_of(state, "newer")
    newer.run_json.write_text('{"v": 99}')
    (state / "runs/link").symlink_to(state / "runs/good")
    (state / "runs/file").write_text("")
    found = runs.scan(state)
    assert [folder.id for folder, _ in found.runs] == ["good"]
    assert [path.name for path in found.damaged] == ["empty", "newer", "torn"]
    with pytest.raises(SpecwatchError, match="3 unreadable"):
        runs.find(state, "nothing")
    with pytest.raises(SpecwatchError, match="damaged"):
        runs.find(state, "torn")
    with pytest.raises(SpecwatchError, match="newer specwatch"):
        runs.find(state, "newer")


def test_the_list(state: Path, cli: Cli) -> None:
    ended(run_of(state, "over", name="base", age=5))
    living = run_of(state, "living", age=50)
    lock = hold(living.recorder_lock)
    listed = json.loads(cli("runs", "--json").stdout)
    assert [(run["id"], run["live"]) for run in listed] == [("living", True), ("over", False)]
    table = cli("runs").stdout.splitlines()
    assert table[0].split() == ["ID", "NAME", "HOST", "PHASE", "PORT", "GPUS", "AGE", "SIZE"]
    assert len(table) == 3
    assert lock is not None
    os.close(lock)


def test_an_empty_list(cli: Cli) -> None:
    answer = cli("runs")
    assert (answer.returncode, answer.stdout) == (0, "")
    assert "no runs" in answer.stderr
    assert json.loads(cli("runs", "--json").stdout) == []


def test_prune_asks_first(state: Path, cli: Cli) -> None:
    folder = ended(run_of(state, "over"))
    answer = cli("runs", "--prune")
    assert answer.returncode == ExitCode.USAGE
    assert "--yes" in answer.stderr
    assert folder.path.exists()


def test_prune_removes_what_is_over_and_nothing_else(state: Path, cli: Cli) -> None:
    over, young = ended(run_of(state, "over", age=900)), ended(run_of(state, "young"))
    kept = run_of(state, "living", age=900)
    lock = hold(kept.keeper_lock)
    elsewhere = run_of(state, "elsewhere", host="another", age=900)
    damaged = state / "runs/damaged"
    damaged.mkdir()
    os.utime(damaged, (time.time() - 900,) * 2)
    outside = state / "outside"
    outside.mkdir()
    (outside / "file").write_text("precious")
    (over.path / "link").symlink_to(outside)
    (state / "runs/linked").symlink_to(outside)
    answer = cli("runs", "--prune", "--older-than", "10m", "--yes")
    assert answer.returncode == 0
    assert sorted(answer.stdout.split()) == ["damaged", "over"]
    assert not over.path.exists()
    assert not damaged.exists()
    assert young.path.exists()
    assert kept.path.exists()
    assert elsewhere.path.exists()
    assert (outside / "file").read_text() == "precious"
    assert lock is not None
    os.close(lock)


def test_a_run_that_is_just_being_made_is_not_damaged(state: Path, cli: Cli) -> None:
    (state / "runs/newborn").mkdir(parents=True)
    cli("runs", "--prune", "--yes")
    assert (state / "runs/newborn").exists()


@pytest.mark.parametrize("age", ["", "7", "d", "x7d", "7x", "-7d", "nand", "1e3d"])
@pytest.mark.parametrize("prune", [("--prune",), ()], ids=["prune", "list"])
def test_a_wrong_age(cli: Cli, prune: tuple[str, ...], age: str) -> None:
    answer = cli("runs", *prune, "--older-than", age)
    assert answer.returncode == ExitCode.USAGE
    assert answer.stderr.startswith(f"error: `{age}` is no age")


@pytest.mark.parametrize("args", [("--older-than", "7d"), ("--yes",)])
def test_how_to_prune_without_prune(cli: Cli, args: tuple[str, ...]) -> None:
    answer = cli("runs", *args)
    assert answer.returncode == ExitCode.USAGE
    assert "hint: add --prune" in answer.stderr


@pytest.mark.parametrize("command", ["replay", "status", "logs", "stop"])
def test_a_saved_log_is_no_run(command: str, cli: Cli, state: Path, tmp_path: Path) -> None:
    log = tmp_path / "vllm serve.log"
    log.write_text("")
    answer = cli(command, str(log))
    assert answer.returncode == ExitCode.NO_SUCH_RUN
    assert f"`specwatch explain '{log}'` reads it" in answer.stderr


def test_one_hidden_line_is_one(state: Path, cli: Cli) -> None:
    folder = run_of(state, "r")
    folder.server_log.write_bytes(b'INFO:     127.0.0.1:41352 - "GET /health HTTP/1.1" 200 OK\n')
    write_record(folder, [Log(t=1.0, offset=0, data=folder.server_log.read_bytes())])
    assert cli("logs", "r").stderr == "1 line hidden as noise; --all shows it\n"


def test_stop_without_run_means_the_server_that_runs(state: Path, cli: Cli) -> None:
    """One that has just failed is not meant, though its keeper still closes its books."""
    namespace = os.readlink("/proc/self/ns/pid")
    locks = []
    for run_id in ("failed", "running"):
        folder = make_run(state / "runs", run_id, host=HERE, pid_namespace=namespace)
        locks.append(hold(folder.keeper_lock))
    (state / "runs/failed/exit.json").write_text('{"code": 1}')
    assert cli("stop").stdout.startswith("running ended before")
    (state / "runs/running/exit.json").write_text('{"code": 0}')
    answer = cli("stop")
    assert answer.returncode == ExitCode.NO_SUCH_RUN
    assert answer.stderr.startswith("error: no server of ours lives on this host")
    for run_id in ("one", "two"):
        folder = make_run(state / "runs", run_id, host=HERE, pid_namespace=namespace)
        locks.append(hold(folder.keeper_lock))
    answer = cli("stop")
    assert answer.returncode == ExitCode.USAGE
    assert "2 runs live on this host: " in answer.stderr
    for lock in locks:
        assert lock is not None
        os.close(lock)
