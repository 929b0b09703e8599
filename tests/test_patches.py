"""The patch plug-in without a vLLM: its pieces on stand-ins; tests/patches/ runs it in a real one."""

import importlib
import json
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from collectors.errors import SpecwatchError
from collectors.reading.events import Log
from collectors.reading.report import report
from collectors.reading.state import State, step
from launch.config import Profile
from launch.patches import PATCHES
from launch.patches.environment import FOLDER, PLUGIN, additions, resolved
from launch.plan import make


@pytest.fixture
def plugin(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(FOLDER))
    for name in [n for n in sys.modules if n.startswith(PLUGIN)]:
        monkeypatch.delitem(sys.modules, name)
    return importlib.import_module(PLUGIN)


class Layer:
    def __init__(self, add: int) -> None:
        self.add = add

    def __call__(self, positions: object, hidden: int, residual: int | None) -> tuple[int, int]:
        total = hidden if residual is None else hidden + residual
        return self.add, total


class Model:
    """The one shape of vLLM's DeepseekV2Model.forward that the patch knows, with numbers for tensors."""

    start_layer, end_layer = 0, 4
    aux_hidden_state_layers: tuple[int, ...] = ()

    def __init__(self) -> None:
        self.layers = [Layer(10**i) for i in range(4)]

    def forward(self, input_ids: int, positions: object = None) -> object:
        hidden_states, residual = input_ids, None
        for layer in self.layers[self.start_layer : self.end_layer]:
            hidden_states, residual = layer(positions, hidden_states, residual)
        hidden_states = hidden_states + (residual or 0)
        return hidden_states


class TestForward:
    def test_captures_the_stream_entering_the_layers(self, plugin: ModuleType) -> None:
        rewrite = importlib.import_module(f"{PLUGIN}.forward").with_aux_hidden_states
        new, why = rewrite(Model.forward)
        assert why == ""
        model = Model()
        assert new(model, 5) == model.forward(5) == 5 + 1111
        model.aux_hidden_state_layers = (0, 2, 3)
        assert new(model, 5) == (5 + 1111, [5, 5 + 11, 5 + 111])

    def test_keeps_name_file_line_and_signature(self, plugin: ModuleType) -> None:
        new, _ = importlib.import_module(f"{PLUGIN}.forward").with_aux_hidden_states(Model.forward)
        old = Model.forward
        assert (new.__qualname__, new.__code__.co_filename) == (old.__qualname__, old.__code__.co_filename)
        assert new.__code__.co_firstlineno == old.__code__.co_firstlineno
        assert new.__defaults__ == old.__defaults__

    def test_refuses_other_shapes(self, plugin: ModuleType) -> None:
        rewrite = importlib.import_module(f"{PLUGIN}.forward").with_aux_hidden_states

        def two_statements(self: Model, x: int) -> object:
            hidden_states, residual = x, None
            for layer in self.layers:
                x += 1
                hidden_states, residual = layer(None, hidden_states, residual)
            return hidden_states

        def other_return(self: Model, x: int) -> object:
            hidden_states, residual = x, None
            for layer in self.layers:
                hidden_states, residual = layer(None, hidden_states, residual)
            return hidden_states, residual

        assert rewrite(two_statements) == (None, "a layer loop of unknown form")
        assert rewrite(other_return) == (None, "a return of unknown form")


def run_plugin(tmp_path: Path, wanted: str, code: str = "", times: int = 1) -> list[dict[str, object]]:
    """The lines of one process that has a stand-in `vllm` package and registers the plug-in."""
    (tmp_path / "vllm/config").mkdir(parents=True, exist_ok=True)
    (tmp_path / "vllm/__init__.py").touch()
    (tmp_path / "vllm/config/__init__.py").touch()
    (tmp_path / "vllm/config/speculative.py").write_text(
        "class SpeculativeConfig:\n"
        "    def _verify_args(self):\n"
        "        supported = ['llama', 'qwen']\n"
        "        if all(x not in self.kind for x in ('llama', 'qwen')):\n"
        "            raise ValueError('Eagle3 is only supported for ' + str(supported))\n"
        "        return self\n"
    )
    script = f"import {PLUGIN}\nfor _ in range({times}): {PLUGIN}.register()\n{code}"
    env = {**os.environ, "PYTHONPATH": f"{FOLDER}{os.pathsep}{tmp_path}", "SPECWATCH_PATCHES": wanted}
    done = subprocess.run([sys.executable, "-c", script], env=env, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return [json.loads(line.split("] ", 1)[1]) for line in done.stderr.splitlines()]


def test_the_whitelist_is_extended_in_the_compiled_function(tmp_path: Path) -> None:
    code = (
        "from vllm.config.speculative import SpeculativeConfig as C\n"
        "c = C(); c.kind = 'kimi_k2'; c._verify_args()\n"
        "c.kind = 'mamba'\n"
        "try: c._verify_args()\nexcept ValueError: pass\nelse: raise SystemExit('all are accepted now')\n"
    )
    (line,) = run_plugin(tmp_path, "eagle3.whitelist", code, times=2)
    assert (line["patch"], line["status"]) == ("eagle3.whitelist", "applied")
    assert line["added"] == ["deepseek_v2", "deepseek_v3", "kimi_k2", "kimi_k25"]


def test_models_that_a_version_lacks_are_absent_and_nothing_dies(tmp_path: Path) -> None:
    lines = run_plugin(tmp_path, "eagle3")
    assert {line["patch"]: line["status"] for line in lines} == {
        "eagle3.whitelist": "applied",
        "eagle3.image_token": "absent",
        "eagle3.interface_deepseek": "absent",
        "eagle3.interface_kimi": "absent",
    }


def test_a_model_class_is_patched_when_it_is_imported(tmp_path: Path) -> None:
    models = tmp_path / "vllm/model_executor/models"
    models.mkdir(parents=True)
    for folder in (models, models.parent):
        (folder / "__init__.py").touch()
    (models / "interfaces.py").write_text("def supports_eagle3(cls): return False\n")
    (models / "kimi_k25.py").write_text("class KimiK25ForConditionalGeneration: pass\n")
    code = "import vllm.model_executor.models.kimi_k25 as m; assert m.KimiK25ForConditionalGeneration.supports_eagle3"
    lines = run_plugin(tmp_path, "eagle3.interface_kimi", code)
    assert [line["status"] for line in lines] == ["armed", "applied"]


def test_a_users_own_patch_gets_the_same_treatment(tmp_path: Path) -> None:
    own, broken = tmp_path / "my-patch.py", tmp_path / "broken.py"
    own.write_text("def patch():\n    return 'native', {'why': 'has it'}\n")
    broken.write_text("def patch():\n    raise RuntimeError('no')\n")
    lines = run_plugin(tmp_path, f"{own}{os.pathsep}{broken}")
    assert [(line["patch"], line["status"]) for line in lines] == [
        (str(own), "native"),
        (str(broken), "failed"),
    ]
    assert lines[1]["error"] == "RuntimeError: no"


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ("return None", "applied"),
        ("return 'already', {'pid': 7, 'patch': 'x', 'status': 'y', 'what': {1, 2}}", "applied already"),
        ("return 'native', {3: 4, (5,): 6}", "native"),
        ("return 'done'", "failed"),
        ("return True", "failed"),
        ("return 'applied', None", "failed"),
        ("return 'applied', {}, 1", "failed"),
        ("raise SystemExit(3)", "failed"),
        ("import sys; sys.exit('no')", "failed"),
        ("return 'native', {'long': 'x' * 100000}", "native"),
        ("raise RuntimeError('\\ud800é\\n')", "failed"),
    ],
)
def test_whatever_a_users_patch_does_one_line_tells_and_the_server_lives(
    tmp_path: Path, body: str, status: str
) -> None:
    """And the log's reader understands that line."""
    own = tmp_path / "é patch.py"
    own.write_text(f"def patch():\n    {body}\n")
    script = f"import {PLUGIN}\n{PLUGIN}.register()\nprint('lives')"
    env = {**os.environ, "PYTHONPATH": f"{FOLDER}{os.pathsep}{tmp_path}", "SPECWATCH_PATCHES": str(own)}
    done = subprocess.run([sys.executable, "-c", script], env=env, capture_output=True, timeout=60)
    assert (done.returncode, done.stdout) == (0, b"lives\n")
    assert done.stderr.count(b"\n") == 1
    assert len(done.stderr) < 4096
    state = step(State(), Log(t=0.0, offset=0, data=done.stderr))
    assert {name: [*counted] for name, counted in report(state).patches.items()} == {
        str(own): [status.split()[-1]]
    }


def test_a_closed_stderr_ends_no_server(tmp_path: Path) -> None:
    own = tmp_path / "own.py"
    own.write_text("def patch(): pass\n")
    script = f"import os; os.close(2)\nimport {PLUGIN}\n{PLUGIN}.register()\nprint('lives')"
    env = {**os.environ, "PYTHONPATH": str(FOLDER), "SPECWATCH_PATCHES": str(own)}
    done = subprocess.run([sys.executable, "-c", script], env=env, capture_output=True, timeout=60)
    assert done.stdout == b"lives\n"


def test_the_folder_on_pythonpath_holds_one_package_and_its_metadata() -> None:
    names = {p.name for p in FOLDER.iterdir() if p.name != "__pycache__"}
    assert names == {PLUGIN, f"{PLUGIN}-1.0.dist-info"}


def test_the_plug_in_is_written_for_python_39() -> None:
    import ast

    for source in (FOLDER / PLUGIN).glob("*.py"):
        ast.parse(source.read_text(), feature_version=(3, 9))


class TestEnvironment:
    def test_nothing_without_patches(self) -> None:
        assert additions([], {"VLLM_PLUGINS": "a"}, version=None) == {}

    def test_the_users_values_are_extended_never_replaced(self) -> None:
        env = {"PYTHONPATH": "/mine", "VLLM_PLUGINS": "a,b", "HOME": "/home/u"}
        added = additions(["eagle3"], env, version=(0, 24))
        assert added["PYTHONPATH"] == f"{FOLDER}{os.pathsep}/mine"
        assert added["VLLM_PLUGINS"] == f"a,b,{PLUGIN}"
        assert "VLLM_CACHE_ROOT" not in added
        assert additions(["eagle3"], {"VLLM_PLUGINS": ""}, version=(0, 24))["VLLM_PLUGINS"] == PLUGIN
        assert "VLLM_PLUGINS" not in additions(["eagle3"], {}, version=(0, 24))

    def test_old_versions_get_a_compile_cache_for_each_combination(self) -> None:
        def root(config: bytes, patches: tuple[str, ...] = ("eagle3",)) -> str:
            return additions(patches, {"VLLM_CACHE_ROOT": "/c"}, version=(0, 16), drafter_config=config)[
                "VLLM_CACHE_ROOT"
            ]

        assert root(b"ids 2,30,58") == root(b"ids 2,30,58")
        assert (
            len({root(b"ids 2,30,58"), root(b"ids 3,31,59"), root(b"ids 2,30,58", ("eagle3.whitelist",))})
            == 3
        )
        assert root(b"").startswith("/c/specwatch-")

    @pytest.mark.parametrize("wanted", ["eagle4", "nowhere.py", "eagle3.nothing-like-it", "a b.c"])
    def test_unknown_patches_are_refused(self, wanted: str) -> None:
        with pytest.raises(SpecwatchError):
            resolved([wanted])

    def test_a_file_is_named_as_the_servers_processes_will_name_it(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Else its lines would be taken for another patch's, and it for one that never ran."""
        (tmp_path / "mine.py").touch()
        monkeypatch.chdir(tmp_path)
        monkeypatch.setenv("HOME", str(tmp_path))
        whole = str(tmp_path / "mine.py")
        assert resolved(["mine.py", "./mine.py", "~/mine.py", whole, "eagle3"]) == (whole, "eagle3")
        vllm = tmp_path / "vllm"
        vllm.touch(0o755)
        plan = make([str(vllm), "serve", "m"], {}, profile=Profile(patches=("mine.py",)), patches=["eagle3"])
        assert plan.patches == (whole, "eagle3")

    @pytest.mark.parametrize("name", ["a:b", 'a"b', "a\\b", "a\nb", "x" * 200])
    def test_a_path_that_no_line_could_tell_is_refused(self, tmp_path: Path, name: str) -> None:
        (tmp_path / name).mkdir()
        (tmp_path / name / "mine.py").touch()
        with pytest.raises(SpecwatchError, match="too long, or holds"):
            resolved([str(tmp_path / name / "mine.py")])

    def test_sglang_has_none(self) -> None:
        with pytest.raises(SpecwatchError, match="SGLang"):
            resolved(["eagle3"], "sglang")
        assert resolved([], "sglang") == ()

    def test_every_part_is_known_to_the_plug_in(self, plugin: ModuleType) -> None:
        assert {part for patch in PATCHES for part in patch.parts} == set(plugin.PATCHES)


def test_an_allow_list_names_the_plug_in_as_its_metadata_does() -> None:
    """VLLM_PLUGINS holds entry points' names."""
    (metadata,) = FOLDER.glob("*.dist-info/entry_points.txt")
    assert f"{PLUGIN} = {PLUGIN}:register" in metadata.read_text()
