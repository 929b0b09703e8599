"""Sick pairs on a real server: what doctor calls an error is one, and what this vLLM serves well is none.

One fault each, made from the tiny pair. Its drafter hardly looks at the hidden states, so faults that only spoil
those are proven by their deaths.
"""

import array
import json
import random
import urllib.error
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from collectors.checks.checkpoint import load
from collectors.checks.doctor import examine
from collectors.checks.pair import Options
from collectors.checks.pair import Pair as Checked
from collectors.checks.safetensors import read_data, read_header
from launch.demo.engines import Engine
from launch.demo.models import Pair
from launch.plan import version_tuple
from tests.engine.driver import Server
from tests.engine.test_serving import complete
from tests.makers.pairs import Made, flags, i64, write_safetensors

VOCAB, DRAFT_VOCAB, HIDDEN = 2048, 1024, 256  # of launch/demo/engine/make_tiny.py
HEALTHY = 0.6  # of the drafted tokens that the whole drafter gets accepted here: 378 of 576


class Sick(NamedTuple):
    name: str
    findings: tuple[str, ...]  # what doctor names: "id:severity"
    spoil: Callable[[Made], object]
    words: str = ""  # of the first cause; "": it serves
    rate: tuple[float, float] = (0.0, 0.0)  # accepted of drafted tokens, from … to
    at_start: bool = True  # it dies before it is ready; else at the first request


def _tensor(name: str, value: tuple[str, tuple[int, ...], bytes]) -> Callable[[Made], object]:
    return lambda made: made.tensors.update({name: value})


def _config(**values: object) -> Callable[[Made], object]:
    return lambda made: made.drafter_config.update(values)


def noise(*shape: int) -> tuple[str, tuple[int, ...], bytes]:
    """bfloat16 is the upper half of a float32."""
    chance, count = random.Random(7), 1
    for n in shape:
        count *= n
    wide = array.array("f", (chance.gauss(0, 0.06) for _ in range(count))).tobytes()
    narrow = bytearray(2 * count)
    narrow[0::2], narrow[1::2] = wide[2::4], wide[3::4]
    return "BF16", shape, bytes(narrow)


def _even_ids(made: Made) -> None:
    """A draft vocabulary of the even ids, its head's rows likewise; but the map was never filled in."""
    dtype, (rows, width), raw = made.tensors["lm_head.weight"]
    row = 2 * width
    head = [raw[2 * i * row : (2 * i + 1) * row].ljust(row, b"\0") for i in range(rows)]
    made.tensors["lm_head.weight"] = dtype, (rows, width), b"".join(head)
    made.tensors["t2d"] = flags({2 * i for i in range(rows)}, VOCAB)
    made.tensors["d2t"] = i64([0] * rows)


def _beyond(made: Made) -> None:
    made.drafter_config["eagle_aux_hidden_state_layer_ids"] = [1, 8, 40]


def _prefixed(made: Made) -> None:
    for name in list(made.tensors):
        made.tensors[f"model.{name}"] = made.tensors.pop(name)


def _curable(made: Made) -> None:
    """No map and no head where the first ids are drafted, a vocab_size that no tensor shares, a plain name."""
    del made.tensors["d2t"], made.tensors["lm_head.weight"]
    made.drafter_config.update(vocab_size=VOCAB - 64, architectures=["LlamaForCausalLM"])


SICK = (
    Sick("architecture", ("arch-known:error",), _config(architectures=["FrobnicatorEagle3"]),
         "are not supported for now"),
    Sick("hidden size", ("hidden:error",), _config(target_hidden_size=2 * HIDDEN),
         "Tried to load weights of size torch.Size([256, 768])"),
    Sick("prefixed names", ("names:error",), _prefixed, "There is no module or parameter named"),
    Sick("layer beyond the target", ("aux-range:error",), _beyond,
         "shape '[-1, 768]' is invalid", at_start=False),
    Sick("map past the vocabulary", ("d2t:error",), _tensor("d2t", i64([VOCAB] * DRAFT_VOCAB)),
         "index 2048 is out of bounds", at_start=False),
    Sick("absolute map", ("d2t:error",), _tensor("d2t", i64(list(range(DRAFT_VOCAB)))), rate=(0.0, 0.02)),
    Sick("empty map", ("vocab-zero:error",), _even_ids, rate=(0.0, 0.02)),
    Sick("random embedding", ("embed:warning",), _tensor("embed_tokens.weight", noise(VOCAB, HIDDEN)),
         rate=(0.0, 0.02)),
    Sick("short context", ("ctx:error",), _config(max_position_embeddings=64), rate=(0.05, 0.45)),
    # Not sick after all, and doctor knows.
    Sick("map and head of the first ids", ("vocab:warning", "lm-head:info"), _curable, rate=(HEALTHY, 1.0)),
)  # fmt: skip


@pytest.fixture
def spoilt(pair: Pair, tmp_path: Path, request: pytest.FixtureRequest) -> Made:
    drafter = tmp_path / "eagle3-drafter"
    drafter.mkdir()
    header = read_header(pair.drafter / "model.safetensors")
    made = Made(
        pair.target,
        drafter,
        {},
        json.loads((pair.drafter / "config.json").read_text()),
        {name: (t.dtype, t.shape, read_data(pair.drafter, t)) for name, t in header.items()},
    )
    request.param.spoil(made)
    (drafter / "config.json").write_text(json.dumps(made.drafter_config))
    write_safetensors(drafter / "model.safetensors", made.tensors)
    return made


@pytest.fixture
def server(engine: Engine, spoilt: Made, tmp_path: Path) -> Iterator[Server]:
    under_test = Server(tmp_path / "state", engine, Pair(spoilt.target, spoilt.drafter))
    yield under_test
    under_test.clear()
    assert not under_test.processes()


@pytest.mark.parametrize(
    ("sick", "spoilt"), [pytest.param(sick, sick, id=sick.name) for sick in SICK], indirect=["spoilt"]
)
def test_doctor_names_what_the_server_then_shows(sick: Sick, spoilt: Made, server: Server) -> None:
    options = Options(
        version=version_tuple(server.engine.version) or (), runner="v1", k=3, max_model_len=2048
    )
    said = examine(Checked(load(str(spoilt.target)), load(str(spoilt.drafter)), options))
    assert tuple(f"{f.id}:{f.severity}" for f in said.findings) == sick.findings
    assert server.launch("sick", server.argv(speculate=True), "--no-doctor").returncode == 0
    assert server.wait().returncode == (1 if sick.words and sick.at_start else 0)
    if not sick.words:
        rate = accepted(server)
        assert sick.rate[0] <= rate <= sick.rate[1]
        return
    if not sick.at_start:
        with pytest.raises((urllib.error.URLError, ConnectionError)):
            complete(server, "def f(self):", 96)
    gone = server.until("its end", lambda now: now["exit"], 60)
    assert gone["phase"] == "failed"
    assert sick.words in gone["root_cause"]["line"]


def accepted(server: Server) -> float:
    for i in range(6):
        complete(server, f"def f{i}(self):", 96)
    counted = server.counters()
    drafted = counted["vllm:spec_decode_num_draft_tokens_total"]
    assert drafted > 400
    return counted["vllm:spec_decode_num_accepted_tokens_total"] / drafted
