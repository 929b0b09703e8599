"""Times of day as logs print them: differences without a calendar library, and ISO text. Pure arithmetic."""

import re

_STAMP = re.compile(r"(?:(\d{4})-)?(\d\d)-(\d\d)[ T](\d\d):(\d\d):(\d\d)")
_YEAR = 365.25 * 86_400


def days_from_civil(year: int, month: int, day: int) -> int:
    """Days since 1970-01-01 (Howard Hinnant's `days_from_civil`, proleptic Gregorian)."""
    year -= month <= 2
    era = year // 400
    of_era = year - era * 400
    of_year = (153 * (month + (-3 if month > 2 else 9)) + 2) // 5 + day - 1
    return era * 146_097 + of_era * 365 + of_era // 4 - of_era // 100 + of_year - 719_468


def civil_from_days(days: int) -> tuple[int, int, int]:
    days += 719_468
    era = days // 146_097
    of_era = days - era * 146_097
    year = (of_era - of_era // 1460 + of_era // 36_524 - of_era // 146_096) // 365
    of_year = of_era - (365 * year + year // 4 - year // 100)
    month = (5 * of_year + 2) // 153
    return (
        year + era * 400 + (month >= 10),
        month + (3 if month < 10 else -9),
        of_year - (153 * month + 2) // 5 + 1,
    )


def iso(epoch: float) -> str:
    """Seconds since the epoch -> "2026-12-01T05:17:09Z"."""
    days, rest = divmod(int(epoch), 86_400)
    year, month, day = civil_from_days(days)
    return f"{year:04d}-{month:02d}-{day:02d}T{rest // 3600:02d}:{rest // 60 % 60:02d}:{rest % 60:02d}Z"


def printed(stamp: str | None, year: int | None) -> str | None:
    """A log's stamp as ISO local time; None without a year (vLLM prints none) where none is known."""
    found = _STAMP.search(stamp or "")
    if found is None or not (found[1] or year):
        return None
    return f"{found[1] or year}-{found[2]}-{found[3]}T{found[4]}:{found[5]}:{found[6]}"


def between(first: str | None, last: str | None) -> float | None:
    """Seconds from one stamp to a later one, over a new year too; None when unknown or when it would run back."""
    a, b = _STAMP.search(first or ""), _STAMP.search(last or "")
    if a is None or b is None:
        return None
    # Years only where both have one; 2000 is a leap year, so that 29 February is always a day.
    years = (int(a[1]), int(b[1])) if a[1] and b[1] else (2000, 2000)
    seconds = _seconds(b, years[1]) - _seconds(a, years[0])
    if seconds < 0 and years == (2000, 2000) and seconds < -_YEAR / 2:
        seconds += 366 * 86_400
    return seconds if seconds >= 0 else None


def _seconds(stamp: "re.Match[str]", year: int) -> float:
    days = days_from_civil(year, int(stamp[2]) or 1, int(stamp[3]) or 1)
    return float(days * 86_400 + int(stamp[4]) * 3600 + int(stamp[5]) * 60 + int(stamp[6]))
