"""The result files that other benchmarks leave, read into one form."""

import json
import shlex
from collections.abc import Sequence
from math import isfinite
from pathlib import Path
from typing import Any

from launch.bench.result import OwnResult
from launch.bench.statistics import throughput_ci95

LARGEST = 256 << 20  # with --save-detailed every token's time is in it


def find(argv: Sequence[str], since: float) -> OwnResult | None:
    """What the command with this argv left after `since` (wall clock): where its flags say, else None."""
    for path in _candidates(argv):
        try:
            if path.stat().st_mtime >= since - 1 and path.stat().st_size <= LARGEST:
                own = read(path)
                if own is not None:
                    return own
        except OSError:
            continue
    return None


def _candidates(argv: Sequence[str]) -> list[Path]:
    """Where its flags say; else (a script, SGLang's own naming) the newest results of the working directory."""
    words = [word for each in argv for word in _words(each)]
    folder = Path(_flag(words, "--result-dir") or ".")
    name = _flag(words, "--result-filename")
    if name is not None:
        return [folder / name]
    output = _flag(words, "--output-file")  # SGLang's bench_serving appends a line
    if output is not None:
        return [Path(output)]
    try:
        files = [path for path in folder.iterdir() if path.suffix in (".json", ".jsonl")]
        return sorted(files, key=lambda path: path.stat().st_mtime, reverse=True)[:5]
    except OSError:
        return []


def _words(word: str) -> list[str]:
    """Of `sh -c "…"` the words inside."""
    try:
        return shlex.split(word) if " " in word else [word]
    except ValueError:
        return [word]


def _flag(words: Sequence[str], name: str) -> str | None:
    """vLLM takes `--result_dir` for `--result-dir`."""
    for place, word in enumerate(words):
        flag, equals, value = word.partition("=")
        if flag.replace("_", "-") == name:
            if equals:
                return value
            if place + 1 < len(words):
                return words[place + 1]
    return None


def read(path: Path) -> OwnResult | None:
    """A saved `vllm bench serve` JSON, or the last line of SGLang's; None for anything else.

    Both are written with Python's own json: SGLang's request rate is `Infinity`, which msgspec rightly refuses.
    """
    try:
        raw = path.read_bytes()
        lines = raw.strip().splitlines()
        try:
            found = json.loads(raw)
        except ValueError:
            found = json.loads(lines[-1]) if lines else None
    except (OSError, ValueError, RecursionError):
        return None
    return of(found, str(path)) if isinstance(found, dict) else None


def of(found: dict[str, Any], file: str) -> OwnResult | None:
    """The common figures; times from milliseconds, the acceptance rate from percent."""
    if "output_throughput" not in found or "duration" not in found:
        return None
    rate = _float(found.get("spec_decode_acceptance_rate"))
    length = found.get("spec_decode_acceptance_length", found.get("accept_length"))
    sglang = str(found.get("backend", "")).startswith("sglang") or "accept_length" in found
    # SGLang's client divides the time between chunks by their tokens: with drafts that is no step.
    by_token = found.get("backend") in ("sglang", "sglang-native")
    tok_s = _float(found.get("output_throughput"))
    return OwnResult(
        file=file,
        kind="sglang" if sglang else "vllm bench serve",
        completed=_int(found.get("completed")),
        failed=_int(found.get("failed")),
        seconds=_float(found.get("duration")),
        tok_s=tok_s,
        tok_s_ci95=throughput_ci95(_requests(found), tok_s) if tok_s else None,
        request_s=_float(found.get("request_throughput")),
        concurrency=_int(found.get("max_concurrency")),
        acceptance_rate=None if rate is None else rate / 100,
        mean_length=_float(length),
        mean_ttft_s=_ms(found.get("mean_ttft_ms")),
        mean_step_s=None if by_token else _ms(found.get("mean_itl_ms")),
        median_step_s=None if by_token else _ms(found.get("median_itl_ms")),
        mean_tpot_s=_ms(found.get("mean_tpot_ms")),
        model=_text(found.get("model_id")),
        input_tokens=_int(found.get("total_input_tokens")),
        output_tokens=_int(found.get("total_output_tokens")),
        drafts=_int(found.get("spec_decode_num_drafts")),
        draft_tokens=_int(found.get("spec_decode_draft_tokens")),
        accepted=_int(found.get("spec_decode_accepted_tokens")),
        per_position=_fractions(found.get("spec_decode_per_position_acceptance_rates")),
        request_rate=_rate(found.get("request_rate")),
    )


def _requests(found: dict[str, Any]) -> list[tuple[int, float]]:
    """(tokens, seconds) of each request that succeeded; only a detailed result holds them."""
    lists = [found.get(name) for name in ("output_lens", "ttfts", "itls")]
    if not all(isinstance(each, list) for each in lists):
        return []
    each = zip(*(each or [] for each in lists), strict=False)
    try:
        return [(int(tokens), float(ttft) + sum(gaps)) for tokens, ttft, gaps in each if tokens and ttft]
    except (TypeError, ValueError):
        return []


def _rate(value: Any) -> str | None:
    """vLLM writes "inf" or a number, SGLang a number, Infinity or "trace"."""
    return f"{value:g}" if isinstance(value, int | float) else _text(value)


def _float(value: Any) -> float | None:
    number = isinstance(value, int | float) and not isinstance(value, bool) and isfinite(value)
    return float(value) if number else None


def _int(value: Any) -> int | None:
    number = _float(value)
    return None if number is None else round(number)


def _ms(value: Any) -> float | None:
    number = _float(value)
    return None if number is None else number / 1000


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _fractions(value: Any) -> tuple[float, ...] | None:
    if not isinstance(value, list) or not value:
        return None
    shares = tuple(_float(share) for share in value)
    return None if None in shares else tuple(share for share in shares if share is not None)
