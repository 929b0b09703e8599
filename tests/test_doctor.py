"""doctor names each fault of a sick pair, and nothing else, and is silent on the healthy one."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from collectors.checks.checkpoint import load
from collectors.checks.conventions import NEWEST, capture, parse_version
from collectors.checks.doctor import CHECKS, examine
from collectors.checks.findings import Diagnosis
from collectors.checks.pair import Options, Pair
from tests.makers.pairs import HIDDEN, SICK, Made, Sick, f32, flags, healthy, i64, make


def diagnose(made: Made, **options: object) -> Diagnosis:
    settings = Options(**{"version": NEWEST["vllm"], **options})  # type: ignore[arg-type]
    return examine(Pair(load(str(made.target)), load(str(made.drafter)), settings))


def test_a_healthy_pair_is_silent_and_lists_what_was_checked(tmp_path: Path) -> None:
    diagnosis = diagnose(healthy(tmp_path))
    assert diagnosis.findings == ()
    assert {"files", "d2t", "shapes", "hidden", "names", "tp", "ctx"} <= set(diagnosis.passed)
    assert diagnosis.captures == "this engine will capture layers (2, 6, 9) (ids (2, 6, 9) from top level)"


@pytest.mark.parametrize("sick", SICK, ids=lambda s: s.name)
def test_each_fault_is_named_and_nothing_else(tmp_path: Path, sick: Sick) -> None:
    diagnosis = diagnose(make(tmp_path, sick), **sick.options)
    assert [(f.id, f.severity) for f in diagnosis.findings] == [(sick.finding, sick.severity)]
    found = diagnosis.findings[0]
    assert found.found
    assert found.expected
    assert found.why
    assert found.fix


def test_the_sick_ones_cover_the_table() -> None:
    assert {c.id for c in CHECKS} - {s.finding for s in SICK} == {"mm-target", "embed-dim"}  # tested below


def test_a_multimodal_kimi_target_on_016_needs_the_patch(tmp_path: Path) -> None:
    made = healthy(tmp_path)
    text = {**made.target_config, "model_type": "kimi_k2"}
    made.target_config.clear()
    made.target_config.update(model_type="kimi_k25", text_config=text)
    made.save()
    found = {f.id: f for f in diagnose(made, version=(0, 16, 0), runner="v1").findings}
    assert set(found) == {"target-supported", "mm-target"}
    assert all("--patch eagle3" in f.fix for f in found.values())
    assert diagnose(made, version=(0, 16, 0), runner="v1", patches=("eagle3",)).findings == ()
    assert diagnose(made, version=(0, 18, 0), runner="v1").findings == ()


def test_a_shared_embedding_needs_the_targets_width(tmp_path: Path) -> None:
    made = healthy(tmp_path)
    made.drafter_config["hidden_size"] = 64
    made.tensors["fc.weight"] = f32(64, 3 * HIDDEN)
    made.save()
    assert "embed-dim" in {f.id for f in diagnose(made).findings}


@pytest.mark.parametrize(
    ("name", "version", "known"),
    [
        ("LlamaForCausalLM", (0, 16, 0), True),  # yuhuili/EAGLE3-LLaMA3.1-Instruct-8B
        ("Qwen3ForCausalLM", (0, 16, 0), False),
        ("Qwen3ForCausalLM", (0, 32, 0), True),
        ("DeepseekV3ForCausalLM", (0, 17, 1), False),
        ("DeepseekV3ForCausalLM", (0, 18, 0), True),
        ("MambaForCausalLM", (0, 32, 0), False),
        ("", (0, 32, 0), False),
    ],
)
def test_a_plain_architecture_is_known_by_what_vllm_makes_of_it(
    tmp_path: Path, name: str, version: tuple[int, ...], known: bool
) -> None:
    made = healthy(tmp_path)
    made.drafter_config["architectures"] = [name]
    made.save()
    assert ("arch-known" in diagnose(made, version=version, runner="v1").passed) == known


def test_what_could_not_be_checked_is_said(tmp_path: Path) -> None:
    made = healthy(tmp_path)
    (made.drafter / "model.safetensors").rename(made.drafter / "pytorch_model.bin")
    said = diagnose(made)
    assert [(f.id, f.severity) for f in said.findings] == [("files", "info")]
    assert not {"names", "shapes", "d2t", "lm-head"} & set(said.passed)


def test_the_mask_of_a_parallel_drafter_is_known(tmp_path: Path) -> None:
    made = healthy(tmp_path)
    made.drafter_config["architectures"] = ["PeagleLlamaForCausalLM"]
    made.tensors["mask_hidden"] = f32(1, HIDDEN)
    made.save()
    assert diagnose(made).findings == ()


def test_no_d2t_is_right_where_t2d_marks_the_first_ids(tmp_path: Path) -> None:
    """As all zeros are: vLLM 0.32 serves both at full acceptance (tests/engine/test_sick_pairs.py)."""
    made = healthy(tmp_path)
    made.tensors.update(t2d=flags(set(range(48)), 96), d2t=i64([0] * 48))
    made.save()
    assert diagnose(made).findings == ()
    del made.tensors["d2t"]
    made.save()
    assert diagnose(made).findings == ()
    del made.tensors["lm_head.weight"]
    made.save()
    assert [(f.id, f.severity) for f in diagnose(made).findings] == [("lm-head", "info")]


@pytest.mark.parametrize(
    ("engine", "version", "runner", "ids", "nested", "model_type", "captured"),
    [
        ("vllm", "0.16.0", "v1", (2, 30, 58), True, "deepseek_v3", (2, 30, 58)),
        ("vllm", "0.16.0", "v1", (3, 31, 59), True, "deepseek_v3", (2, 30, 58)),
        ("vllm", "0.16.0", "v1", (3, 31, 59), False, "deepseek_v3", (3, 31, 59)),
        ("vllm", "0.24.0", "v1", (1, 29, 57), True, "deepseek_v3", (1, 29, 57)),
        ("vllm", "0.33.0", "v2", (1, 29, 57), True, "deepseek_v3", (2, 30, 58)),
        ("vllm", "0.11.0", "v1", (3, 31, 59), False, "llama", (2, 30, 58)),
        ("sglang", "0.5.9", "v1", (2, 30, 58), True, "kimi_k2", (3, 31, 59)),
        ("sglang", "0.5.15", "v1", (2, 30, 58), True, "kimi_k2", (2, 30, 58)),
        ("sglang", "0.5.15", "v1", (1, 29, 57), True, "kimi_k2", (2, 30, 58)),
        ("sglang", "0.5.23", "v1", (2, 30, 58), True, "llama", (3, 31, 59)),
    ],
)
def test_what_each_engine_captures(
    tmp_path: Path,
    engine: str,
    version: str,
    runner: str,
    ids: tuple[int, ...],
    nested: bool,
    model_type: str,
    captured: object,
) -> None:
    made = healthy(tmp_path)
    made.target_config.update(num_hidden_layers=61, model_type=model_type)
    del made.drafter_config["eagle_aux_hidden_state_layer_ids"]
    home = made.drafter_config["eagle_config"] if nested else made.drafter_config
    home["eagle_aux_hidden_state_layer_ids"] = list(ids)
    made.save()
    settings = Options(engine=engine, version=parse_version(version), runner=runner)
    taken = capture(Pair(load(str(made.target)), load(str(made.drafter)), settings))
    assert taken is not None
    assert taken.ids == captured


@pytest.mark.parametrize(
    ("version", "ids", "nested", "stated", "inputs", "found"),
    [
        ((0, 32, 0), [2, 8], False, None, 2, "n-aux"),  # seen: built for 3, refused at load
        ((0, 32, 0), [2, 8], True, None, 2, None),  # seen: served
        ((0, 32, 0), [2, 8], False, 2, 2, None),
        ((0, 32, 0), [2, 8], False, None, 3, "n-aux"),  # seen: dies at the first request
        ((0, 16, 0), [2, 8], False, 2, 2, "n-aux"),
        ((0, 32, 0), [2, 5, 7, 9], True, None, 4, None),
    ],
)
def test_fc_the_ids_and_what_is_built_are_one_number(
    tmp_path: Path, version: tuple[int, ...], ids: list[int], nested: bool, stated: int | None, inputs: int,
    found: str | None,
) -> None:  # fmt: skip
    made = healthy(tmp_path)
    del made.drafter_config["eagle_aux_hidden_state_layer_ids"]
    home = made.drafter_config["eagle_config"] if nested else made.drafter_config
    home["eagle_aux_hidden_state_layer_ids"] = ids
    if stated:
        made.drafter_config["num_aux_hidden_states"] = stated
    made.tensors["fc.weight"] = f32(HIDDEN, inputs * HIDDEN)
    made.save()
    said = diagnose(made, version=version, runner="v1").findings
    assert [(f.id, f.severity) for f in said] == ([(found, "error")] if found else [])


def test_a_default_that_names_a_layer_twice_is_an_error_on_016(tmp_path: Path) -> None:
    """Seen on a real 0.16: a 4-layer target, nested ids: two states captured, dead at the first request."""
    made = healthy(tmp_path)
    made.target_config["num_hidden_layers"] = 4
    del made.drafter_config["eagle_aux_hidden_state_layer_ids"]
    made.drafter_config["eagle_config"]["eagle_aux_hidden_state_layer_ids"] = [1, 2, 3]
    made.save()
    (found,) = diagnose(made, version=(0, 16, 0), runner="v1").findings
    assert (found.id, found.severity) == ("aux-place", "error")
    assert "(2, 2, 1)" in found.expected


def run(*args: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-m", "launch", "doctor", *args], capture_output=True, text=True, timeout=60
    )


def test_the_command(tmp_path: Path) -> None:
    made = healthy(tmp_path)
    good = run(str(made.target), str(made.drafter))
    assert (good.returncode, good.stderr) == (0, "")
    assert "no errors" in good.stdout
    sick = make(tmp_path / "sick", SICK[0])
    bad = run(str(sick.target), str(sick.drafter), "--json")
    assert bad.returncode == 1
    said = json.loads(bad.stdout)
    assert said["v"] == 1
    assert [f["id"] for f in said["findings"]] == ["names"]
    assert set(said["findings"][0]) == {"id", "severity", "found", "expected", "why", "fix"}
