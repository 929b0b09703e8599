"""Drafters of known worth on a real server: they rank as they were made, and the broken one is called sick."""

import json
import struct
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from collectors.reading.verdict import Verdict, verdict
from launch.compare.sides import load
from launch.demo.engines import Engine
from launch.demo.models import MAKER, Pair
from tests.engine.driver import Server

HITS = (0.2, 0.5, 0.9)
BROKEN = (
    "midlayer.self_attn.v_proj.weight"  # vLLM does not miss it: the drafter then never sees its own input
)


@pytest.fixture(scope="module")
def pairs(engine: Engine, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Pair]:
    """The same target each time; the drafters differ in the share of tokens whose successor they know."""
    made = {}
    for hit in HITS:
        out = tmp_path_factory.mktemp(f"hit{hit}")
        subprocess.run([engine.python, MAKER, out, "--hit", str(hit)], check=True, capture_output=True)
        made[str(hit)] = Pair(out / "target", out / "drafter")
    whole = made[str(HITS[-1])]
    sick = tmp_path_factory.mktemp("broken") / "drafter"
    sick.mkdir()
    (sick / "config.json").write_bytes((whole.drafter / "config.json").read_bytes())
    without(whole.drafter / "model.safetensors", BROKEN, sick / "model.safetensors")
    made["broken"] = Pair(whole.target, sick)
    return made


def without(source: Path, name: str, out: Path) -> None:
    """A safetensors file less one tensor."""
    raw = source.read_bytes()
    (length,) = struct.unpack("<Q", raw[:8])
    header, data = json.loads(raw[8 : 8 + length]), raw[8 + length :]
    del header[name]
    kept, at = b"", 0
    for tensor, entry in header.items():
        if tensor != "__metadata__":
            begin, end = entry["data_offsets"]
            kept, entry["data_offsets"] = kept + data[begin:end], [at, at + end - begin]
            at += end - begin
    head = json.dumps(header).encode()
    out.write_bytes(struct.pack("<Q", len(head)) + head + kept)


@pytest.fixture
def servers(engine: Engine, pairs: dict[str, Pair], tmp_path: Path) -> Iterator[dict[str, Server]]:
    made = {name: Server(tmp_path / name, engine, pair) for name, pair in pairs.items()}
    yield made
    for server in made.values():
        server.clear()


def measure(server: Server, *, checked: bool = True) -> tuple[float, float, Verdict]:
    """Acceptance rate and share at position 0 by the server's counters, and the verdict without a baseline."""
    words = server.words(
        "launch", "--detach", *([] if checked else ["--no-doctor"]), "--", *server.argv(speculate=True)
    )
    done = subprocess.run(
        words, env=server.environment(), stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    server.id = done.stdout.split()[0]
    assert server.wait().returncode == 0
    bench = server.specwatch("bench", server.id, "--concurrency", "8", "--requests", "16", "--json")
    assert bench.returncode == 0, bench.stderr
    [level] = load(server.state, server.id).levels
    server.specwatch("stop", server.id)
    assert level.rate is not None
    return level.rate, level.per_position[0], verdict(level)


def test_drafters_rank_as_they_were_made_and_the_broken_one_is_sick(servers: dict[str, Server]) -> None:
    found = {str(hit): measure(servers[str(hit)]) for hit in HITS}
    rates = [found[str(hit)][0] for hit in HITS]
    assert rates == sorted(rates)
    assert rates[0] < 0.45 < rates[2]
    assert found["0.9"][2].id == "by-acceptance"
    refused = servers["broken"].specwatch("launch", "--detach", "--", *servers["broken"].argv(speculate=True))
    assert refused.returncode == 2
    assert f"missing: {BROKEN}" in refused.stderr
    rate, first, said = measure(servers["broken"], checked=False)
    assert rate < 0.1
    assert (said.id, said.tone) == ("sick-at-0", "bad"), (first, said)
