"""compare on what `vllm bench serve` saved beside the three H200 recordings, and on launches that differ."""

import json
import os
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import msgspec
import pytest
from msgspec.structs import replace

from collectors.errors import SpecwatchError
from collectors.reading.events import RunFacts
from collectors.reading.verdict import Measured
from collectors.record.folder import RunFolder, RunInfo
from launch.bench.measured import measured
from launch.bench.result import Level, Result, Spread
from launch.compare.comparison import Comparison, compare
from launch.compare.contrast import differences
from launch.compare.report import save
from launch.compare.sides import Side, load
from launch.compare.text import lines, markdown
from tests.run_folders import make_run

RECORDINGS = Path(__file__).parent / "recordings"


def saved(name: str, level: str) -> str:
    return str(RECORDINGS / f"h200-{name}/bench-{level}.json")


def of(tmp_path: Path, *specs: str) -> Comparison:
    return compare([load(tmp_path, spec) for spec in specs])


@pytest.mark.parametrize(
    ("other", "level", "speedup", "ratio"),
    [
        ("good", "c1", 2.24, 1.155),
        ("good", "c8", 2.09, 1.167),  # of the medians: the means hold other requests' prefill
        ("bad", "c1", 0.87, 1.151),
        ("bad", "c8", 0.86, 1.172),
    ],
)
def test_the_speed_ups_of_the_recordings(
    tmp_path: Path, other: str, level: str, speedup: float, ratio: float
) -> None:
    (row,) = of(tmp_path, saved("base", level), saved(other, level)).rows
    (cell,) = row.cells
    assert cell.gain is not None
    assert cell.gain.speedup == pytest.approx(speedup, abs=0.005)
    assert cell.gain.step_ratio == pytest.approx(ratio, abs=0.002)
    if (other, level) == ("good", "c1"):
        assert cell.acceptance_rate == pytest.approx(0.5599, abs=0.0001)
        assert cell.mean_length == pytest.approx(2.68, abs=0.005)
        assert [round(a, 3) for a in cell.measured.per_position] == [0.758, 0.551, 0.371]


def test_the_bad_drafter_is_slower_than_none_and_sick_at_position_0(tmp_path: Path) -> None:
    said = "\n".join(lines(of(tmp_path, saved("base", "c1"), saved("bad", "c1"))))
    assert "✗ h200-bad/bench-c1: Slower than no speculation: 0.87×" in said
    assert "Position 0 is accepted 0.8%" in said
    assert "specwatch doctor" in said


def test_the_side_that_drafts_nothing_is_the_baseline_wherever_it_stands(tmp_path: Path) -> None:
    assert of(tmp_path, saved("good", "c1"), saved("base", "c1")).baseline == "h200-base/bench-c1"


def test_two_drafters_are_compared_without_a_verdict(tmp_path: Path) -> None:
    found = of(tmp_path, saved("good", "c1"), saved("bad", "c1"))
    assert found.rows[0].cells[0].verdict is None
    assert any("every side speculates" in w for w in found.warnings)


def test_unlike_sides_are_refused(tmp_path: Path) -> None:
    with pytest.raises(SpecwatchError, match=r"no concurrency in common|asked different"):
        of(tmp_path, saved("base", "c1"), saved("good", "c8"))
    one = Side(name="a", source="file", model="kimi-k2", levels=(Measured(concurrency=1, tok_s=1.0),))
    with pytest.raises(SpecwatchError, match="another target"):
        compare([one, replace(one, model="llama-3")])
    with pytest.raises(SpecwatchError, match="asked different things"):
        compare([replace(one, workload={"prompts": "x"}), replace(one, workload={"prompts": "y"})])


def info(*argv: str, env: dict[str, str] | None = None, patches: tuple[str, ...] = ()) -> RunInfo:
    return RunInfo(
        facts=RunFacts(id="r", argv=argv, patches=patches),
        created=0.0,
        boottime0=0.0,
        boot_id="b",
        pid_namespace="p",
        host="h",
        env=env or {},
    )


def side(name: str, *levels: Measured, **fields: object) -> Side:
    return replace(Side(name=name, source="run", levels=levels), **fields)


def c(concurrency: int, tok_s: float = 1.0, **fields: object) -> Measured:
    return replace(Measured(name=f"c{concurrency}", concurrency=concurrency, tok_s=tok_s), **fields)


def plain(concurrency: int) -> Measured:
    return c(concurrency, temperature=0.0, context=0)


class TestLoads:
    def test_one_that_has_no_counterpart_is_said_to_be_left_out(self) -> None:
        found = compare([side("a", *map(plain, (1, 8))), side("b", *map(plain, (1, 64)))])
        assert [row.concurrency for row in found.rows] == [1]
        assert "b: c64 left out: a has no load that is known to be like it" in found.warnings
        assert "a: c8 left out: b has no load that is known to be like it" in found.warnings

    def test_only_equal_temperature_and_context_are_compared(self) -> None:
        hot = c(1, name="c1 T1", temperature=1.0, context=0)
        long = c(1, name="c1 +8000", temperature=0.0, context=8000)
        found = compare([side("a", plain(1), hot, long), side("b", long, hot)])
        assert [(row.temperature, row.context) for row in found.rows] == [(1.0, 0), (0.0, 8000)]
        with pytest.raises(SpecwatchError, match=r"no load in common: a c1; b c1 T1$"):
            compare([side("a", plain(1)), side("b", hot)])

    def test_a_saved_result_could_be_like_either_and_is_like_none(self) -> None:
        levels = c(1, temperature=0.0, context=0), c(1, name="c1 T1", temperature=1.0, context=0), c(8)
        for sides in (
            [side("a", *levels), side("b", c(1), c(8))],
            [side("b", c(1), c(8)), side("a", *levels)],
        ):
            found = compare(sides)
            assert [row.concurrency for row in found.rows] == [8]
            assert any(w.startswith("b: c1 (its temperature is not known) left out") for w in found.warnings)

    def test_another_request_rate_is_another_load(self) -> None:
        with pytest.raises(SpecwatchError, match="request rate: inf and 4"):
            compare(
                [
                    side("a", c(1), workload={"request rate": "inf"}),
                    side("b", c(1), workload={"request rate": "4"}),
                ]
            )

    def test_what_was_asked_must_be_known_to_be_the_same(self) -> None:
        said = "b: whether it was asked the same as a is not known"
        a = side("a", c(1), workload={"prompts": "sha"})
        assert said in compare([a, side("b", c(1), workload={"input tokens": 5})]).warnings
        assert said not in compare([a, side("b", c(1), workload={"prompts": "sha"})]).warnings

    def test_another_command_is_said(self) -> None:
        def by(*words: str) -> dict[str, object]:
            return {"command": ("vllm", "bench", "serve", *words)}

        a = side("a", c(1), workload=by("--port", "1", "--num-prompts", "12", "--result-dir", "a"))
        b = side("b", c(1), workload=by("--port", "2", "--num-prompts", "96", "--result-dir", "b"))
        assert "b was measured by another command than a: --num-prompts" in compare([a, b]).warnings


class TestSides:
    def test_two_of_one_name_are_told_apart(self) -> None:
        found = compare([side("r", c(1), benchmark="x"), side("r", c(1), benchmark="y"), side("r", c(1))])
        assert (found.baseline, found.sides) == ("r:x", ("r:y", "r"))
        assert compare([side("f", c(1)), side("f", c(1))]).sides == ("f (2)",)

    def test_a_server_whose_counters_are_unread_is_no_baseline_if_it_was_given_a_drafter(self) -> None:
        drafting = side("d", c(1), launch=info("vllm", "serve", "m", "--speculative-config", "{}"))
        assert compare([drafting, side("p", c(1))]).baseline == "p"

    def test_a_speed_that_was_the_generators_gets_no_verdict_on_it(self) -> None:
        fast = c(1, 2.0, drafts=5000, draft_tokens=15000, accepted=9000, per_position=(0.8, 0.6, 0.4))
        for pair in ((c(1), replace(fast, limited=True)), (c(1, limited=True), fast)):
            (cell,) = compare([side("a", pair[0]), side("b", pair[1])]).rows[0].cells
            assert cell.verdict is not None
            assert cell.verdict.id == "generator-limit"

    def test_sglangs_own_length_is_shown_and_its_speed_judged(self, tmp_path: Path) -> None:
        result = {"backend": "sglang", "duration": 5.0, "completed": 4, "max_concurrency": 1}
        (tmp_path / "plain.jsonl").write_text(
            json.dumps(result | {"output_throughput": 100.0, "accept_length": None})
        )
        (tmp_path / "eagle.jsonl").write_text(
            json.dumps(result | {"output_throughput": 180.0, "accept_length": 2.4})
        )
        found = of(tmp_path, str(tmp_path / "eagle.jsonl"), str(tmp_path / "plain.jsonl"))
        (cell,) = found.rows[0].cells
        assert (cell.mean_length, cell.acceptance_rate) == (2.4, None)
        assert cell.verdict is not None
        assert cell.verdict.id == "pays"
        assert any("mean length 2.40 by the server's own word" in line for line in lines(found))


def test_steps_with_other_requests_prefill_are_no_step_time() -> None:
    level = Level(concurrency=8, planned=4, completed=4, failed=0, output_tokens=4 * 128, prompt_tokens=8000.0,
                  step=Spread(mean=0.02, p50=0.01, p90=0.1, p99=0.1, n=400))  # fmt: skip
    result = Result(
        id="a", kind="built-in", url="u", started=0.0, levels=(level, replace(level, prompt_tokens=60.0))
    )
    long, short = measured(result)
    assert long.mixed
    assert not short.mixed
    assert short.step_s == 0.01
    (alone,) = measured(replace(result, levels=(replace(level, concurrency=1),)))
    assert (alone.mixed, alone.step_s) == (False, 0.02)


class TestLaunches:
    def test_where_a_server_listens_is_no_difference(self) -> None:
        a = info("vllm", "serve", "m", "--port", "1", "--tensor-parallel-size", "8")
        b = info("/opt/bin/vllm", "serve", "m", "--tensor-parallel-size=8", "--port=2")
        assert differences(a, b) == ()

    def test_a_drafter_alone_is_a_controlled_experiment(self) -> None:
        a = Side(
            name="a",
            source="run",
            levels=(Measured(concurrency=1, tok_s=1.0),),
            launch=info("vllm", "serve", "m"),
        )
        b = replace(a, name="b", launch=info("vllm", "serve", "m", "--speculative-config", "{}"))
        assert compare([a, b]).contrasts[0].controlled is True
        c = replace(b, launch=info("vllm", "serve", "m", "--speculative-config", "{}", "--enforce-eager"))
        found = compare([a, c])
        assert found.contrasts[0].controlled is False
        assert any("no controlled experiment" in w for w in found.warnings)

    def test_environment_and_patches_count(self) -> None:
        a, b = info("v", "s", env={"VLLM_X": "1"}), info("v", "s", env={"VLLM_X": "2"}, patches=("eagle3",))
        found = differences(a, b)
        assert found is not None
        assert [(d.what, d.a, d.b) for d in found] == [("env VLLM_X", "1", "2"), ("patches", None, "eagle3")]


@pytest.mark.parametrize("ending", ["svg", "html", "md"])
def test_reports(tmp_path: Path, ending: str) -> None:
    found = of(tmp_path, saved("base", "c1"), saved("good", "c1"))
    found = replace(found, baseline="<base> | & co")
    save(found, tmp_path / f"r.{ending}")
    text = (tmp_path / f"r.{ending}").read_text()
    assert "2.24" in text
    if ending == "svg":
        root = ElementTree.fromstring(text)
        for label in root.iter("{http://www.w3.org/2000/svg}text"):  # no label begins outside the picture
            if label.get("text-anchor") == "end":
                assert float(label.get("x", "")) >= 7 * len(label.text or "")
        assert len(root.findall("{http://www.w3.org/2000/svg}rect")) == 1 + 2 + 3
    if ending == "html":
        assert "<base>" not in text
    if ending == "md":
        assert "\\|" in markdown(found)


def run(*args: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-m", "launch", "compare", *args], capture_output=True, text=True, timeout=60
    )


def test_the_command(tmp_path: Path) -> None:
    done = run(saved("base", "c8"), saved("good", "c8"), saved("bad", "c8"), "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["v"] == 1
    assert [c["verdict"]["id"] for c in found["rows"][0]["cells"]] == ["pays", "sick-at-0"]


@pytest.mark.parametrize(
    "args", [(), ("one",), (__file__, __file__), (saved("base", "c1"), saved("base", "c8"))]
)
def test_bad_input_is_one_error_line(args: tuple[str, ...]) -> None:
    done = run(*args)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("error: ")
    assert done.stderr.count("\n") == 2


def benched(
    folder: RunFolder, bench_id: str, tok_s: float, *, partial: bool = False, minute: int = 0
) -> None:
    level = Level(concurrency=1, planned=4, completed=2 if partial else 4, failed=0, tok_s=tok_s)
    result = Result(
        id=bench_id, kind="built-in", url="u", started=60.0 * minute, levels=(level,), partial=partial
    )
    path = folder.path / f"bench-{bench_id}.json"
    path.write_bytes(msgspec.json.encode(result))
    os.utime(path, (60 * minute, 60 * minute))


def test_which_benchmark_of_a_run_is_taken_and_said(tmp_path: Path) -> None:
    """The newest whole one, and that there are more; an interrupted one only where there is no other, or asked for."""
    older = make_run(tmp_path / "runs", "r1", facts=RunFacts(name="base"), created=1.0)
    benched(older, "a1", 100.0, minute=1)
    benched(older, "a2", 200.0, minute=2)
    benched(older, "a3", 300.0, minute=3, partial=True)
    make_run(tmp_path / "runs", "r2", facts=RunFacts(name="base"), created=2.0)  # never benched
    side = load(tmp_path, "base")
    assert [level.tok_s for level in side.levels] == [200.0]
    assert any("one of 3; RUN:BENCH chooses another" in note for note in side.notes)
    for spec in ("base:a1", "base:bench-a1", "r1:a1"):
        assert [level.tok_s for level in load(tmp_path, spec).levels] == [100.0]
    cut = load(tmp_path, "base:a3")
    assert [level.tok_s for level in cut.levels] == [300.0]
    assert any("cut short" in note for note in cut.notes)
    with pytest.raises(SpecwatchError, match="run r2 holds no finished benchmark"):
        load(tmp_path, "r2")


def test_one_checkpoint_is_one_target_by_whatever_name_it_is_served() -> None:
    """A benchmark's file says "tiny", a run's log "/m/target": amid a benchmark the newest baseline was passed over."""
    launch = replace(info(), facts=RunFacts(model_path="/m/target"))
    served = replace(side("base", c(1)), model="tiny", launch=launch)
    logged = replace(
        side("drafter", c(1, drafts=10, draft_tokens=30, accepted=5)), model="/m/target", launch=launch
    )
    assert len(compare([served, logged]).rows) == 1
    other = replace(launch, facts=RunFacts(model_path="/m/other"))
    with pytest.raises(SpecwatchError, match="another target"):
        compare([served, replace(logged, launch=other)])
