"""Numbers as the commands write them. Unknown is —, never 0."""

DASH = "—"


def duration(seconds: float | None) -> str:
    """7:42 is minutes and seconds, 1:02:03 has hours, `3 d 4 h` has days."""
    if seconds is None:
        return DASH
    whole = int(seconds + 0.5)
    if whole >= 86_400:
        return f"{whole // 86_400} d {whole % 86_400 // 3600} h"
    hours, rest = divmod(whole, 3600)
    return f"{hours}:{rest // 60:02d}:{rest % 60:02d}" if hours else f"{rest // 60}:{rest % 60:02d}"


def about(seconds: float | None) -> str:
    """A time ahead, no finer than it is known: 8 s, 40 s, 14 min, 1 h 10 min."""
    if seconds is None:
        return DASH
    if seconds < 55:
        return f"{max(1, round(seconds))} s" if seconds < 10 else f"{round(seconds / 5) * 5} s"
    minutes = max(1, round(seconds / 60))
    hours, rest = divmod(minutes, 60)
    return " ".join(part for part in (f"{hours} h" * (hours > 0), f"{rest} min" * (rest > 0)) if part)


def ago(seconds: float | None) -> str:
    """A time behind, in its largest unit: 8 s, 3 min, 2 h, 5 d."""
    if seconds is None:
        return DASH
    for unit, scale in (("d", 86_400), ("h", 3600), ("min", 60)):
        if seconds >= 2 * scale:
            return f"{seconds / scale:.0f} {unit}"
    return f"{max(0.0, seconds):.0f} s"


def size(count: float | None) -> str:
    """Bytes as disks count them, by thousands: 710 MB, 1.44 GB, 547 GB."""
    if count is None:
        return DASH
    for unit, scale in (("TB", 1e12), ("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if count >= scale:
            scaled = count / scale
            return f"{scaled:.{0 if scaled >= 99.95 else 1 if scaled >= 9.995 else 2}f} {unit}"
    return f"{count:.0f} B"


def percent(fraction: float | None) -> str:
    return DASH if fraction is None else f"{fraction * 100:.1f} %"


def number(value: float) -> str:
    """A bar's count: 31, 3.5; never 31.0."""
    return f"{value:.0f}" if value == int(value) else f"{value:.1f}"
