"""What speculation buys, from the server's own counters: rates, acceptance, windows between marks and benchmarks.

Definitions (engines.md D; vLLM's `v1/spec_decode/metrics.py`), all over a window's counter differences, resets bridged:
drafts D, draft tokens N, accepted A, p_i accepted at position i (positions from 0):
acceptance rate A/N; per position p_i/D; conditional p_i/p_(i-1); mean acceptance length 1 + A/D (bonus token included);
step time T_s = Δinter_token_latency_sum/Δ_count; identity length = 1 + Σ p_i/D.
"""

from msgspec import Struct

from collectors.reading.events import Metrics, Request, Series


class ServingState(Struct, frozen=True):
    pass


def read(state: ServingState, event: Metrics | Series | Request) -> ServingState:
    raise NotImplementedError
