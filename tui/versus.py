"""This run's benchmarks beside those of a run without speculation: read at the edge, looked up by the panels."""

from typing import TYPE_CHECKING

from collectors.reading.serving import Benchmark
from collectors.record.folder import RunFolder

if TYPE_CHECKING:
    from launch.compare.comparison import Cell, Comparison


def read(folder: RunFolder) -> "Comparison | None":
    from launch.compare import baseline  # 20 ms that most looks at a run need not spend

    return baseline.against_baseline(folder)


def cell(found: "Comparison | None", bench: Benchmark) -> "Cell | None":
    """What `compare` says of one ended benchmark; by its concurrency, or by its name where the plan has none."""
    rows = found.rows if found is not None else ()
    plan = bench.plan
    for row in rows:
        asked = (row.concurrency, row.temperature, row.context)
        planned = (plan.get("concurrency"), plan.get("temperature"), plan.get("context"))
        named = row.cells[0].measured.name in (bench.id, bench.label)
        if (
            named
            if planned[0] is None
            else planned == asked or (planned[1] is None and planned[0] == asked[0])
        ):
            return row.cells[0]
    return None
