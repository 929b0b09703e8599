"""The built-in benchmark: warm-up, then each concurrency level, into one Result."""

import asyncio
import signal
from collections.abc import Iterator
from itertools import product

import httpx
from msgspec import Struct, structs

from collectors.errors import ExitCode, SpecwatchError
from collectors.reading.varied import varied
from launch.bench import levels
from launch.bench.client import Plan, model_of, send, session
from launch.bench.edges import Counters
from launch.bench.judge import notes
from launch.bench.levels import Stop, Tell
from launch.bench.marks import Marks
from launch.bench.measured import measured
from launch.bench.prompts import PromptSet, context, with_nonce
from launch.bench.result import Level, Load, Result

WARM_UP_TOKENS = 16
CALIBRATION = 2_000  # characters
SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Ask(Struct, frozen=True, kw_only=True):
    """What the user asked for."""

    url: str
    concurrency: tuple[int, ...] = (1, 8)
    temperature: tuple[float, ...] = (0.0,)
    context: tuple[int, ...] = (0,)
    requests: tuple[int, ...] = ()  # for each concurrency; (): every prompt, at least twice the concurrency
    max_tokens: int = 128
    max_time: float | None = None
    api: str | None = None  # None: chat, or completions where the model has no chat template
    ignore_eos: bool = True

    def count(self, load: Load, prompts: int) -> int:
        if self.requests:
            place = self.concurrency.index(load.concurrency)
            return self.requests[min(place, len(self.requests) - 1)]
        return max(prompts, 2 * load.concurrency)

    def loads(self) -> tuple[Load, ...]:
        """Every concurrency with every temperature and context."""
        return tuple(
            Load(concurrency=concurrency, temperature=temperature, context=length)
            for concurrency, temperature, length in product(self.concurrency, self.temperature, self.context)
        )


def run(ask: Ask, prompts: PromptSet, blank: Result, marks: Marks, tell: Tell) -> Result:
    """`blank`: the result's identity; every figure is filled in here. Ctrl-C keeps what was measured."""
    return asyncio.run(_run(ask, prompts, blank, marks, tell))


async def _run(ask: Ask, prompts: PromptSet, blank: Result, marks: Marks, tell: Tell) -> Result:
    loop = asyncio.get_running_loop()
    counters = Counters(ask.url)
    done: list[Level] = []
    try:
        async with session(ask.url, max(ask.concurrency)) as client:
            plan = Plan(
                model=await model_of(client),
                api=ask.api or "chat",
                max_tokens=ask.max_tokens,
                ignore_eos=ask.ignore_eos,
            )
            plan = await _warm_up(
                client, plan, prompts, blank.nonce or "", max(ask.concurrency), ask.api is None
            )
            chars = (
                await _chars_a_token(client, plan, prompts, blank.nonce or "") if any(ask.context) else 0.0
            )
            stop = Stop(ask.max_time)
            for name in SIGNALS:  # from here on there is something to keep
                loop.add_signal_handler(name, stop.interrupt)
            for load in ask.loads():
                if stop.reason is not None:
                    break
                before = context(prompts, round(load.context * chars))
                count = ask.count(load, len(prompts.prompts))
                texts = list(_texts(prompts, f"{blank.nonce} {load.name}", count, before))
                done.append(
                    await levels.run(client, counters, plan, texts, load, stop, marks.level(load), tell)
                )
    finally:
        await counters.close()
        for name in SIGNALS:
            loop.remove_signal_handler(name)
    result = structs.replace(
        blank,
        model=plan.model,
        api=plan.api,
        max_tokens=plan.max_tokens,
        ignore_eos=plan.ignore_eos,
        temperature=ask.temperature[0] if len(ask.temperature) == 1 else None,
        levels=tuple(done),
        partial=stop.reason is not None or len(done) < len(ask.loads()),
    )
    said = tuple(varied(measured(result)))
    return structs.replace(result, verdicts=said, notes=tuple(notes(result)))


async def _warm_up(
    client: httpx.AsyncClient, plan: Plan, prompts: PromptSet, nonce: str, concurrency: int, may_change: bool
) -> Plan:
    """Requests that count for nothing: they settle API and `ignore_eos`, and pay for first-use compilation."""
    short = structs.replace(plan, max_tokens=min(WARM_UP_TOKENS, plan.max_tokens))
    first = await send(client, short, with_nonce(prompts.prompts[0].text, f"warm-up {nonce}"))
    for _ in range(2):
        if first.error is None:
            break
        plan = _changed(plan, first.error, may_change)
        short = structs.replace(plan, max_tokens=short.max_tokens)
        first = await send(client, short, with_nonce(prompts.prompts[0].text, f"warm-up {nonce}"))
    if first.error is not None:
        raise SpecwatchError(
            f"the warm-up request failed: {first.error}", "nothing was measured", ExitCode.SERVER_FAILED
        )
    texts = _texts(prompts, f"warm-up {nonce} all", concurrency)
    await asyncio.gather(*(send(client, short, text) for text in texts))
    return plan


async def _chars_a_token(client: httpx.AsyncClient, plan: Plan, prompts: PromptSet, nonce: str) -> float:
    """How many characters of this text the server's tokenizer makes a token of: by how two prompts differ, since the
    chat template adds the same tokens to both."""
    one = structs.replace(plan, max_tokens=1)
    texts = [
        with_nonce(context(prompts, chars), f"calibration {nonce}") for chars in (400, 400 + CALIBRATION)
    ]
    few, many = [(await send(client, one, text)).prompt_tokens for text in texts]
    return CALIBRATION / (many - few) if few is not None and many is not None and many > few else 4.0


def _changed(plan: Plan, error: str, may_change: bool) -> Plan:
    """Another way to ask after this refusal; raises where there is none."""
    if "HTTP 400" in error or "HTTP 404" in error or "HTTP 422" in error:
        if plan.api == "chat" and may_change and ("template" in error or "HTTP 404" in error):
            return structs.replace(plan, api="completions")
        if plan.ignore_eos and "ignore_eos" in error:
            return structs.replace(plan, ignore_eos=False)
    hint = "nothing was measured"
    if plan.api == "chat" and "template" in error:
        hint = "the model has no chat template: --api completions"
    raise SpecwatchError(f"the warm-up request failed: {error}", hint, ExitCode.SERVER_FAILED)


def _texts(prompts: PromptSet, nonce: str, count: int, before: str = "") -> Iterator[str]:
    for number in range(count):
        text = prompts.prompts[number % len(prompts.prompts)].text
        yield with_nonce(before + text, f"{nonce} {number}")
