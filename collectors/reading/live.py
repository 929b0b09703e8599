"""The bounded series behind the plots: one point for each interval between two pages."""

from collections.abc import Mapping

from msgspec import Struct

from collectors.reading.series import Ring

POINTS = 240


class Live(Struct, frozen=True):
    """Bounded series for the plots; None in them is a gap (idle or unknown)."""

    tok_s: Ring = Ring(POINTS)
    drafted_tok_s: Ring = Ring(POINTS)
    accepted_tok_s: Ring = Ring(POINTS)
    acceptance_rate: Ring = Ring(POINTS)
    mean_length: Ring = Ring(POINTS)
    step_s: Ring = Ring(POINTS)
    ttft_s: Ring = Ring(POINTS)
    kv_used: Ring = Ring(POINTS)
    running: Ring = Ring(POINTS)
    waiting: Ring = Ring(POINTS)


def point(
    live: Live, t: float, length: float, sums: Mapping[str, float], gauges: Mapping[str, float | None]
) -> Live:
    """`sums`: what each meaning grew by over the `length` seconds up to `t`; `gauges` as of `t`."""
    drafts, drafted, accepted = (sums.get(name) or 0.0 for name in ("drafts", "draft_tokens", "accepted"))
    rate = 1 / length if length else 0.0
    return Live(
        _add(live.tok_s, t, sums.get("generated", 0.0) * rate or None),
        _add(live.drafted_tok_s, t, drafted * rate or None),
        _add(live.accepted_tok_s, t, accepted * rate if drafted else None),
        _add(live.acceptance_rate, t, accepted / drafted if drafted else None),
        _add(live.mean_length, t, 1 + accepted / drafts if drafts else gauges.get("stated_length")),
        _add(live.step_s, t, _mean(sums, "itl")),
        _add(live.ttft_s, t, _mean(sums, "ttft")),
        _add(live.kv_used, t, gauges.get("kv_used")),
        _add(live.running, t, gauges.get("running")),
        _add(live.waiting, t, gauges.get("waiting")),
    )


def _add(ring: Ring, t: float, value: float | None) -> Ring:
    if value is None and ring.last is None:  # one None is gap enough
        return ring
    return ring.add(t, None if value is None else round(value, 6))


def _mean(sums: Mapping[str, float], meaning: str) -> float | None:
    count = sums.get(meaning + "_count")
    return sums.get(meaning + "_sum", 0.0) / count if count else None
