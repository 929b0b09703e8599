"""The H200 recordings give the figures that `vllm bench serve` itself measured."""

import json
from pathlib import Path

import pytest

from collectors.reading import serving
from collectors.reading.acceptance import Figures, of_window
from collectors.reading.counters import slots_of
from collectors.reading.exposition import scan
from collectors.reading.serving import ServingState
from collectors.reading.windows import Totals
from collectors.sources.metrics import SeriesTable

RECORDINGS = Path(__file__).parent / "recordings"
C1_TOKENS = 3072  # 12 requests of 256


def replayed(run: str) -> tuple[Figures, Figures]:
    """The figures of the benchmarks at concurrency 1 and 8: the two stretches in which the server worked."""
    table, state = SeriesTable(), ServingState()
    found: list[Figures] = []
    for line in (RECORDINGS / run / "metrics.jsonl").read_text().splitlines():
        t, samples = json.loads(line)
        for event in table.changes(t, scan("\n".join(samples) + "\n"), 1, exact=False):
            state = serving.read(state, event)
        whole = serving.since_start(state)
        if not found and whole is not None and whole.generated == C1_TOKENS:
            found.append(_busy(state))
    return found[0], _busy(state)


def _busy(state: ServingState) -> Figures:
    busy = serving.busy_window(state)
    assert busy is not None
    return busy[2]


@pytest.fixture(scope="module")
def good() -> tuple[Figures, Figures]:
    return replayed("h200-good")


def test_the_good_drafter_at_concurrency_1(good: tuple[Figures, Figures]) -> None:
    c1 = good[0]
    saved = json.loads((RECORDINGS / "h200-good/bench-c1.json").read_text())
    assert (c1.drafts, c1.draft_tokens, c1.accepted) == (1146, 3438, 1925)
    assert c1.acceptance_rate == pytest.approx(saved["spec_decode_acceptance_rate"] / 100, abs=1e-9)
    assert c1.mean_length == pytest.approx(saved["spec_decode_acceptance_length"], abs=1e-9)
    assert c1.per_position == pytest.approx(saved["spec_decode_per_position_acceptance_rates"], abs=1e-9)
    assert c1.conditional == pytest.approx((0.758, 0.726, 0.674), abs=0.001)
    assert c1.identity_ok
    assert c1.step_s == pytest.approx(saved["mean_itl_ms"] / 1000, rel=0.01)
    assert c1.ttft_count == 12
    assert c1.generated == C1_TOKENS


@pytest.mark.parametrize("level", [0, 1])
@pytest.mark.parametrize("run", ["h200-good", "h200-bad", "h200-base"])
def test_throughput_over_busy_time_is_the_benchmarks_own_within_a_few_percent(run: str, level: int) -> None:
    figures = replayed(run)[level]
    saved = json.loads((RECORDINGS / run / f"bench-c{(1, 8)[level]}.json").read_text())
    assert figures.tok_s == pytest.approx(saved["output_throughput"], rel=0.03)


def test_a_step_with_drafts_against_one_without(good: tuple[Figures, Figures]) -> None:
    base = replayed("h200-base")[0]
    assert base.drafts is None
    assert base.acceptance_rate is None
    assert base.mean_length is None
    assert good[0].step_s is not None
    assert base.step_s is not None
    assert good[0].step_s / base.step_s == pytest.approx(1.155, abs=0.005)


def test_the_bad_drafter_is_sick_at_position_0() -> None:
    c1 = replayed("h200-bad")[0]
    assert c1.per_position == pytest.approx((0.008, 0.0, 0.0), abs=0.005)
    assert c1.mean_length == pytest.approx(1.01, abs=0.005)
    assert c1.conditional is not None
    assert c1.conditional[2] is None  # nothing reached position 1: unknown, not 0


NAMES = (
    "vllm:spec_decode_num_drafts_total",
    "vllm:spec_decode_num_draft_tokens_total",
    "vllm:spec_decode_num_accepted_tokens_total",
    'vllm:spec_decode_num_accepted_tokens_per_pos_total{position="0"}',
    "vllm:generation_tokens_total",
)


def test_nothing_drafted_is_unknown_not_zero() -> None:
    idle = of_window(Totals(10.0, dict.fromkeys(range(5), 0.0)), slots_of(NAMES))
    assert (idle.acceptance_rate, idle.mean_length, idle.per_position, idle.tok_s) == (None,) * 4
    assert idle.drafts == 0


def test_a_length_that_is_not_1_plus_its_positions_is_flagged() -> None:
    halved = of_window(Totals(10.0, {0: 100.0, 1: 300.0, 2: 100.0, 3: 50.0, 4: 200.0}), slots_of(NAMES))
    assert halved.identity_gap == pytest.approx(0.5)
    assert halved.identity_ok is False
