"""The result files that other benchmarks leave, read into one form."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from launch.bench.result import OwnResult

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
    folder = Path(_flag(argv, "--result-dir") or ".")
    name = _flag(argv, "--result-filename")
    if name is not None:
        return [folder / name]
    output = _flag(argv, "--output-file")  # SGLang's bench_serving appends a line
    if output is not None:
        return [Path(output)]
    if "--save-result" not in argv and "--save-detailed" not in argv:
        return []
    try:
        return sorted(folder.glob("*.json"), key=lambda path: path.stat().st_mtime, reverse=True)[:5]
    except OSError:
        return []


def _flag(argv: Sequence[str], name: str) -> str | None:
    for place, word in enumerate(argv):
        if word == name and place + 1 < len(argv):
            return argv[place + 1]
        if word.startswith(name + "="):
            return word.partition("=")[2]
    return None


def read(path: Path) -> OwnResult | None:
    """A saved `vllm bench serve` JSON, or the last line of SGLang's; None for anything else."""
    try:
        raw = path.read_bytes()
        lines = raw.strip().splitlines()
        try:
            found = msgspec.json.decode(raw)
        except msgspec.MsgspecError:
            found = msgspec.json.decode(lines[-1]) if lines else None
    except (OSError, msgspec.MsgspecError):
        return None
    return of(found, str(path)) if isinstance(found, dict) else None


def of(found: dict[str, Any], file: str) -> OwnResult | None:
    """The common figures; times from milliseconds, the acceptance rate from percent."""
    if "output_throughput" not in found or "duration" not in found:
        return None
    rate = _float(found.get("spec_decode_acceptance_rate"))
    length = found.get("spec_decode_acceptance_length", found.get("accept_length"))
    sglang = str(found.get("backend", "")).startswith("sglang") or "accept_length" in found
    return OwnResult(
        file=file,
        kind="sglang" if sglang else "vllm bench serve",
        completed=_int(found.get("completed")),
        failed=_int(found.get("failed")),
        seconds=_float(found.get("duration")),
        tok_s=_float(found.get("output_throughput")),
        request_s=_float(found.get("request_throughput")),
        concurrency=_int(found.get("max_concurrency")),
        acceptance_rate=None if rate is None else rate / 100,
        mean_length=_float(length),
        mean_ttft_s=_ms(found.get("mean_ttft_ms")),
        mean_step_s=_ms(found.get("mean_itl_ms")),
        mean_tpot_s=_ms(found.get("mean_tpot_ms")),
        model=_text(found.get("model_id")),
        input_tokens=_int(found.get("total_input_tokens")),
        output_tokens=_int(found.get("total_output_tokens")),
        drafts=_int(found.get("spec_decode_num_drafts")),
        draft_tokens=_int(found.get("spec_decode_draft_tokens")),
        accepted=_int(found.get("spec_decode_accepted_tokens")),
        per_position=_fractions(found.get("spec_decode_per_position_acceptance_rates")),
    )


def _float(value: Any) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


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
