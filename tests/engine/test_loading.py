"""Real servers while they load: recorder and keeper killed, starts that fail and say why."""

import time
from pathlib import Path

from tests.engine.driver import Server, ended


def in_the_shards(server: Server) -> None:
    """Until the target's bar is somewhere in its 32 shards."""
    server.until(
        "shards",
        lambda now: now["progress"] and now["progress"]["total"] == 32 and 3 <= now["progress"]["done"] <= 20,
    )


def test_the_recorder_is_killed_while_it_loads(server: Server) -> None:
    """The keeper brings it back, and the record goes on where it was: not a byte of the log is missing."""
    assert server.launch("recorder", server.argv(speculate=True), slow=True).returncode == 0
    in_the_shards(server)
    first = server.kill("recorder")
    server.until("another recorder", lambda _: server.folder.recorder_lives(), 30)
    assert server.pid("recorder") != first
    assert server.wait().returncode == 0
    now = server.status()
    assert now["ready"]
    assert now["live"]
    steps = {step.name for step in server.reading().log.steps}
    assert {"weights", "drafter"} <= steps
    stopped = server.specwatch("stop", server.id)
    assert stopped.returncode == 0, stopped.stderr
    now = server.until("the end", lambda now: now["live"] is False, 60)
    assert (now["phase"], now["exit"]["code"]) == ("stopped", 0)
    ended(server)


def test_the_keeper_is_killed_while_it_loads(server: Server) -> None:
    """The server lives and is recorded to its end; only its exit code is lost, and that is said."""
    assert server.launch("keeper", server.argv(), slow=True).returncode == 0
    in_the_shards(server)
    recorder = server.pid("recorder")
    server.kill("keeper")
    time.sleep(1.0)
    assert not server.folder.keeper_lives()
    assert server.wait().returncode == 0
    assert server.pid("recorder") == recorder
    stopped = server.specwatch("stop", server.id)
    assert stopped.returncode == 0, stopped.stderr
    assert not server.processes()
    state = ended(server)
    assert state.life.exit is not None
    assert state.life.exit.code is None
    assert "keeper" in state.life.exit.reason
    now = server.status()
    assert now["phase"] == "stopped"
    assert now["exit"]["code"] is None
    assert "keeper" in now["exit"]["reason"]


def truncated(server: Server, out: Path) -> Path:
    """The target, its shard 7 cut after 40 %."""
    out.mkdir()
    for file in server.pair.target.iterdir():
        (out / file.name).symlink_to(file)
    shard = out / sorted(server.pair.target.glob("*.safetensors"))[6].name
    whole = shard.read_bytes()
    shard.unlink()
    shard.write_bytes(whole[: len(whole) * 4 // 10])
    return out


def test_a_broken_shard_is_named(server: Server, tmp_path: Path) -> None:
    """Preflight sees it in the headers and starts nothing; forced past that, vLLM dies of it and says so."""
    target = truncated(server, tmp_path / "target")
    refused = server.launch("truncated", server.argv(target=target))
    assert refused.returncode == 2
    assert "model-00007-of-00032.safetensors" in refused.stderr
    assert not refused.stdout
    assert server.launch("truncated", server.argv(target=target), "--force").returncode == 0
    waited = server.wait()
    assert waited.returncode == 1
    now = server.until("its end", lambda now: now["exit"], 60)
    assert (now["phase"], now["ready"], now["exit"]["code"]) == ("failed", False, 1)
    assert "incomplete metadata, file not fully covered" in now["root_cause"]["line"]
    assert now["root_cause"]["line"] in waited.stderr
    assert "model-00007-of-00032.safetensors" in now["root_cause"]["hint"]
    ended(server)


def test_a_cache_that_is_too_small_is_named(server: Server) -> None:
    argv = server.argv()
    argv[argv.index("--kv-cache-memory-bytes") + 1] = str(1 << 20)
    assert server.launch("small", argv).returncode == 0
    waited = server.wait()
    assert waited.returncode == 1
    now = server.until("its end", lambda now: now["exit"], 60)
    assert (now["phase"], now["exit"]["code"]) == ("failed", 1)
    assert "No available memory for the cache blocks" in now["root_cause"]["line"]
    assert now["root_cause"]["summary"] in waited.stderr
    errors = server.specwatch("logs", server.id, "--errors")
    assert errors.returncode == 0
    assert "cache blocks" in errors.stdout
    ended(server)
