"""Our reader of metrics pages against prometheus_client's, and against pages that are none."""

import math
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client.parser import text_string_to_metric_families

from collectors.reading.exposition import NotMetrics, scan
from collectors.reading.names import EXPOSED

ROOT = Path(__file__).parent
PAGES = sorted(p for p in ROOT.glob("recordings/**/*.prom") if p.stat().st_size)
CASES = ROOT.parent.parent / "shared" / "cases"


def oracle(text: str) -> dict[str, float]:
    """What prometheus_client reads of the wanted names, under our keys; cumulative buckets left out."""
    samples: dict[str, float] = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            name = sample.name.removeprefix("ray_")
            if (
                name not in EXPOSED
                or name.endswith("_bucket")
                or math.isnan(sample.value)
                or sample.value == -1
            ):
                continue
            kept = [
                (k, sample.labels[k]) for k in ("engine", "position", "finished_reason") if k in sample.labels
            ]
            key = name + ("{" + ",".join(f'{k}="{v}"' for k, v in kept) + "}" if kept else "")
            samples[key] = samples.get(key, 0.0) + sample.value
    return samples


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_a_real_page_reads_as_the_oracle_reads_it(page: Path) -> None:
    text = page.read_text()
    ours = scan(text)
    assert {k: v for k, v in ours.items() if "_bin" not in k} == oracle(text)
    counted = {k: v for k, v in ours.items() if k.startswith("vllm:time_to_first_token_seconds_bin")}
    assert sum(counted.values()) == ours['vllm:time_to_first_token_seconds_count{engine="0"}']


LABEL = st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="\r\x85\u2028\u2029"), max_size=20
)


@given(LABEL, st.floats(allow_nan=True, allow_infinity=True), st.booleans())
def test_escapes_special_values_and_timestamps(label: str, value: float, stamped: bool) -> None:
    escaped = label.replace("\\", "\\\\").replace("\n", "\\n").replace('"', '\\"')
    word = {math.inf: "+Inf", -math.inf: "-Inf"}.get(value, "NaN" if value != value else repr(value))
    stamp = " 1700000000000" if stamped else ""
    text = f'vllm:generation_tokens_total{{model_name="{escaped}",engine="1"}} {word}{stamp}\n'
    expected = {} if value != value or value == -1 else {'vllm:generation_tokens_total{engine="1"}': value}
    assert scan(text) == expected


def test_created_gauges_and_help_alone_are_nothing() -> None:
    assert scan("# HELP vllm:generation_tokens_total x\n# TYPE vllm:generation_tokens_total counter\n") == {}
    assert scan('vllm:generation_tokens_created{engine="0"} 1.7e9\n') == {}


def test_an_unknown_gauge_is_left_out() -> None:
    assert scan('vllm:gpu_cache_usage_perc{model_name="m"} -1.0\nvllm:num_requests_running 2\n') == {
        "vllm:num_requests_running": 2.0
    }


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("", "empty"),
        ("<!doctype html><title>x</title>\n", "HTML"),
        ('{"detail": "Not Found"}\n', "JSON"),
        ("hello there\nthis is a wiki\n", "another program"),
        ('vllm:num_requests_running 2\nvllm:generation_tokens_total{engine="0"} 12', "cut short"),
    ],
)
def test_what_is_no_whole_page_is_refused_with_its_reason(text: str, word: str) -> None:
    with pytest.raises(NotMetrics, match=word):
        scan(text)


def test_another_exporter_gives_nothing_and_no_error() -> None:
    assert scan("# TYPE node_load1 gauge\nnode_load1 0.4\n") == {}


def test_only_the_first_rank_of_a_group_counts() -> None:
    text = "".join(f'sglang:generation_tokens_total{{tp_rank="{rank}"}} 10\n' for rank in range(4))
    assert scan(text) == {"sglang:generation_tokens_total": 10.0}


def test_ray_prefix_and_workers_kept_apart() -> None:
    text = 'ray_vllm:generation_tokens_total{WorkerId="aaa"} 3\nray_vllm:generation_tokens_total{WorkerId="bbb"} 4\n'
    assert scan(text) == {
        'vllm:generation_tokens_total{engine="aaa"}': 3.0,
        'vllm:generation_tokens_total{engine="bbb"}': 4.0,
    }


@pytest.mark.skipif(not CASES.is_dir(), reason="the strangers' pages are not beside this checkout")
@pytest.mark.parametrize("name", ["113-metrics-v0-idle-old-names", "115-metrics-ray-prefix-long-labels"])
def test_strangers_pages(name: str) -> None:
    text = (CASES / f"{name}.metrics").read_text()
    text += "" if text.endswith("\n") else "\n"
    assert scan(text)


def test_eight_engines_cost_a_fraction_of_the_oracles_time() -> None:
    page = max(PAGES, key=lambda p: p.stat().st_size).read_text()
    text = "".join(page.replace('engine="0"', f'engine="{engine}"') for engine in range(8))

    def cost(read: object) -> float:
        began = time.process_time()
        list(read(text))  # type: ignore[operator]
        return time.process_time() - began

    assert min(cost(scan) for _ in range(3)) < 0.4 * min(
        cost(text_string_to_metric_families) for _ in range(3)
    )
