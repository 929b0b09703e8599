"""The metrics that are kept of a page, and what they mean. To keep one more: one row here, and whoever shows it.

Their own names go into the record; what they mean is decided here, when the record is read. What no row names is not
recorded: a page of 8 engines is 190 kB.
Covers vLLM 0.6-0.33 (V0 and V1) and SGLang 0.4-0.5.23.
"""

from typing import NamedTuple

COUNTER = "counter"
GAUGE = "gauge"
HISTOGRAM = "histogram"  # `_sum` and `_count` only: exact means
BINS = "bins"  # and the buckets, for quantile estimates
SUM, MAX, MEAN = "sum", "max", "mean"


class Wanted(NamedTuple):
    meaning: str
    kind: str
    names: tuple[str, ...]  # as exposed, the newest first: where a page has several, the first of them counts
    together: str = SUM  # a gauge of several engines as one figure; counters are summed


WANTED: tuple[Wanted, ...] = (
    Wanted("generated", COUNTER, ("vllm:generation_tokens_total", "sglang:generation_tokens_total")),
    Wanted("prompt", COUNTER, ("vllm:prompt_tokens_total", "sglang:prompt_tokens_total")),
    Wanted("finished", COUNTER, ("vllm:request_success_total", "sglang:num_requests_total")),
    Wanted("drafts", COUNTER, ("vllm:spec_decode_num_drafts_total",)),
    Wanted("draft_tokens", COUNTER, ("vllm:spec_decode_num_draft_tokens_total",)),
    Wanted("accepted", COUNTER, ("vllm:spec_decode_num_accepted_tokens_total",)),
    Wanted("accepted_at", COUNTER, ("vllm:spec_decode_num_accepted_tokens_per_pos_total",)),
    Wanted("running", GAUGE, ("vllm:num_requests_running", "sglang:num_running_reqs")),
    Wanted("waiting", GAUGE, ("vllm:num_requests_waiting", "sglang:num_queue_reqs")),
    # 0 to 1 under every name, whatever `perc` suggests.
    Wanted(
        "kv_used", GAUGE, ("vllm:kv_cache_usage_perc", "vllm:gpu_cache_usage_perc", "sglang:token_usage"), MAX
    ),
    # SGLang counts no drafts: its own gauges (bonus included) are all there is, shown as its word, not ours.
    Wanted("stated_length", GAUGE, ("sglang:spec_accept_length",), MEAN),
    Wanted("stated_rate", GAUGE, ("sglang:spec_accept_rate", "vllm:spec_decode_draft_acceptance_rate"), MEAN),
    Wanted("steps", HISTOGRAM, ("vllm:iteration_tokens_total",)),
    Wanted("ttft", BINS, ("vllm:time_to_first_token_seconds", "sglang:time_to_first_token_seconds")),
    # One observation for each engine output of a request, not for each token: with drafts, the step time. SGLang's
    # divides it by the output's tokens (`observe_inter_token_latency`), which is no step time and is not read.
    Wanted(
        "itl",
        BINS,
        (
            "vllm:inter_token_latency_seconds",
            "vllm:time_per_output_token_seconds",
        ),
    ),
)

# The labels that become the series' `engine`, in this order. Ray has several workers on one page; a worker
# that restarts must be seen as one counter falling, not as a dent in a sum.
ENGINE_LABELS = ("engine", "dp_rank", "WorkerId")
KEPT_LABELS = ("position", "finished_reason")
# SGLang can report the same tokens once for each rank of a group: only the first rank's count.
FIRST_RANK_LABELS = ("tp_rank", "pp_rank", "moe_ep_rank")
PREFIXES = ("ray_",)


def _exposed() -> dict[str, tuple[str, str, int]]:
    table: dict[str, tuple[str, str, int]] = {}
    for wanted in WANTED:
        for rank, name in enumerate(wanted.names):
            if wanted.kind in (HISTOGRAM, BINS):
                table[name + "_sum"] = (wanted.meaning + "_sum", COUNTER, rank)
                table[name + "_count"] = (wanted.meaning + "_count", COUNTER, rank)
            else:
                table[name] = (wanted.meaning, wanted.kind, rank)
            if wanted.kind == BINS:
                table[name + "_bucket"] = (wanted.meaning + "_bin", COUNTER, rank)
                table[name + "_bin"] = (wanted.meaning + "_bin", COUNTER, rank)
    return table


TOGETHER = {wanted.meaning: wanted.together for wanted in WANTED}
EXPOSED: dict[str, tuple[str, str, int]] = _exposed()  # sample name -> (meaning, kind, rank)
