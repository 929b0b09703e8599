"""The tables of reading and noise rules: each row is tried on the lines that it was written for."""

import re
from collections.abc import Iterable

import pytest

from collectors.reading.events import Log, UserNoise
from collectors.reading.log import needles, noise
from collectors.reading.log.lines import Line, lines
from collectors.reading.log.reader import read
from collectors.reading.log.rules.noise import NOISE
from collectors.reading.log.rules.rule import Noise, Rule
from collectors.reading.log.rules.table import RULES, is_banner
from collectors.reading.log.state import LogState

# Lines of another engine, of tools and of users, that no rule may take for anything.
STRANGERS = (
    "hello",
    "+ exec python -m something --port 8000",
    "INFO 12-01 03:32:51 [x.py:1] prompt: 'Application startup complete.'",
    "Prompt: Starting to load model /m...",
    "[launcher] The server is fired up and ready to roll!",
    "The server is fired up and ready to roll!",
)


def line_of(example: str) -> Line:
    return next(iter(lines(example.encode(), 1, 0, 0.0)))


def examples(rules: Iterable[Rule | Noise]) -> list[object]:
    return [
        pytest.param(rule, text, id=f"{rule.id}-{n}")
        for rule in rules
        for n, text in enumerate(rule.examples)
    ]


def after(text: str, before: LogState) -> LogState:
    return read(before, Log(t=1.0, offset=before.size, data=text.encode() + b"\n"))


def story(state: LogState) -> tuple[object, ...]:
    """What a reading rule may change; not the sizes and counts that every line changes."""
    return (
        state.phase, state.steps, state.ready, state.engine, state.engine_version, state.model, state.memory_gib,
        state.spec, state.gen_tok_s, state.problems, state.patches, state.stopping_t, state.drafting,
    )  # fmt: skip


@pytest.mark.parametrize("rules", [RULES, NOISE], ids=["reading", "noise"])
def test_every_rule_has_a_name_of_its_own_and_an_example(rules: tuple[Rule | Noise, ...]) -> None:
    names = [rule.id for rule in rules]
    assert sorted(names) == sorted(set(names))
    assert [rule.id for rule in rules if not rule.examples] == []


@pytest.mark.parametrize(("rule", "example"), examples(RULES))
def test_a_reading_rule_reads_its_examples(rule: Rule, example: str) -> None:
    line = line_of(example)
    assert rule.needle in line.msg
    assert not rule.heads or line.head in rule.heads
    found = re.search(rule.pattern, line.msg)
    assert found is not None
    assert rule.effect(LogState(), line, found) != LogState()
    assert story(after(example, LogState())) != story(LogState())


@pytest.mark.parametrize(("rule", "example"), examples(RULES))
def test_only_the_start_of_a_run_is_a_banner(rule: Rule, example: str) -> None:
    assert is_banner(line_of(example)) == rule.starts


def test_each_engine_has_a_banner() -> None:
    assert {"server version ", "  version ", "server_args="} == {rule.needle for rule in RULES if rule.starts}


@pytest.mark.parametrize(("rule", "example"), examples(NOISE))
def test_a_noise_rule_mutes_its_examples_and_no_other_one_takes_them(rule: Noise, example: str) -> None:
    line = line_of(example)
    assert rule.needle in line.msg
    assert noise.muted_by(line) == rule.id
    before = LogState()
    state = after(example, before)
    assert (state.hidden_lines, state.hidden_by_rule) == (1, {rule.id: 1})
    assert state.problems == ()


@pytest.mark.parametrize("rule", NOISE, ids=lambda rule: rule.id)
def test_a_noise_rule_gives_its_reason(rule: Noise) -> None:
    assert rule.reason.endswith(".")


@pytest.mark.parametrize("rule", [rule for rule in NOISE if rule.unless], ids=lambda rule: rule.id)
def test_what_matters_to_some_models_is_shown_for_them(rule: Noise) -> None:
    words = re.sub(r"\W", "-", str(rule.unless).split("|")[0])
    for example in rule.examples:
        assert noise.muted_by(line_of(example), f"org/{words}-120b") is None
        assert noise.muted_by(line_of(example), "org/another-model") == rule.id


def test_an_error_is_never_muted_for_its_level() -> None:
    line = line_of(
        "(Worker_TP0 pid=1) ERROR 12-01 10:00:00 [nobody.py:1] something that nobody has seen before"
    )
    assert noise.muted_by(line) is None
    state = after(line.text, LogState())
    assert [problem.rule for problem in state.problems] == ["error-line"]


def test_the_users_own_rules_come_first() -> None:
    mine = (UserNoise("mine", "thermal throttl", "known"),)
    assert noise.muted_by(line_of("W thermal throttling"), None, mine) == "mine"
    assert noise.muted_by(line_of("W thermal throttling")) is None


@pytest.mark.parametrize("text", STRANGERS)
def test_no_rule_takes_a_strangers_line(text: str) -> None:
    state = after(text, LogState())
    assert not state.ready
    assert state.steps == ()


def test_the_one_search_finds_every_needle_and_only_needles() -> None:
    wanted = {*(rule.needle for rule in RULES), *(rule.needle for rule in NOISE), *needles.FAILURES}
    search = needles.any_rule()
    assert [needle for needle in wanted if not search.search(b"xx " + needle.encode())] == []
    assert not search.search(b"a line that is of no interest to anybody")
