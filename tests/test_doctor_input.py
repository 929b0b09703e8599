"""doctor on anything that a folder may hold: one error, or a judgement; never a crash, a wait or a blow-up."""

import json
import os
import struct
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from collectors.checks.checkpoint import load
from collectors.errors import SpecwatchError
from launch.commands.doctor import render
from tests.makers.pairs import healthy, write_safetensors
from tests.test_doctor import diagnose, run

BAD = (
    "no config", "hub id", "comments", "loop", "folder loop", "file", "list", "version", "fifo", "zero", "deep",
    "bom", "latin", "folder as config", "too long",
)  # fmt: skip


@pytest.mark.parametrize("fault", BAD)
def test_bad_input_is_one_error_line(tmp_path: Path, fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    made = healthy(tmp_path)
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "nothing"))
    config, drafter, extra = made.drafter / "config.json", str(made.drafter), []
    match fault:
        case "no config":
            config.unlink()
        case "hub id":
            drafter = "lightseekorg/kimi-k2.5-eagle3"
        case "comments":
            config.write_text('{"hidden_size": 1, // one\n}')
        case "loop":
            config.unlink()
            config.symlink_to(config)
        case "file":
            drafter = str(config)
        case "list":
            config.write_text("[]")
        case "folder loop":
            drafter = str(tmp_path / "round")
            Path(drafter).symlink_to(drafter)
        case "fifo":
            config.unlink()
            os.mkfifo(config)
        case "zero":
            config.unlink()
            config.symlink_to("/dev/zero")
        case "deep":
            config.write_text('{"a": ' + "[" * 100_000 + "]" * 100_000 + "}")
        case "bom":
            config.write_text("\ufeff" + config.read_text())
        case "latin":
            config.write_bytes(b'{"a": "\xe9"}')
        case "folder as config":
            config.unlink()
            config.mkdir()
        case "too long":
            with config.open("r+b") as file:
                file.truncate(17_000_000)
        case "version":
            extra = ["--engine-version", "newest"]
    done = run(str(made.target), drafter, *extra)
    assert done.returncode == 2
    assert done.stdout == ""
    lines = done.stderr.splitlines()
    assert len(lines) == 2
    assert lines[0].startswith("error: ")
    assert lines[1].startswith("hint: ")


def test_what_the_engines_read_is_read(tmp_path: Path) -> None:
    """NaN and Infinity are no JSON, but Python's: state-space targets have `time_step_limit: [0.0, Infinity]`."""
    made = healthy(tmp_path)
    made.target_config["time_step_limit"] = [0.0, float("inf")]
    made.target_config["initializer_range"] = float("nan")
    made.save()
    assert diagnose(made).findings == ()


ODD: list[Any] = [
    None,
    True,
    -1,
    0,
    1e300,
    float("nan"),
    2**70,
    10**5000 - 1,
    "x",
    "",
    [],
    {},
    [None],
    [2**70, 1, 2],
    [[]],
    {"a": 1},
]


@pytest.mark.parametrize("which", ["target", "drafter"])
def test_any_value_of_any_key_is_judged_and_breaks_nothing(tmp_path: Path, which: str) -> None:
    made = healthy(tmp_path)
    config = made.target_config if which == "target" else made.drafter_config
    more = ("head_dim", "rope_scaling", "rope_parameters", "text_config", "transformer_layer_config", "dtype",
            "kv_lora_rank", "quantization_config", "attention_bias", "norm_before_fc", "_name_or_path")  # fmt: skip
    sys.set_int_max_str_digits(0)
    try:
        for key in (*config, *more):
            for value in ODD:
                saved = {**config, key: value}
                getattr(made, which).joinpath("config.json").write_text(json.dumps(saved))
                for options in (
                    {},
                    {"version": (0, 16, 0), "runner": "v1"},
                    {"engine": "sglang", "version": (0, 5, 23)},
                ):
                    render(diagnose(made, tp=2, k=3, **options))
    finally:
        sys.set_int_max_str_digits(4300)


@pytest.mark.parametrize("shape", [(), (0,), (2**40,), (1, 2, 3), (2**62, 2**62)])
@pytest.mark.parametrize("dtype", ["F32", "BOOL", "F4", "F8_E8M0", ""])
def test_any_shape_of_any_tensor_is_judged_and_breaks_nothing(
    tmp_path: Path, shape: tuple[int, ...], dtype: str
) -> None:
    made = healthy(tmp_path)
    for name in made.tensors:
        write_safetensors(made.drafter / "model.safetensors", {**made.tensors, name: (dtype, shape, b"")})
        found = {f.severity for f in diagnose(made).findings}
        assert found & ({"warning", "error"} if name == "t2d" else {"error"}), name


@pytest.mark.parametrize("fault", ["fifo", "loop", "folder", "empty", "header of nothing", "gap", "zero"])
def test_a_broken_weight_file_is_one_finding(tmp_path: Path, fault: str) -> None:
    made = healthy(tmp_path)
    shard = made.target / "model-00001-of-00002.safetensors"
    shard.unlink()
    match fault:
        case "fifo":
            os.mkfifo(shard)
        case "loop":
            shard.symlink_to(shard)
        case "folder":
            shard.mkdir()
        case "empty":
            shard.touch()
        case "header of nothing":
            shard.write_bytes(bytes(8))
        case "gap":
            entry = {"dtype": "F32", "shape": [1], "data_offsets": [4, 8]}
            raw = json.dumps({"model.norm.weight": entry}).encode()
            shard.write_bytes(struct.pack("<Q", len(raw)) + raw + bytes(8))
        case "zero":
            shard.symlink_to("/dev/zero")
    (found,) = diagnose(made).findings
    assert (found.id, found.severity) == ("files", "error")
    assert shard.name in found.found


def test_metadata_that_looks_like_a_tensor_is_none(tmp_path: Path) -> None:
    made = healthy(tmp_path)
    path = made.drafter / "model.safetensors"
    raw = path.read_bytes()
    (length,) = struct.unpack("<Q", raw[:8])
    for metadata in ({"format": "pt"}, {"dtype": "bf16", "shape": "[1]", "data_offsets": "none"}):
        head = json.dumps({"__metadata__": metadata, **json.loads(raw[8 : 8 + length])}).encode()
        path.write_bytes(struct.pack("<Q", len(head)) + head + raw[8 + length :])
        assert diagnose(made).findings == ()


def test_rows_of_any_length_are_not_read_whole(tmp_path: Path) -> None:
    """A sparse terabyte that calls itself an embedding costs a megabyte."""
    made = healthy(tmp_path)
    wide = 1 << 33
    for name, config, folder in (
        ("model.embed_tokens.weight", made.target_config, made.target),
        ("embed_tokens.weight", made.drafter_config, made.drafter),
    ):
        config["hidden_size"] = wide
        size = 96 * wide * 4
        raw = json.dumps({name: {"dtype": "F32", "shape": [96, wide], "data_offsets": [0, size]}}).encode()
        path = folder / "model.safetensors"
        path.write_bytes(struct.pack("<Q", len(raw)) + raw)
        with path.open("r+b") as file:
            file.truncate(8 + len(raw) + size)
    (made.target / "model.safetensors.index.json").unlink()
    for old in made.target.glob("model-*"):
        old.unlink()
    for folder, config in (
        (made.target, made.target_config),
        (made.drafter, {**made.drafter_config, "target_hidden_size": wide}),
    ):
        (folder / "config.json").write_text(json.dumps(config))
    assert "embed" in diagnose(made).passed


def test_a_hub_id_in_the_local_cache_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = healthy(tmp_path)
    snapshot = tmp_path / "hub/models--someone--drafter/snapshots/abc"
    snapshot.parent.mkdir(parents=True)
    made.drafter.rename(snapshot)
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "hub"))
    assert load("someone/drafter").path == snapshot
    with pytest.raises(SpecwatchError):
        load("someone/other")


def test_a_target_of_kimis_size_takes_under_a_second(tmp_path: Path) -> None:
    """64 shards, 547 GB and 211,000 tensors on paper: sparse files, whose headers are read and whose data is not."""
    made = healthy(tmp_path)
    for old in made.target.glob("*.safetensors*"):
        old.unlink()
    each = 3_300
    size = 8_547_000_000 // each
    weight_map: dict[str, str] = {}
    for shard in range(64):
        prefix = f"language_model.model.layers.{shard}.mlp.experts"
        names = [f"{prefix}.{i}.down_proj.weight_packed" for i in range(each)]
        header = {
            n: {"dtype": "U8", "shape": [size], "data_offsets": [i * size, (i + 1) * size]}
            for i, n in enumerate(names)
        }
        raw = json.dumps({"__metadata__": {"format": "pt"}, **header}).encode()
        path = made.target / f"model-{shard:05d}-of-00064.safetensors"
        path.write_bytes(struct.pack("<Q", len(raw)) + raw)
        with path.open("r+b") as file:
            file.truncate(8 + len(raw) + each * size)
        weight_map |= dict.fromkeys(names, path.name)
    index = made.target / "model.safetensors.index.json"
    index.write_text(json.dumps({"weight_map": weight_map}, indent=2))
    assert index.stat().st_size > 20_000_000
    began = time.process_time()
    assert diagnose(made).findings == ()
    assert time.process_time() - began < 1.0
