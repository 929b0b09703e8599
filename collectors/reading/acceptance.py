"""The arithmetic of speculative decoding over one window: counter differences -> figures.

Definitions (vLLM's `v1/spec_decode/metrics.py`): drafts D, draft tokens N, accepted draft tokens A, p_i
drafts with more than i tokens accepted (positions from 0). Acceptance rate A/N; per position p_i/D;
conditional p_i/p_(i-1); mean acceptance length 1 + A/D, the bonus token included; always length = 1 + sum of
p_i/D.
"""

from msgspec import Struct, structs

from collectors.reading.counters import Slot, by_engine, keyed, summed
from collectors.reading.histograms import quantile
from collectors.reading.windows import Totals, difference

IDENTITY_SLACK = 0.02  # a scrape between two increments of the server moves the two sides apart by less


class Figures(Struct, frozen=True, kw_only=True):
    """One window. None: unknown, or nothing to divide by; never 0 for want of data. Times in seconds."""

    seconds: float  # wall length of the window
    active_s: float  # of scrape intervals in which the server worked
    resolution_s: float | None  # mean length of these: how exactly the active time is known
    requests_finished: int | None
    requests_failed: int | None = None  # of these, ended by an abort or an error
    prompt_tokens: int | None
    generated: int | None
    tok_s: (
        float | None
    )  # generated tokens a second of busy time (requests running at both ends of an interval)
    wall_tok_s: float | None
    mean_running: float | None  # requests running, mean over the active time
    drafts: int | None
    draft_tokens: int | None
    accepted: int | None
    drafted_tok_s: float | None  # a second of active time
    accepted_tok_s: float | None
    acceptance_rate: float | None  # A/N
    per_position: tuple[float, ...] | None  # p_i/D
    conditional: tuple[float | None, ...] | None  # p_i/p_(i-1); None after a position that accepted nothing
    mean_length: float | None  # 1 + A/D, bonus included
    identity_gap: float | None  # mean_length - (1 + sum of per_position)
    identity_ok: bool | None
    step_s: (
        float | None
    )  # mean inter-token latency: one engine output of a request, so the step time with drafts
    step_count: int | None
    step_p50_s: float | None  # quantiles are estimates from the server's buckets
    ttft_mean_s: float | None  # exact: sum / count
    ttft_count: int | None
    ttft_p50_s: float | None
    ttft_p90_s: float | None
    ttft_p99_s: float | None
    draft_share: float | None  # of the generated tokens, those that came from drafts: A / generated
    skipped_share: float | None  # of decode outputs, those without a draft
    resets: int
    engines: dict[str, "Figures"] = {}  # only with more than one


def figures(begin: Totals, end: Totals, slots: tuple[Slot | None, ...]) -> Figures:
    """The figures of the window between two instants."""
    return of_window(difference(begin, end), slots)


def of_window(window: Totals, slots: tuple[Slot | None, ...]) -> Figures:
    """The figures of a window that is a difference already."""
    whole = _of_part(window, slots, True)
    parts = by_engine(slots, window.values)
    if len(parts) < 2:
        return whole
    engines = {
        engine: _of_part(
            Totals(window.t, values, window.active, 0.0, 0.0, 0.0, window.intervals, window.resets),
            slots,
            False,
        )
        for engine, values in parts.items()
    }
    return _with(whole, engines)


def _with(whole: Figures, engines: dict[str, Figures]) -> Figures:
    return structs.replace(whole, engines=engines)


def _of_part(window: Totals, slots: tuple[Slot | None, ...], whole: bool) -> Figures:
    sums = summed(slots, window.values)
    drafts, drafted, accepted = (sums.get(name) for name in ("drafts", "draft_tokens", "accepted"))
    positions = keyed(slots, window.values, "accepted_at")
    at = [positions[key] for key in sorted(positions, key=int)]
    per_position = tuple(p / drafts for p in at) if drafts and at else None
    length = 1 + accepted / drafts if drafts and accepted is not None else None
    gap = length - 1 - sum(per_position) if length is not None and per_position else None
    generated, outputs = sums.get("generated"), sums.get("itl_count")
    ttft, itl = keyed(slots, window.values, "ttft_bin"), keyed(slots, window.values, "itl_bin")
    return Figures(
        seconds=window.t,
        active_s=round(window.active, 3),
        resolution_s=round(window.active / window.intervals, 3) if window.intervals else None,
        requests_finished=_whole(sums.get("finished")),
        requests_failed=_failed(keyed(slots, window.values, "finished")),
        prompt_tokens=_whole(sums.get("prompt")),
        generated=_whole(generated),
        tok_s=_speed(window, generated, whole),
        wall_tok_s=_per(generated, window.t) if generated else None,
        mean_running=_per(window.running, window.active) if whole else None,
        drafts=_whole(drafts),
        draft_tokens=_whole(drafted),
        accepted=_whole(accepted),
        drafted_tok_s=_per(drafted, window.active),
        accepted_tok_s=_per(accepted, window.active),
        acceptance_rate=_per(accepted, drafted),
        per_position=per_position,
        conditional=_conditional(at, drafts) if per_position else None,
        mean_length=length,
        identity_gap=gap,
        identity_ok=abs(gap) <= IDENTITY_SLACK if gap is not None else None,
        step_s=_per(sums.get("itl_sum"), outputs),
        step_count=_whole(outputs),
        step_p50_s=quantile(itl, 0.5),
        ttft_mean_s=_per(sums.get("ttft_sum"), sums.get("ttft_count")),
        ttft_count=_whole(sums.get("ttft_count")),
        ttft_p50_s=quantile(ttft, 0.5),
        ttft_p90_s=quantile(ttft, 0.9),
        ttft_p99_s=quantile(ttft, 0.99),
        draft_share=_per(accepted, generated),
        skipped_share=max(0.0, 1 - drafts / outputs) if drafts is not None and outputs else None,
        resets=window.resets,
    )


def _speed(window: Totals, generated: float | None, whole: bool) -> float | None:
    """Tokens a second over the intervals that were busy throughout, but never below what the active time proves.

    The intervals in which work began or ended are left out with their tokens: at one scrape a second they would
    count up to 2 s of idleness (in recording h200-good, whose first benchmark lasts 6.93 s, more than a tenth).
    All tokens over all active time are a lower bound, the better one where few intervals were busy throughout.
    """
    proven = _per(generated, window.active) if generated else None
    if whole and window.busy > 0:
        return max(window.busy_tokens / window.busy, proven or 0.0) or None
    return proven


def _conditional(at: list[float], drafts: float | None) -> tuple[float | None, ...]:
    return tuple(_per(now, before) for now, before in zip(at, [drafts, *at], strict=False))


def _per(amount: float | None, by: float | None) -> float | None:
    return amount / by if amount is not None and by else None


def _failed(ended: dict[str, float]) -> int | None:
    """Of vLLM's `finished_reason`; None where the server does not tell them apart."""
    known = [ended[reason] for reason in ("abort", "error") if reason in ended]
    return round(sum(known)) if known else None


def _whole(value: float | None) -> int | None:
    return None if value is None else round(value)
