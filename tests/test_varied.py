"""What temperature and context do to acceptance: said where only that was varied, and the sample shows it."""

import pytest
from msgspec import structs

from collectors.reading.varied import varied
from collectors.reading.verdict import Measured


def level(
    first: float, drafts: int = 2000, *, concurrency: int = 8, temperature: float = 0.0, context: int = 0
) -> Measured:
    return Measured(
        drafts=drafts,
        draft_tokens=3 * drafts,
        accepted=drafts,
        per_position=(first, 0.5, 0.3),
        concurrency=concurrency,
        temperature=temperature,
        context=context,
    )


def ids(*levels: Measured) -> list[str]:
    return [verdict.id for verdict in varied(levels)]


@pytest.mark.parametrize(
    ("factor", "other"),
    [("temperature", level(0.60, temperature=1.0)), ("context", level(0.60, context=8000))],
)
def test_a_sure_drop_that_matters(factor: str, other: Measured) -> None:
    (said,) = varied([level(0.78), other])
    assert said.id == f"worse-with-{factor}"
    assert said.tone == "bad"
    assert "78.0%" in said.sentence
    assert "60.0%" in said.sentence
    assert "consistent with" in said.sentence
    assert said.next
    assert "2,000 and 2,000 drafts" in said.evidence[0]


def test_the_order_of_the_levels_does_not_matter() -> None:
    assert ids(level(0.60, temperature=1.0), level(0.78)) == ["worse-with-temperature"]


def test_nothing_is_said_of_what_was_not_varied_alone() -> None:
    assert ids(level(0.78), level(0.60, temperature=1.0, context=8000)) == []
    assert ids(level(0.78), level(0.60, temperature=1.0, concurrency=1)) == []
    assert ids(level(0.78)) == []
    unknown = structs.replace(level(0.60), temperature=None)
    assert ids(level(0.78), unknown) == []


def test_a_drop_within_the_interval_or_too_small_to_matter_is_none() -> None:
    assert ids(level(0.78, 210), level(0.70, 210, temperature=1.0)) == [
        "unsure-with-temperature"
    ]  # ±8 points
    assert ids(level(0.78, 210), level(0.78, 210, temperature=1.0)) == ["unsure-with-temperature"]
    assert ids(level(0.78, 50_000), level(0.75, 50_000, temperature=1.0)) == ["holds-with-temperature"]
    assert ids(level(0.60), level(0.78, temperature=1.0)) == ["holds-with-temperature"]


def test_of_too_few_drafts_only_that_is_said() -> None:
    (said,) = varied([level(0.78, 177), level(0.23, 408, temperature=1.0)])
    assert (said.id, said.tone) == ("unsure-with-temperature", "unsure")
    assert "177 drafts" in said.sentence
    assert ids(level(0.78, 0), level(0.10, 500, temperature=1.0)) == []


def test_the_surest_of_several_drops_is_told() -> None:
    (said,) = varied([level(0.78), level(0.77, context=1000), level(0.40, context=8000)])
    assert "8,000 tokens" in said.sentence
    assert "40.0%" in said.sentence
