"""One benchmark request: streamed over httpx, timed chunk by chunk."""

import itertools
import os
import time
from typing import Any

import httpx
import msgspec
from httpx_sse import SSEError, aconnect_sse

from collectors.errors import SpecwatchError
from collectors.redact import Redactor
from collectors.sources.http import loopback

REQUEST_TIMEOUT_S = 600.0  # for each read: a server that is silent for longer has failed the request
KEY_VARIABLES = ("OPENAI_API_KEY", "VLLM_API_KEY")


class Sample(msgspec.Struct, frozen=True, kw_only=True):
    """One request. Times in seconds; `error` None: it succeeded."""

    tokens: int = 0
    prompt_tokens: int | None = None
    seconds: float = 0.0
    ttft_s: float | None = None
    steps_s: tuple[float, ...] = ()  # between chunks that carried text
    error: str | None = None


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """How every request is made."""

    model: str
    api: str  # "chat" or "completions"
    max_tokens: int
    ignore_eos: bool
    temperature: float = 0.0


class _Delta(msgspec.Struct):
    content: str | None = None
    reasoning_content: str | None = None
    reasoning: str | None = None


class _Choice(msgspec.Struct):
    delta: _Delta | None = None
    text: str | None = None


class _Usage(msgspec.Struct):
    completion_tokens: int = 0
    prompt_tokens: int | None = None


class _Chunk(msgspec.Struct):
    choices: list[_Choice] = []
    usage: _Usage | None = None
    error: Any = None


_decoder = msgspec.json.Decoder(_Chunk)


def session(url: str, concurrency: int) -> httpx.AsyncClient:
    """The API key comes from the environment and stays in this header: in no result and on no screen."""
    name, key = next(
        ((name, os.environ[name].strip()) for name in KEY_VARIABLES if os.environ.get(name, "").strip()),
        ("", ""),
    )
    if not (key.isascii() and key.isprintable()):
        raise SpecwatchError(
            f"the API key in {name} has characters that no header can hold", f"set {name} again"
        )
    return httpx.AsyncClient(
        base_url=url,
        headers={"Authorization": f"Bearer {key}"} if key else {},
        trust_env=not loopback(url),
        timeout=httpx.Timeout(REQUEST_TIMEOUT_S, connect=10.0),
        limits=httpx.Limits(max_connections=concurrency + 1, max_keepalive_connections=concurrency + 1),
    )


async def model_of(client: httpx.AsyncClient) -> str:
    """The served model's name."""
    try:
        answer = await client.get("/v1/models", timeout=10.0)
    except httpx.HTTPError as error:
        raise SpecwatchError(
            f"no server answers at {client.base_url}: {type(error).__name__}",
            "is it ready? `specwatch wait` tells; --url gives another address",
        ) from error
    if answer.status_code in (401, 403):
        raise SpecwatchError(
            "the server wants an API key", f"put it into the environment: {' or '.join(KEY_VARIABLES)}"
        )
    try:
        return str(answer.json()["data"][0]["id"])
    except (ValueError, LookupError, TypeError) as error:
        raise SpecwatchError(
            f"{client.base_url} does not list its models (HTTP {answer.status_code})",
            "is this an OpenAI-compatible server?",
        ) from error


async def send(client: httpx.AsyncClient, plan: Plan, text: str) -> Sample:
    """Every failure is a Sample with its `error`; only cancellation passes through."""
    began = time.perf_counter()
    arrivals: list[float] = []
    tokens: int | None = None
    prompt_tokens: int | None = None
    path, body = _body(plan, text)
    try:
        async with aconnect_sse(client, "POST", path, json=body) as source:
            if source.response.status_code != 200:
                words = (await source.response.aread())[:2000].decode(errors="replace")
                return Sample(error=f"HTTP {source.response.status_code}: {_said(words)}")
            async for event in source.aiter_sse():
                if event.data == "[DONE]":
                    break
                chunk = _decoder.decode(event.data)
                if chunk.error is not None:
                    return Sample(error=f"in the stream: {_said(event.data)}")
                if chunk.usage is not None:
                    tokens = chunk.usage.completion_tokens
                    prompt_tokens = chunk.usage.prompt_tokens
                if any(_has_text(choice) for choice in chunk.choices):
                    arrivals.append(time.perf_counter())
    except (httpx.HTTPError, SSEError, msgspec.MsgspecError, OSError) as error:
        return Sample(error=type(error).__name__)
    if not arrivals and not tokens:
        return Sample(error="the stream ended without a token")
    return Sample(
        tokens=len(arrivals) if tokens is None else tokens,
        prompt_tokens=prompt_tokens,
        seconds=time.perf_counter() - began,
        ttft_s=arrivals[0] - began if arrivals else None,
        steps_s=tuple(b - a for a, b in itertools.pairwise(arrivals)),
    )


def _body(plan: Plan, text: str) -> tuple[str, dict[str, Any]]:
    body: dict[str, Any] = {
        "model": plan.model,
        "max_tokens": plan.max_tokens,
        "temperature": plan.temperature,
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    if plan.ignore_eos:
        body["ignore_eos"] = True
    if plan.api == "chat":
        return "/v1/chat/completions", {**body, "messages": [{"role": "user", "content": text}]}
    return "/v1/completions", {**body, "prompt": text}


def _has_text(choice: _Choice) -> bool:
    """Chat's first chunk only names the role: its content is empty, and it comes before any token."""
    if choice.delta is None:
        return choice.text is not None
    return bool(choice.delta.content or choice.delta.reasoning_content or choice.delta.reasoning)


def _said(words: str) -> str:
    """The server's message out of its JSON, one line, bounded."""
    try:
        found = msgspec.json.decode(words)
        inner = found.get("error", found)
        words = str(inner.get("message", inner)) if isinstance(inner, dict) else str(inner)
    except (msgspec.MsgspecError, AttributeError):
        pass
    return Redactor((), os.environ).text(" ".join(words.split()))[:200]  # some servers quote the key
