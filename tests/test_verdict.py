"""The verdict's rules on measured figures: the three H200 recordings, published runs, and made-up edges."""

from itertools import pairwise

import pytest

from collectors.reading.verdict import RULES, Measured, gain, verdict

BASE = Measured(name="base", concurrency=1, tok_s=197.8, step_s=0.00500)
GOOD = Measured(
    name="good", concurrency=1, tok_s=443.3, drafts=1146, draft_tokens=3438, accepted=1925,
    per_position=(0.758, 0.551, 0.371), step_s=0.00578,
)  # fmt: skip
BAD = Measured(
    name="bad", concurrency=1, tok_s=173.0, drafts=3050, draft_tokens=9150, accepted=26,
    per_position=(0.008, 0.0, 0.0), step_s=0.00576,
)  # fmt: skip


def change(measured: Measured, **fields: object) -> Measured:
    from msgspec.structs import replace

    return replace(measured, **fields)


def test_the_good_drafter_pays() -> None:
    g = gain(GOOD, BASE)
    assert g.speedup == pytest.approx(2.24, abs=0.005)
    assert g.step_ratio == pytest.approx(1.155, abs=0.002)
    assert g.break_even_rate == pytest.approx(0.052, abs=0.001)
    assert GOOD.rate == pytest.approx(0.5599, abs=0.0001)
    assert GOOD.length == pytest.approx(2.68, abs=0.005)
    said = verdict(GOOD, BASE)
    assert (said.id, said.tone) == ("pays", "good")
    assert said.sentence == "Pays: 2.24× at concurrency 1."
    assert "it pays from mean length 1.16, acceptance 5.2% up" in said.evidence[2]


def test_the_bad_drafter_is_slower_and_sick_at_position_0() -> None:
    said = verdict(BAD, BASE)
    assert (said.id, said.tone) == ("sick-at-0", "bad")
    assert said.sentence.startswith(
        "Slower than no speculation: 0.87× at concurrency 1. Position 0 is accepted 0.8%"
    )
    assert "doctor" in (said.next or "")


@pytest.mark.parametrize(
    ("measured", "baseline", "expected"),
    [
        (change(GOOD, drafts=0), BASE, "no-drafts"),
        (change(GOOD, drafts=None), None, "no-drafts"),
        (change(GOOD, drafts=40), BASE, "too-little"),
        (change(GOOD, per_position=(0.10, 0.001, 0.0)), None, "sick-at-0"),
        (change(GOOD, per_position=(0.60, 0.10, 0.02)), None, "collapse"),
        (change(GOOD, tok_s=150.0, step_s=0.0160), BASE, "accepted-but-slower"),
        (change(GOOD, tok_s=220.0, per_position=(0.7, 0.2, 0.05), step_s=0.0085), BASE, "collapse"),
        (change(GOOD, tok_s=220.0, per_position=(0.7, 0.40, 0.02), step_s=0.0085), BASE, "shorter-k"),
        (
            change(GOOD, tok_s=198.0, tok_s_ci=(190.0, 206.0)),
            change(BASE, tok_s_ci=(190.0, 205.0)),
            "no-difference",
        ),
        (change(GOOD, tok_s=201.0), BASE, "no-difference"),  # 1.6 % without an interval
        (change(BAD, temperature=1.0), BASE, "low-off-plain"),
        (change(BAD, context=8000), BASE, "low-off-plain"),
        (change(BAD, temperature=0.0, context=0), BASE, "sick-at-0"),
        (change(GOOD, temperature=1.0), BASE, "pays"),
        (change(GOOD, limited=True), BASE, "generator-limit"),
        (GOOD, change(BASE, limited=True), "generator-limit"),
        (change(BAD, limited=True), BASE, "sick-at-0"),
        (Measured(concurrency=1, tok_s=300.0, stated_length=2.5), BASE, "pays"),  # SGLang counts no drafts
        (Measured(concurrency=1, tok_s=150.0, stated_length=1.1), BASE, "accepted-but-slower"),
        (GOOD, None, "by-acceptance"),
        (change(GOOD, per_position=(0.30, 0.15, 0.08)), None, "by-acceptance"),
    ],
)
def test_rules(measured: Measured, baseline: Measured | None, expected: str) -> None:
    assert verdict(measured, baseline).id == expected


def test_every_rule_is_tried_above_or_here() -> None:
    assert {name for name, _ in RULES} == {
        "no-drafts", "too-little", "sick-at-0", "collapse", "accepted-but-slower", "shorter-k", "pays", "no-difference",
        "generator-limit", "low-off-plain", "by-acceptance",
    }  # fmt: skip


def test_the_best_k_of_a_published_sweep() -> None:
    """vllm#20780: at K = 7, T_0 = 7.07 ms, T_s = 15.2 ms; measured best K is 4 (1.75×), 5 within 2 %."""
    lengths = [2.36, 2.79, 3.08, 3.32, 3.46, 3.54]
    first = 0.78
    per_position = (first, 2.36 - 1 - first, *(b - a for a, b in pairwise(lengths)))
    drafts = 10_000
    run = Measured(
        concurrency=1, tok_s=1.0, drafts=drafts, draft_tokens=7 * drafts, accepted=round(2.54 * drafts),
        per_position=per_position, step_s=0.0152,
    )  # fmt: skip
    assert gain(run, Measured(concurrency=1, tok_s=1.0, step_s=0.00707)).best_k in (3, 4, 5)


def test_step_times_of_unlike_load_are_not_compared() -> None:
    assert gain(change(GOOD, mean_running=1.0), change(BASE, mean_running=7.5)).step_ratio is None
    assert gain(change(GOOD, concurrency=8), BASE).step_ratio is None
    assert gain(change(GOOD, mixed=True), BASE).step_ratio is None
    assert gain(GOOD, change(BASE, mixed=True)).step_ratio is None


def test_what_is_low_when_sampled_is_not_called_sick() -> None:
    said = verdict(change(BAD, temperature=1.0, context=8000), BASE)
    assert said.tone == "bad"
    assert said.sentence.startswith("Slower than no speculation: 0.87×")
    assert "at temperature 1 and behind 8,000 tokens of context: consistent with sampling" in said.sentence
    assert "--temperature 0" in (said.next or "")


def test_how_it_was_sampled_is_not_known_live() -> None:
    """A drafter of 78 % at temperature 0 had 7 to 23 % at 1 on a real server: such a share alone is no proof."""
    low = change(BAD, per_position=(0.07, 0.04, 0.03))
    assert "or with requests that are sampled" in verdict(change(low, temperature=None)).sentence
    assert "does not see this target" in verdict(change(low, temperature=0.0)).sentence
    assert (
        "does not see this target" in verdict(change(BAD, temperature=None)).sentence
    )  # under 1 % is no sampling's


def test_few_drafts_do_not_hide_a_speed_up() -> None:
    few = change(GOOD, drafts=40)
    assert verdict(few).sentence == "Too little data: 40 drafts (a verdict needs 200)."
    assert verdict(few, BASE).sentence.startswith(
        "2.24× at concurrency 1, but of acceptance too little data: 40"
    )


def test_what_the_generator_limited_is_neither_faster_nor_slower() -> None:
    said = verdict(change(BAD, limited=True), BASE)
    assert "Slower" not in said.sentence


def test_the_interval_of_a_speed_up() -> None:
    g = gain(
        change(GOOD, tok_s=400.0, tok_s_ci=(380.0, 420.0)), change(BASE, tok_s=200.0, tok_s_ci=(190.0, 210.0))
    )
    assert g.speedup_ci == pytest.approx((2 - 2 * 0.0707, 2 + 2 * 0.0707), abs=0.001)


def test_a_sentence_never_names_a_cause_as_known() -> None:
    for measured in (
        BAD,
        change(GOOD, per_position=(0.60, 0.10, 0.02)),
        change(GOOD, per_position=(0.1, 0.05, 0.0)),
    ):
        assert "consistent with" in verdict(measured, BASE).sentence
