import json
from pathlib import Path

import pytest

from collectors.errors import SpecwatchError
from launch import config

BASE = """
[profile.base]
command = ["vllm", "serve", "m"]
flags = { tensor-parallel-size = 8, enforce-eager = true, max-num-seqs = 16 }
env = { VLLM_X = "1", GONE = "1" }
[profile.eagle3]
extends = "base"
flags.enforce-eager = false
flags.speculative-config = { method = "eagle3", model = "d" }
flags.lora-modules = ["a=b", "c=d"]
env = { GONE = false }
patches = ["eagle3"]
[profile.k5]
extends = "eagle3"
flags.speculative-config.num_speculative_tokens = 5
"""


def loaded(tmp_path: Path, text: str) -> config.Config:
    (tmp_path / "config.toml").write_text(text)
    return config.load(str(tmp_path / "config.toml"))


def trouble(tmp_path: Path, text: str) -> str:
    with pytest.raises(SpecwatchError) as caught:
        loaded(tmp_path, text)
    return f"{caught.value.message} | {caught.value.hint}"


def test_a_profile_is_its_base_and_what_it_changes(tmp_path: Path) -> None:
    found = config.profile(loaded(tmp_path, BASE), "k5")
    spec = {"method": "eagle3", "model": "d", "num_speculative_tokens": 5}
    assert found.argv() == (
        *("vllm", "serve", "m", "--tensor-parallel-size", "8", "--max-num-seqs", "16"),
        *("--speculative-config", json.dumps(spec), "--lora-modules", "a=b", "c=d"),
    )
    assert found.env == {"VLLM_X": "1", "GONE": False}
    assert found.patches == ("eagle3",)
    assert "--enforce-eager" in config.profile(loaded(tmp_path, BASE), "base").argv()


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[profil.x]", "did you mean `profile`?"),
        ("[profile.x]\nflag = {}", "`profile.x.flag` is unknown | did you mean `flags`?"),
        ("[hooks]\non_redy = []", "did you mean `on_ready`?"),
        ("[profile.a]\nextends='b'\n[profile.b]\nextends='a'", "circle: a -> b -> a"),
        ("[profile.base]\n[profile.b]\nextends='bass'", "did you mean `base`?"),
        ("[[noise]]\nid='n'\npattern='('\nreason='r'", "noise `n` is no regular expression"),
        ("[[noise]]\nid='n'\npattern='x'", "reason"),
        ("[profile.a]\ncommand='vllm serve'", "command"),
        ("profile = 3", "`profile` is no table"),
        ("[profile.a", "is not TOML"),
    ],
)
def test_what_is_wrong_is_named(tmp_path: Path, text: str, says: str) -> None:
    assert says in trouble(tmp_path, text)


def test_an_unknown_profile_names_the_nearest(tmp_path: Path) -> None:
    with pytest.raises(SpecwatchError) as caught:
        config.profile(loaded(tmp_path, BASE), "eagel3")
    assert caught.value.hint == "did you mean `eagle3`?"


def test_no_file_is_an_empty_configuration_unless_one_was_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    assert config.load() == config.Config()
    with pytest.raises(SpecwatchError):
        config.load(str(tmp_path / "none.toml"))


def test_hooks_are_a_command_or_an_address(tmp_path: Path) -> None:
    hooks = loaded(tmp_path, '[hooks]\non_ready = ["say", "up"]\non_failed = { url = "http://x/" }').hooks
    assert hooks.of("ready") == config.Hook(command=("say", "up"))
    assert hooks.of("failed") == config.Hook(url="http://x/")
    assert hooks.of("stalled") is None
