"""View: everything that one picture shows, taken at one instant; panels are functions of it."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from collectors.reading.state import State

if TYPE_CHECKING:
    from launch.compare.comparison import Comparison


@dataclass(frozen=True, eq=False)
class LogLine:
    """One line of the log as the screen shows it; `text` is cleaned."""

    offset: int
    clock: str  # "07:41:44", or blank where the line has no stamp
    process: str  # "TP0", "APIServer" or ""
    level: str  # "error", "warning" or ""
    text: str
    hidden: bool = False  # a noise rule hides it
    count: int = 1  # as many neighbours say the same


@dataclass(frozen=True, eq=False)
class View:
    """`t` is the run's own clock; `age` counts from the record's last line, None when the run has ended."""

    state: State = field(default_factory=State)
    phase: str = "starting"
    t: float = 0.0
    age: float | None = None
    recorder_lives: bool = True
    arrival: Any = None
    stalled: Any = None
    tail: tuple[LogLine, ...] = ()
    frozen: bool = False
    pace: float | None = None  # of a replay
    reading: bool = False  # the record is longer than what has been read of it
    notice: str = ""
    name: str = ""
    utc_offset: float = 0.0  # seconds to add to wall-clock time for showing it
    ascii_only: bool = False
    leave: str = ""  # what q does, where it is not what it does elsewhere
    versus: "Comparison | None" = None  # this run's benchmarks beside those of a baseline

    @property
    def ended(self) -> bool:
        return self.state.life.exit is not None
