"""Numbers as the screen writes them; what the commands write too is theirs (launch/figures.py)."""

from launch.figures import DASH, about, ago, duration, size

__all__ = [
    "DASH",
    "about",
    "ago",
    "clock",
    "count",
    "duration",
    "gib",
    "milliseconds",
    "number",
    "percent",
    "size",
]


def number(value: float | None) -> str:
    """A count or a rate in at most 5 characters: 0.87, 12.4, 868, 3031, 24.6k, 1.2M."""
    if value is None:
        return DASH
    size = abs(value)
    if size >= 9_999.5:
        for unit, scale in (("k", 1e3), ("M", 1e6), ("G", 1e9), ("T", 1e12)):
            if size < 999.5 * scale or unit == "T":
                scaled = value / scale
                return f"{scaled:.1f}{unit}" if abs(scaled) < 99.95 else f"{scaled:.0f}{unit}"
    if size >= 99.95 or value == int(value):
        return f"{value:.0f}"
    return f"{value:.1f}" if size >= 9.995 else f"{value:.2f}"


def count(value: float | None) -> str:
    """A whole number, every digit, thousands apart: 27,546."""
    return DASH if value is None else f"{value:,.0f}"


def percent(fraction: float | None, digits: int = 1) -> str:
    return DASH if fraction is None else f"{fraction * 100:.{digits}f} %"


def gib(mib: float | None) -> str:
    """Memory as NVML counts it: MiB in, one decimal of GiB out."""
    return DASH if mib is None else f"{mib / 1024:.1f}"


def milliseconds(seconds: float | None) -> str:
    if seconds is None:
        return DASH
    ms = seconds * 1000
    if ms >= 9_999.5:
        return f"{seconds:.1f} s"
    return f"{ms:.0f} ms" if ms >= 99.95 else f"{ms:.1f} ms" if ms >= 9.995 else f"{ms:.2f} ms"


def clock(seconds_of_day: float) -> str:
    whole = int(seconds_of_day) % 86_400
    return f"{whole // 3600:02d}:{whole % 3600 // 60:02d}:{whole % 60:02d}"
