"""A Prometheus text page -> the wanted samples, under short canonical series names.

Format: https://prometheus.io/docs/instrumenting/exposition_formats/. A parser of our own, since a page is
read every second: it passes over what is not wanted; that of prometheus_client is the tests' oracle.
"""

import re

from collectors.reading.names import ENGINE_LABELS, EXPOSED, FIRST_RANK_LABELS, KEPT_LABELS, PREFIXES

_LABEL = re.compile(r'\s*([a-zA-Z_][\w.]*)\s*=\s*"((?:[^"\\]|\\.)*)"\s*,?')
_ESCAPE = re.compile(r"\\(.)")


class NotMetrics(Exception):
    """What answered is no whole metrics page; `reason` says why, in words for the user."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


def scan(text: str) -> dict[str, float]:
    """The wanted samples of a page: `name{engine="0",position="1"}` -> value.

    Names are the page's own without a `ray_` prefix; `model_name` and all other labels are dropped, samples
    that become one are summed. Buckets come as `NAME_bin{engine="0",le="0.1"}`: the count in that bin alone,
    so that of 20 cumulative buckets one changes, not 20. NaN and -1 (unknown) are left out. A page with
    nothing wanted gives {}. Raises NotMetrics for a page that is cut short, or that is no metrics page at
    all.
    """
    _check_whole(text)
    samples: dict[str, float] = {}
    buckets: dict[tuple[str, str], list[tuple[float, str, float]]] = {}
    for line in text.split("\n"):
        if not line or line[0] == "#":
            continue
        name = _name(line)
        known = EXPOSED.get(name)
        if known is None:
            continue
        labels, value = _split(line)
        if value is None or any(labels.get(rank, "0") not in ("0", "") for rank in FIRST_RANK_LABELS):
            continue
        if name.endswith("_bucket"):
            key = (name.removesuffix("_bucket") + "_bin", _engine(labels))
            buckets.setdefault(key, []).append(
                (_number(labels.get("le", "")) or 0.0, labels.get("le", ""), value)
            )
        else:
            key_ = name + _kept(labels)
            samples[key_] = samples.get(key_, 0.0) + value
    for (name, engine), cumulative in buckets.items():
        samples |= _bins(name, engine, cumulative)
    return samples


def _check_whole(text: str) -> None:
    if not text.strip():
        raise NotMetrics("the page is empty")
    start = text.lstrip()[:200]
    if start[0] in "<{[":
        kind = "HTML" if start[0] == "<" else "JSON"
        raise NotMetrics(f"this is {kind}, not a metrics page: another program answers here")
    if not text.endswith("\n") and not text.endswith("# EOF"):
        raise NotMetrics("the page ends in the middle of a line: it was cut short")
    if not re.search(
        r"^(?:# (?:HELP|TYPE) \S|[a-zA-Z_:][\w:]*(?:\{.*\})?[ \t]+[-+.\dNI])", text, re.MULTILINE
    ):
        raise NotMetrics("this is not a metrics page: another program answers here")


def _name(line: str) -> str:
    for end, char in enumerate(line):
        if char in "{ \t":
            name = line[:end]
            break
    else:
        return ""
    for prefix in PREFIXES:
        name = name.removeprefix(prefix)
    return name


def _split(line: str) -> tuple[dict[str, str], float | None]:
    """Labels and value of a sample line; value None when it is unknown (NaN, -1) or no number."""
    labels: dict[str, str] = {}
    opened = line.find("{")
    if opened >= 0:
        at = opened + 1
        while (found := _LABEL.match(line, at)) is not None:
            raw = found[2]
            labels[found[1]] = _ESCAPE.sub(_unescape, raw) if "\\" in raw else raw
            at = found.end()
        closed = line.find("}", at)
        if closed < 0:
            return labels, None
        rest = line[closed + 1 :].split()
    else:
        rest = line.split()[1:]
    value = _number(rest[0]) if rest else None
    return labels, None if value is None or value == -1.0 else value


def _unescape(found: re.Match[str]) -> str:
    return {"n": "\n"}.get(found[1], found[1])


def _number(word: str) -> float | None:
    try:
        value = float(word)
    except ValueError:
        return None
    return None if value != value else value


def _engine(labels: dict[str, str]) -> str:
    return "/".join(labels[label][:12] for label in ENGINE_LABELS if labels.get(label))


def _kept(labels: dict[str, str]) -> str:
    kept = [f'engine="{_engine(labels)}"'] if _engine(labels) else []
    kept += [f'{label}="{labels[label]}"' for label in KEPT_LABELS if label in labels]
    return "{" + ",".join(kept) + "}" if kept else ""


def _bins(name: str, engine: str, cumulative: list[tuple[float, str, float]]) -> dict[str, float]:
    """Cumulative buckets -> counts of each bin. Equal bounds (two models on one page) are summed first."""
    merged: dict[float, tuple[str, float]] = {}
    for bound, le, count in cumulative:
        merged[bound] = (le, merged.get(bound, (le, 0.0))[1] + count)
    bins: dict[str, float] = {}
    below = 0.0
    prefix = f'{name}{{engine="{engine}",' if engine else name + "{"
    for bound in sorted(merged):
        le, count = merged[bound]
        bins[f'{prefix}le="{le}"}}'] = max(0.0, count - below)
        below = max(below, count)
    return bins
