"""Numbers as logs print them. A hostile or torn line may hold `1.2.3` or 400 digits: that is no number."""

from math import isfinite


def number(text: str | None) -> float | None:
    """A finite number, None for anything else; a full stop behind it is the sentence's."""
    try:
        value = float((text or "").rstrip("."))
    except ValueError:
        return None
    return value if isfinite(value) else None
