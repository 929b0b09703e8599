"""One sentence on what speculation bought, with its evidence: a table of rules over measured windows.

It says "consistent with", never a cause that the data cannot show, and what experiment would tell.
"""

from collections.abc import Callable, Iterator
from math import sqrt

from msgspec import Struct

from collectors.reading.gain import Gain, Measured, gain

__all__ = ["RULES", "Gain", "Measured", "Verdict", "gain", "verdict"]

ENOUGH_DRAFTS = 200  # ±7 points on position 0
SURE_DRAFTS = 2000  # ±1 point (σ ≈ sqrt(a(1-a)/D))
SURE_WITHOUT_INTERVAL = 0.05  # a speed-up whose interval nobody knows is none within so much of 1
WORTH_A_CHANGE = 1.03  # a shorter K is advised from 3 % up


class Verdict(Struct, frozen=True):
    """`tone`: "good", "bad", "unsure", "unknown". `next`: the experiment or command that would tell more."""

    id: str
    tone: str
    sentence: str
    evidence: tuple[str, ...] = ()
    next: str | None = None


class _Case(Struct, frozen=True):
    it: Measured
    base: Measured | None
    gain: Gain | None

    @property
    def times(self) -> str:
        assert self.gain is not None
        low_high = self.gain.speedup_ci
        spread = f" ±{(low_high[1] - low_high[0]) / 2:.2f}" if low_high else ""
        at = f" at concurrency {self.it.concurrency}" if self.it.concurrency else ""
        return f"{self.gain.speedup:.2f}×{spread}{at}"

    @property
    def limited(self) -> bool:
        return self.base is not None and (self.it.limited or self.base.limited)

    @property
    def surely(self) -> str | None:
        """ "faster", "slower", or None where the interval holds 1 or the speed is not the server's."""
        if self.gain is None or self.gain.speedup is None or self.limited:
            return None
        about = (self.gain.speedup - SURE_WITHOUT_INTERVAL, self.gain.speedup + SURE_WITHOUT_INTERVAL)
        low, high = self.gain.speedup_ci or about
        return "faster" if low > 1 else "slower" if high < 1 else None


def _evidence(case: _Case) -> Iterator[str]:
    it = case.it
    if it.rate is not None and it.length is not None:
        most = f" of {it.k + 1}" if it.k else ""
        yield (
            f"acceptance {it.rate:.1%} of {it.draft_tokens:,} drafted, mean length {it.length:.2f}{most} "
            "(bonus token included)"
        )
    elif it.length is not None:
        yield f"mean length {it.length:.2f} by the server's own word"
    if it.per_position:
        yield "accepted at position 0, 1, …: " + " ".join(f"{a:.1%}" for a in it.per_position)
    if case.gain is not None and case.gain.step_ratio is not None:
        even = (
            f", acceptance {case.gain.break_even_rate:.1%}" if case.gain.break_even_rate is not None else ""
        )
        yield (
            f"a step costs {case.gain.step_ratio:.3f} of a plain one: it pays from mean length "
            f"{max(1.0, case.gain.step_ratio):.2f}{even} up"
        )
    if it.drafts is not None and it.drafts < SURE_DRAFTS and it.per_position:
        a = it.per_position[0]
        yield f"{it.drafts:,} drafts: position 0 is known to about ±{1.96 * sqrt(a * (1 - a) / max(1, it.drafts)):.1%}"


def _limited(case: _Case) -> tuple[str, str, str | None] | None:
    if not case.limited:
        return None
    return (
        "unknown",
        f"The load generator was the limit at {case.it.name}, not the server: no speed-up can be told from it.",
        "the same load from another machine, or a lower concurrency",
    )


def _no_drafts(case: _Case) -> tuple[str, str, str | None] | None:
    if case.it.speculates:
        return None
    return "unknown", "No draft was verified in this window.", "send requests, or run `specwatch bench`"


def _too_little(case: _Case) -> tuple[str, str, str | None] | None:
    drafts = case.it.drafts
    if drafts is None or drafts >= ENOUGH_DRAFTS:  # None: the server counts none; its speed can be judged
        return None
    few = f"too little data: {drafts:,} drafts (a verdict needs {ENOUGH_DRAFTS})."
    said = f"{case.times}, but of acceptance {few}" if case.surely else few.capitalize()
    return "unknown", said, "`specwatch bench` with more --requests"


def _low_off_plain(case: _Case) -> tuple[str, str, str | None] | None:
    """Low acceptance where requests are sampled or long may be theirs as well as the drafter's."""
    it = case.it
    first = it.per_position[0] if it.per_position else None
    if first is None or first >= 0.20 or not (it.temperature or it.context):
        return None
    where = [f"at temperature {it.temperature:g}"] if it.temperature else []
    where += [f"behind {it.context:,} tokens of context"] if it.context else []
    fits = "sampling that no drafter can foresee" if it.temperature else "a drafter trained on shorter texts"
    slower = f"Slower than no speculation: {case.times}. " if case.surely == "slower" else ""
    said = (
        f"{slower}Position 0 is accepted {first:.1%} of the time {' and '.join(where)}: consistent with {fits}, or "
        "with a drafter that does not see this target; short prompts at temperature 0 tell."
    )
    return "bad" if slower else "unsure", said, "specwatch bench --temperature 0 --context 0"


def _sick(case: _Case) -> tuple[str, str, str | None] | None:
    first = case.it.per_position[0] if case.it.per_position else None
    if first is None or first >= 0.20:
        return None
    if first <= 0.01:
        fits = "consistent with a broken vocabulary map, RoPE, norm or embedding, or weights that were never loaded"
    elif len(case.it.per_position) > 1 and case.it.per_position[1] < 0.1 * first + 0.005:
        fits = "consistent with wrong hidden states: layers, norm, or another target"
    else:
        fits = "consistent with a drafter for another target or domain"
    slower = f"Slower than no speculation: {case.times}. " if case.surely == "slower" else ""
    rate = f"{slower}Position 0 is accepted {first:.1%} of the time"
    then = "specwatch doctor TARGET DRAFTER; or the same flags with another drafter"
    if (
        case.it.temperature is None and first > 0.01
    ):  # live, or another's benchmark: how it sampled is not known
        said = f"{rate}: {fits}, or with requests that are sampled."
        return "bad", said, f"specwatch bench, which asks at temperature 0; {then}"
    return "bad", f"{rate}: the drafter does not see this target ({fits}).", then


def _collapse(case: _Case) -> tuple[str, str, str | None] | None:
    a = case.it.per_position
    if len(a) < 2 or a[0] < 0.45 or a[1] / a[0] >= 0.5 * a[0]:
        return None
    said = (
        f"Position 0 is accepted {a[0]:.1%} of the time, position 1 only {a[1] / a[0]:.1%} of those: consistent with a "
        "wrong recurrent state (norm_output, the state fed back, the drafter's KV cache)."
    )
    slower = f"Slower than no speculation: {case.times}. " if case.surely == "slower" else ""
    return (
        "bad",
        slower + said,
        "specwatch doctor TARGET DRAFTER; or num_speculative_tokens 1 with the same drafter",
    )


def _slower(case: _Case) -> tuple[str, str, str | None] | None:
    if case.surely != "slower":
        return None
    assert case.gain is not None
    ratio, length = case.gain.step_ratio, case.it.length
    if ratio is not None and length is not None and length < ratio:
        why = (
            f"drafts are accepted, but a step costs {ratio:.2f} of a plain one and yields {length:.2f} tokens"
        )
    else:
        why = "drafts are accepted, and verifying them costs more than they save"
    return (
        "bad",
        f"Accepted but slower: {case.times}; {why}.",
        "a shorter K, a lower concurrency, or no speculation at this load",
    )


def _shorter(case: _Case) -> tuple[str, str, str | None] | None:
    if case.gain is None or case.gain.best_k is None or case.gain.best_k_gain is None:
        return None
    if case.gain.best_k_gain < WORTH_A_CHANGE or case.surely != "faster":
        return None
    more = case.gain.best_k_gain - 1
    k = case.gain.best_k
    said = f"Pays, {case.times}, but less than K = {k} would: about {more:.0%} more by this run's positions."
    return "good", said, f"the same launch with num_speculative_tokens {k}"


def _pays(case: _Case) -> tuple[str, str, str | None] | None:
    if case.surely != "faster":
        return None
    return "good", f"Pays: {case.times}.", None


def _no_difference(case: _Case) -> tuple[str, str, str | None] | None:
    if case.gain is None or case.gain.speedup is None:
        return None
    return (
        "unsure",
        f"No difference that this sample shows: {case.times}.",
        "more requests at this concurrency",
    )


def _by_acceptance(case: _Case) -> tuple[str, str, str | None] | None:
    """Without a baseline: how acceptance compares with published EAGLE-3 chains at K = 3."""
    a, length = case.it.per_position, case.it.length
    if not a or length is None:
        return None
    if a[0] >= 0.60:
        word, tone = "healthy", "good"
    elif a[0] >= 0.45:
        word, tone = "usable; whether it pays depends on the step time", "unsure"
    else:
        word, tone = (
            "low: consistent with another domain, temperature or long context, or a mismatch",
            "unsure",
        )
    said = (
        f"Acceptance is {word} ({a[0]:.1%} at position 0, mean length {length:.2f}). "
        "Only a baseline shows what it buys."
    )
    return tone, said, "the same launch without --speculative-config, then `specwatch compare`"


RULES: tuple[tuple[str, Callable[[_Case], tuple[str, str, str | None] | None]], ...] = (
    ("no-drafts", _no_drafts),
    ("too-little", _too_little),
    ("low-off-plain", _low_off_plain),
    ("sick-at-0", _sick),
    ("collapse", _collapse),
    ("generator-limit", _limited),
    ("accepted-but-slower", _slower),
    ("shorter-k", _shorter),
    ("pays", _pays),
    ("no-difference", _no_difference),
    ("by-acceptance", _by_acceptance),
)


def verdict(measured: Measured, baseline: Measured | None = None) -> Verdict:
    """The first rule that applies; the evidence is the same for all."""
    case = _Case(measured, baseline, gain(measured, baseline) if baseline is not None else None)
    for name, rule in RULES:
        said = rule(case)
        if said is not None:
            tone, sentence, then = said
            return Verdict(name, tone, sentence, tuple(_evidence(case)), then)
    return Verdict("unknown", "unknown", "Nothing was measured that a verdict could stand on.")
