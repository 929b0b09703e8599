"""Numbers as the screen writes them. Unknown is —, never 0."""

DASH = "—"


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


def duration(seconds: float | None) -> str:
    """7:42 is minutes and seconds, 1:02:03 has hours, 3 d 4 h has days."""
    if seconds is None:
        return DASH
    whole = int(seconds + 0.5)
    if whole >= 86_400:
        return f"{whole // 86_400} d {whole % 86_400 // 3600} h"
    hours, rest = divmod(whole, 3600)
    return f"{hours}:{rest // 60:02d}:{rest % 60:02d}" if hours else f"{rest // 60}:{rest % 60:02d}"


def about(seconds: float | None) -> str:
    """A time ahead, no finer than it is known: 8 s, 40 s, 3 min, 14 min, 1 h 10 min."""
    if seconds is None:
        return DASH
    if seconds < 10:
        return f"{max(1, round(seconds))} s"
    if seconds < 55:
        return f"{round(seconds / 5) * 5} s"
    if seconds < 570:
        halves = round(seconds / 30) / 2
        return f"{halves:.0f} min" if halves == int(halves) else f"{halves:.1f} min"
    minutes = round(seconds / 60)
    if minutes < 60:
        return f"{minutes} min"
    return f"{minutes // 60} h {minutes % 60} min" if minutes % 60 else f"{minutes // 60} h"


def ago(seconds: float | None) -> str:
    """A time behind: 8 s, 3 min, 2 h, 5 d."""
    if seconds is None:
        return DASH
    for unit, scale in (("d", 86_400), ("h", 3600), ("min", 60)):
        if seconds >= 2 * scale:
            return f"{seconds / scale:.0f} {unit}"
    return f"{seconds:.0f} s"


def size(value: float | None) -> str:
    """Bytes as disks count them, by thousands: 0.71 GB, 547 GB."""
    if value is None:
        return DASH
    for unit, scale in (("TB", 1e12), ("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if abs(value) >= 0.5 * scale:
            scaled = value / scale
            digits = 0 if abs(scaled) >= 99.95 else 1 if abs(scaled) >= 9.995 else 2
            return f"{scaled:.{digits}f} {unit}"
    return f"{value:.0f} B"


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
