"""What a speculative window gains over a plain one.

Theory (Leviathan et al. 2022, arXiv 2211.17192, with measured step times): speed-up S = τ·T_0/T_s; break-even length
τ* = T_s/T_0, so an acceptance rate of (T_s/T_0 - 1)/K. One run at K gives the acceptance of every shorter K' too, and
T_s is nearly linear in K (vllm#20780: 8.35 + 1.02·K ms), so shorter K' can be ranked from it.
"""

from math import sqrt

from msgspec import Struct

ALIKE = 0.10  # running requests of two windows may differ by so much for T_s/T_0


class Measured(Struct, frozen=True, kw_only=True):
    """One window of one server: a benchmark level, or live since the mark. None: not known."""

    name: str = ""
    concurrency: int | None = None
    temperature: float | None = None
    context: int | None = None  # tokens before each prompt
    tok_s: float | None = None
    tok_s_ci: tuple[float, float] | None = None  # 95 %
    drafts: int | None = None
    draft_tokens: int | None = None
    accepted: int | None = None
    per_position: tuple[float, ...] = ()
    stated_length: float | None = None  # the server's own word, where it counts no drafts (SGLang)
    step_s: float | None = None
    mixed: bool = False  # steps that hold other requests' prefill weigh in step_s: it is no T_s and no T_0
    mean_running: float | None = None
    limited: bool = False  # the load generator was the limit: the server may do more than tok_s

    @property
    def speculates(self) -> bool:
        return bool(self.drafts) or self.stated_length is not None

    @property
    def k(self) -> int:
        """Drafted tokens a step; 0: not known."""
        if self.per_position or not self.drafts or not self.draft_tokens:
            return len(self.per_position)
        return round(self.draft_tokens / self.drafts)

    @property
    def rate(self) -> float | None:
        return self.accepted / self.draft_tokens if self.accepted is not None and self.draft_tokens else None

    @property
    def length(self) -> float | None:
        if self.accepted is not None and self.drafts:
            return 1 + self.accepted / self.drafts
        return self.stated_length


class Gain(Struct, frozen=True):
    """A speculative window against a plain one at the same concurrency."""

    speedup: float | None
    speedup_ci: tuple[float, float] | None
    step_ratio: float | None  # T_s/T_0, the break-even length; None where the windows are not alike
    break_even_rate: float | None  # acceptance rate at which it neither gains nor loses
    best_k: int | None  # of 1 … K, by the linear fit of T_s; None without T_0
    best_k_gain: float | None  # speed at best_k over that at K


def gain(measured: Measured, baseline: Measured) -> Gain:
    speedup = _ratio(measured.tok_s, baseline.tok_s)
    ratio = _ratio(measured.step_s, baseline.step_s) if _alike(measured, baseline) else None
    even = max(0.0, (ratio - 1) / measured.k) if ratio is not None and measured.k else None
    best, best_gain = _best_k(measured, ratio)
    return Gain(speedup, _ratio_ci(measured, baseline), ratio, even, best, best_gain)


def _ratio(a: float | None, b: float | None) -> float | None:
    return a / b if a is not None and b else None


def _ratio_ci(a: Measured, b: Measured) -> tuple[float, float] | None:
    """95 % interval of a ratio of two independent means (delta method on the halves of their own intervals)."""
    ratio = _ratio(a.tok_s, b.tok_s)
    if ratio is None or a.tok_s_ci is None or b.tok_s_ci is None or not a.tok_s or not b.tok_s:
        return None
    halves = [
        (high - low) / 2 / middle for (low, high), middle in ((a.tok_s_ci, a.tok_s), (b.tok_s_ci, b.tok_s))
    ]
    half = ratio * sqrt(sum(h * h for h in halves))
    return ratio - half, ratio + half


def _alike(a: Measured, b: Measured) -> bool:
    """T_0 comes only from windows of equal running counts, without prefill."""
    if a.mixed or b.mixed:
        return False
    if a.mean_running is None or b.mean_running is None:
        return a.concurrency is not None and a.concurrency == b.concurrency
    return abs(a.mean_running - b.mean_running) <= ALIKE * max(a.mean_running, b.mean_running)


def _best_k(measured: Measured, ratio: float | None) -> tuple[int | None, float | None]:
    """The K' <= K with the most tokens a second, T_s(K') on the line through T_0 and T_s(K)."""
    if ratio is None or not measured.per_position:
        return None, None
    step = (ratio - 1) / measured.k
    speed = {k: (1 + sum(measured.per_position[:k])) / (1 + step * k) for k in range(1, measured.k + 1)}
    best = max(speed, key=lambda k: (round(speed[k], 6), -k))
    return best, speed[best] / speed[measured.k]
