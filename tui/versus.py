"""This run's benchmarks beside those of a run without speculation: read at the edge, looked up by the panels."""

from contextlib import suppress
from typing import TYPE_CHECKING

from msgspec import ValidationError, convert

from collectors.reading.serving import Benchmark
from collectors.record.folder import RunFolder

if TYPE_CHECKING:
    from launch.compare.comparison import Cell, Comparison


def read(folder: RunFolder) -> "Comparison | None":
    from launch.compare import baseline  # 20 ms that most looks at a run need not spend

    return baseline.against_baseline(folder)


def cell(found: "Comparison | None", bench: Benchmark) -> "Cell | None":
    """What `compare` says of one ended benchmark: by its load where it was ours, else by its own name."""
    if found is None:
        return None
    from launch.bench.result import Load

    names = {bench.id, bench.label}
    with suppress(ValidationError):  # another's benchmark: its plan may hold anything
        names.add(convert(bench.plan, Load).name)
    return next((row.cells[0] for row in found.rows if row.cells[0].measured.name in names), None)
