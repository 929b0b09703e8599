"""/metrics: deltas, numbering, and every wrong page as an error."""

import gzip
from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors.reading.events import Metrics, Series
from collectors.sources.metrics import MetricsSource, SeriesTable
from tests.test_health import answering

PAGE = b"""# TYPE vllm:generation_tokens_total counter
vllm:generation_tokens_total{engine="0",model_name="m"} 1234.0
# TYPE vllm:num_requests_running gauge
vllm:num_requests_running{engine="0",model_name="m"} 2.0
"""


def http_page(body: bytes, head: bytes = b"", status: bytes = b"200 OK") -> bytes:
    return b"HTTP/1.1 %b\r\nContent-Length: %d\r\n%b\r\n%b" % (status, len(body), head, body)


pages = st.lists(
    st.dictionaries(st.sampled_from("abcdef"), st.integers(0, 3).map(float), max_size=6), max_size=8
)


@given(pages=pages)
def test_the_pages_can_be_made_again_from_the_changes(pages: list[dict[str, float]]) -> None:
    table = SeriesTable()
    names: list[str] = []
    now: dict[str, float] = {}
    for page in pages:
        for event in table.changes(0.0, page, 1, exact=False):
            if isinstance(event, Series):
                assert event.start == len(names)
                names += event.names
            else:
                now.update({names[number]: value for number, value in event.values.items()})
                for number in event.gone:
                    del now[names[number]]
        assert now == page


def test_an_unchanged_page_costs_no_values() -> None:
    table = SeriesTable()
    page: Mapping[str, float] = {'a{engine="0"}': 1.0, 'a{engine="1"}': 0.1234567891234}
    table.changes(0.0, page, 1, exact=False)
    (again,) = table.changes(1.0, page, 1, exact=True)
    assert again == Metrics(t=1.0, took_ms=1, exact=True)
    assert table.engines == 2


def test_counters_stay_exact_and_what_is_no_number_is_absent() -> None:
    _, metrics = SeriesTable().changes(
        0.0,
        {"big": 9007199254740991.0, "gauge": 1 / 3, "nan": float("nan"), "inf": float("inf")},
        1,
        exact=False,
    )
    assert isinstance(metrics, Metrics)
    assert metrics.values == {0: 9007199254740991, 1: 0.333333333}


@pytest.mark.parametrize(
    "raw",
    [
        http_page(PAGE),
        http_page(gzip.compress(PAGE), b"Content-Encoding: gzip\r\n"),
    ],
)
async def test_a_page_is_read(raw: bytes) -> None:
    async with answering(raw) as url:
        source = MetricsSource(url, lambda: 7.0)
        series, metrics = await source.scrape(exact=True)
        assert isinstance(series, Series)
        assert isinstance(metrics, Metrics)
        assert dict(zip(series.names, metrics.values.values(), strict=True)) == {
            'vllm:generation_tokens_total{engine="0"}': 1234,
            'vllm:num_requests_running{engine="0"}': 2,
        }
        assert metrics.exact
        assert metrics.t == 7.0
        await source.close()


async def test_a_redirect_is_followed() -> None:
    async with answering(http_page(PAGE)) as target:
        away = f"HTTP/1.1 307 x\r\nContent-Length: 0\r\nLocation: {target}/metrics/\r\n\r\n".encode()
        async with answering(away) as url:
            source = MetricsSource(url, lambda: 0.0)
            assert len(await source.scrape()) == 2
            await source.close()


@pytest.mark.parametrize(
    ("raw", "word"),
    [
        (http_page(b"", status=b"404 Not Found"), "404"),
        (http_page(b"<html></html>"), "HTML"),
        (http_page(b'{"detail": "no"}'), "JSON"),
        (http_page(b""), "empty"),
        (http_page(PAGE[:-9]), "cut short"),
        (http_page(b"not gzip", b"Content-Encoding: gzip\r\n"), "DecodingError"),
        (http_page(bytes(range(256)) * 10), "metrics page|cut short"),
    ],
)
async def test_a_wrong_page_is_an_error(raw: bytes, word: str) -> None:
    async with answering(raw) as url:
        source = MetricsSource(url, lambda: 0.0)
        (failed,) = await source.scrape()
        assert isinstance(failed, Metrics)
        assert failed.error is not None
        assert any(part in failed.error for part in word.split("|")), failed.error
        await source.close()


async def test_after_forget_everything_is_named_and_told_again() -> None:
    async with answering(http_page(PAGE)) as url:
        source = MetricsSource(url, lambda: 0.0)
        first = await source.scrape()
        source.forget()
        again = await source.scrape()
        assert [getattr(e, "values", None) for e in again] == [getattr(e, "values", None) for e in first]
        assert isinstance(again[0], Series)
        assert again[0].start == 0
        await source.close()
