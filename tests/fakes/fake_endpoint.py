"""A fast OpenAI-compatible endpoint with vLLM's counters, consistent to the token: `Endpoint().start()`.

Bare asyncio sockets, so that it outruns any client. Each request generates max_tokens: steps of 1 + accepted draft
tokens, the accepted ones in a fixed cycle, so that every counter can be computed by hand.
"""

import asyncio
import json
import threading
from collections.abc import Callable
from typing import Any

CYCLE = (3, 1, 0, 2)  # accepted of K drafted tokens, step by step
POOR = (1, 0, 0, 0)  # … where the drafter is worse
LONG = 500  # tokens of a prompt, four characters each


class Endpoint:
    """Serves on 127.0.0.1 in a thread of its own. `step_s` 0: as fast as it can.

    `worse_with`: "temperature" or "context" makes the drafter worse above 0, or beyond LONG tokens.
    """

    def __init__(
        self,
        *,
        k: int = 3,
        step_s: float = 0.0,
        template: bool = True,
        fail_every: int = 0,
        port: int = 0,
        worse_with: str = "",
    ) -> None:
        self.worse_with = worse_with
        self.k, self.step_s, self.template, self.fail_every, self.port = k, step_s, template, fail_every, port
        self.generated = self.prompt = self.drafts = self.accepted = self.finished = self.running = 0
        self.aborted = 0
        self.at = [0] * k
        self.itl, self.ttft = [0, 0.0], [0, 0.0]
        self.seen: list[dict[str, Any]] = []
        self.headers: list[str] = []
        self.requests = 0
        self._ready = threading.Event()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> "Endpoint":
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()), daemon=True)
        self._thread.start()
        self._ready.wait(10)
        return self

    def stop(self) -> None:
        self._loop.call_soon_threadsafe(self._over.set)
        self._thread.join(10)

    async def _serve(self) -> None:
        self._loop, self._over = asyncio.get_running_loop(), asyncio.Event()
        self._tasks: set[asyncio.Task[None]] = set()
        server = await asyncio.start_server(self._accepted, "127.0.0.1", self.port)
        self.port = server.sockets[0].getsockname()[1]
        self._ready.set()
        await self._over.wait()
        server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _accepted(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            await self._connection(reader, writer)
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            self._tasks.discard(task)
            writer.close()

    async def _connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            head = (await reader.readuntil(b"\r\n\r\n")).decode()
            length = next(
                (int(h.split(":")[1]) for h in head.split("\r\n") if h.lower().startswith("content-length:")),
                0,
            )
            body = await reader.readexactly(length)
            method, path = head.split(" ")[:2]
            if method == "POST":
                self.headers.append(head)
                await self._generate(path, json.loads(body), writer)
            elif path == "/metrics":
                await _answer(writer, 200, self.page(), "text/plain; version=0.0.4")
            elif path == "/v1/models":
                await _answer(writer, 200, json.dumps({"data": [{"id": "fake", "owned_by": "vllm"}]}))
            else:
                await _answer(writer, 200 if path == "/health" else 404, "")

    async def _generate(self, path: str, ask: dict[str, Any], writer: asyncio.StreamWriter) -> None:
        self.requests += 1
        chat = path.startswith("/v1/chat")
        if chat and not self.template:
            await _answer(writer, 400, json.dumps({"error": {"message": "no chat template is defined"}}))
            return
        if self.fail_every and self.requests % self.fail_every == 0:
            await _answer(writer, 500, json.dumps({"error": {"message": "broken on purpose"}}))
            return
        self.seen.append(ask)
        self.running += 1
        whole = False
        writer.write(
            b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
        )
        try:
            text = ask["messages"][-1]["content"] if ask.get("messages") else ask.get("prompt", "")
            prompt = 20 + len(text) // 4  # a chat template's, and four characters a token
            poor = {"temperature": ask.get("temperature", 0) > 0, "context": prompt > LONG}.get(
                self.worse_with, False
            )
            await self._stream(int(ask["max_tokens"]), _writer(writer, chat), POOR if poor else CYCLE)
            counted = {"completion_tokens": int(ask["max_tokens"]), "prompt_tokens": prompt}
            usage = {"choices": [], "usage": counted}
            _chunk(writer, f"data: {json.dumps(usage)}\n\ndata: [DONE]\n\n")
            writer.write(b"0\r\n\r\n")
            await writer.drain()
            whole = True
        finally:
            self.running -= 1
            self.finished += whole
            self.aborted += not whole

    async def _stream(self, tokens: int, write: Callable[[int], Any], cycle: tuple[int, ...]) -> None:
        """One token from the prefill, then steps of 1 + accepted."""
        self.prompt += 10
        self.ttft = [self.ttft[0] + 1, self.ttft[1] + self.step_s]
        await write(1)
        self.generated, left, turn = self.generated + 1, tokens - 1, 0
        while left > 0:
            await asyncio.sleep(self.step_s)
            accepted = min(cycle[turn % len(cycle)], self.k, left - 1)
            self.drafts += self.k > 0
            self.accepted += accepted
            for position in range(accepted):
                self.at[position] += 1
            self.itl = [self.itl[0] + 1, self.itl[1] + self.step_s]
            self.generated += 1 + accepted
            left, turn = left - 1 - accepted, turn + 1
            await write(1 + accepted)

    def page(self) -> str:
        """The counters as vLLM 0.32 names them."""
        rows: list[tuple[str, str, float]] = [
            ("generation_tokens_total", "", self.generated),
            ("prompt_tokens_total", "", self.prompt),
            ("request_success_total", ',finished_reason="length"', self.finished),
            ("request_success_total", ',finished_reason="abort"', self.aborted),
            ("num_requests_running", "", self.running),
            ("num_requests_waiting", "", 0),
            ("inter_token_latency_seconds_count", "", self.itl[0]),
            ("inter_token_latency_seconds_sum", "", self.itl[1]),
            ("time_to_first_token_seconds_count", "", self.ttft[0]),
            ("time_to_first_token_seconds_sum", "", self.ttft[1]),
        ]
        if self.k:
            rows += [
                ("spec_decode_num_drafts_total", "", self.drafts),
                ("spec_decode_num_draft_tokens_total", "", self.drafts * self.k),
                ("spec_decode_num_accepted_tokens_total", "", self.accepted),
            ]
            rows += [
                ("spec_decode_num_accepted_tokens_per_pos_total", f',position="{n}"', count)
                for n, count in enumerate(self.at)
            ]
        lines = [
            f'vllm:{name}{{engine="0",model_name="fake"{more}}} {float(value)}' for name, more, value in rows
        ]
        return "# HELP vllm:generation_tokens_total x\n" + "\n".join(lines) + "\n"


def _writer(writer: asyncio.StreamWriter, chat: bool) -> Callable[[int], Any]:
    async def write(tokens: int) -> None:
        text = "x " * tokens
        choice = {"delta": {"content": text}} if chat else {"text": text}
        _chunk(writer, f"data: {json.dumps({'choices': [choice]})}\n\n")
        await writer.drain()

    return write


def _chunk(writer: asyncio.StreamWriter, text: str) -> None:
    raw = text.encode()
    writer.write(f"{len(raw):x}\r\n".encode() + raw + b"\r\n")


async def _answer(
    writer: asyncio.StreamWriter, status: int, text: str, kind: str = "application/json"
) -> None:
    raw = text.encode()
    writer.write(
        f"HTTP/1.1 {status} X\r\nContent-Type: {kind}\r\nContent-Length: {len(raw)}\r\n\r\n".encode() + raw
    )
    await writer.drain()


if __name__ == "__main__":
    import sys
    import time

    endpoint = Endpoint(port=int(sys.argv[1])).start()
    print(endpoint.url, flush=True)  # noqa: T201
    while True:
        time.sleep(3600)
