"""Where benchmarks began and ended in a recording: requests beside the scrapes that bound them."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
from msgspec import structs

from collectors.reading.events import AnyEvent, Metrics, Request, Series

Scrape = tuple[Series | Metrics, ...]


def mark_benches(
    scrapes: list[Scrape], summary: dict[str, Any], file_of: Callable[[str], Path]
) -> Iterator[AnyEvent]:
    """The scrapes with bench_begin / bench_end right after those that bound each benchmark.

    The bounding scrape before is the last one before the benchmark began (and not within the one before it),
    the one behind it the first after it ended: what the server counted in between is the benchmark's.
    """
    asked: dict[int, list[Request]] = {}
    place = 0
    for name, begin, end, data in _windows(summary, file_of):
        times = [scrape[-1].t for scrape in scrapes]
        first = max(place, max((i for i, t in enumerate(times) if t <= begin), default=0))
        place = min((i for i, t in enumerate(times) if t >= end), default=len(times) - 1)
        if place <= first:
            continue
        asked.setdefault(first, []).append(_request(times[first], "bench_begin", name, {}))
        asked.setdefault(place, []).append(_request(times[place], "bench_end", name, data))
    for index, scrape in enumerate(scrapes):
        exact = index in asked
        for event in scrape:
            yield structs.replace(event, exact=True) if exact and isinstance(event, Metrics) else event
        yield from asked.get(index, ())


def _windows(
    summary: dict[str, Any], file_of: Callable[[str], Path]
) -> Iterator[tuple[str, float, float, dict[str, Any]]]:
    """(name, begin, end, results). Benchmarks ran one after another and ended when the server was told to
    stop.
    """
    if "load_start" in summary and "load_end" in summary:
        yield "load", summary["load_start"], summary["load_end"], {}
    benches = summary.get("bench") or []
    end = summary.get("sig_t", 0.0)
    begin = end - sum(bench["s"] for bench in benches)
    for bench in benches:
        words = bench["cmd"].split()
        concurrency = words[words.index("--max-concurrency") + 1] if "--max-concurrency" in words else "1"
        yield f"c{concurrency}", begin, begin + bench["s"], _results(file_of(f"bench-c{concurrency}.json"))
        begin += bench["s"]


def _results(path: Path) -> dict[str, Any]:
    """The figures of a `vllm bench serve --save-result` file, without its lists."""
    if not path.is_file():
        return {}
    found = msgspec.json.decode(path.read_bytes(), type=dict[str, Any])
    return {k: v for k, v in found.items() if isinstance(v, int | float | str)}


def _request(t: float, kind: str, name: str, data: dict[str, Any]) -> Request:
    return Request(t=t, kind=kind, id=name, label=f"benchmark {name}", data=data)
