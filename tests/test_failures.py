"""The rows of known failures: each is tried on the lines it was written for."""

import re
import timeit

import pytest

from collectors.reading.log.rules.failure import ECHO as ECHO_WEIGHT
from collectors.reading.log.rules.failure import TRACE, Failure
from collectors.reading.log.rules.failures import FAILURES, KINDS
from collectors.reading.log.rules.story import ECHO

EXAMPLES = [(rule, example) for rule in FAILURES for example in rule.examples]


@pytest.mark.parametrize(
    ("rule", "example"), EXAMPLES, ids=[f"{r.id}-{i}" for i, (r, _) in enumerate(EXAMPLES)]
)
def test_a_rule_finds_its_own_examples_and_no_other_rule_takes_them(rule: Failure, example: str) -> None:
    found = KINDS.find(example)
    assert found is not None
    assert found.rule == rule.id
    assert found.weight == TRACE or ECHO.search(example) is None, "an echo never is the cause"
    assert not re.search(r"  |\( | \)|\(\)| [.,;]( |$)", found.summary)


@pytest.mark.parametrize("rule", FAILURES, ids=lambda rule: rule.id)
def test_a_rule_says_what_happened_and_what_to_do(rule: Failure) -> None:
    assert rule.examples
    assert rule.hint
    assert rule.weight > ECHO_WEIGHT


@pytest.mark.parametrize("rule", FAILURES, ids=lambda rule: rule.id)
def test_what_the_sentences_name_is_read_from_the_line(rule: Failure) -> None:
    """A name without its group would be an error on the day of the failure; the examples hold facts of it."""
    sentences = " ".join((rule.say, rule.hint or "", *rule.hints.values()))
    told = set(re.findall(r"\{(\w+)\}", sentences)) - {"where", "share"}
    pattern = re.compile(rule.pattern, re.DOTALL)
    assert told <= set(pattern.groupindex)
    matches = [pattern.search(example) for example in rule.examples]
    found = {name for match in matches if match for name, text in match.groupdict().items() if text}
    assert not told or told & found


def test_numbers_of_the_match_stand_in_the_sentence_and_in_the_hint() -> None:
    found = KINDS.find(
        "ValueError: To serve at least one request with the model's max seq len (262144), (18.35 GiB KV cache "
        "is needed, which is larger than the available KV cache memory (8.72 GiB). Based on the available memory, "
        "the estimated maximum model length is 121840."
    )
    assert found is not None
    assert found.summary == (
        "The KV cache is too small for one request of 262144 tokens: 18.35 GiB needed, 8.72 GiB free."
    )
    assert found.hint is not None
    assert "--max-model-len 121840" in found.hint


def test_the_stretch_of_the_start_decides_what_to_do_about_gpu_memory() -> None:
    line = "torch.AcceleratorError: CUDA error: out of memory"
    hints = {where: KINDS.find(line, where) for where in ("load", "capture", "run", "")}
    assert len({found.hint for found in hints.values() if found}) == 4


def test_a_hostile_text_costs_in_proportion_to_its_length() -> None:
    """Ten times the length: a linear rule costs ten times as much, a quadratic one a hundred times (it was 48 ms)."""

    def cost(text: str) -> float:
        return min(timeit.repeat(lambda: KINDS.find(text), number=1, repeat=5))

    needles = {
        n for rule in FAILURES for n in ((rule.needle,) if isinstance(rule.needle, str) else rule.needle)
    }
    for unit in [*sorted(needles), "a.b.", "[(' File", "CUDA error: out of memory "]:
        assert cost((unit * 2000)[:2000]) < 40 * cost((unit * 200)[:200]) + 0.008, unit
