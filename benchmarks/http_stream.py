"""Answers over HTTP: a model server in another process, the real adapter, the real loop.

The floor is what a careful script does: the lines of an httpx stream, orjson, a list of messages.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from itertools import count as numbers
from typing import Any

import httpx
import orjson

from benchmarks.chat_server import text_pieces
from benchmarks.measure import Budget, Meter, Row, Step, row
from harness.agent import AgentOptions, CreateAgentOptions
from harness.http import HttpRequest, HttpService
from harness.llm import GenerateOptions, LlmCallConfig, TextDelta, create_user_message
from harness.session import SESSION_EVENT, Session, SessionEvent
from harness.tools import tool
from harness_plugins import agent_core
from harness_plugins.llm_deepseek import (
    ChunkTranslator,
    DeepSeekPlugin,
    PayloadReader,
    request_body,
)
from vendor_shims.cordis import Context

N_DELTAS = 1_000
N_CALLS = 100
N_MESSAGES = 4_000
REPEAT = 9
MAX_CONNECTIONS = 100
ROUTE = "deepseek-official"
TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "tick",
            "description": "Count.",
            "parameters": {
                "type": "object",
                "properties": {"n": {"type": "integer"}},
                "required": ["n"],
            },
        },
    }
]


@tool
async def tick(n: int) -> str:
    """Count.

    Args:
        n: the number of the call.
    """
    return f"TICKOK {n}"


async def rows(meter: Meter) -> AsyncIterator[Row]:
    """Measure whole turns over HTTP first, then what they are made of."""
    yield await decoding(meter)
    yield await building(meter)
    with served() as base_url:
        async with httpx.AsyncClient(timeout=120) as client:
            script = Script(client, f"{base_url}/chat/completions")
            async with composed(base_url) as root:
                for measured in (answers, tool_calls, pieces, requests):
                    yield await measured(meter, root, script)


async def answers(meter: Meter, root: Context, script: Script) -> Row:
    """Take one answer of a thousand deltas through the loop, every chunk in the log."""
    n_deltas = meter.count(N_DELTAS)
    seen = 0

    def heard(_: Session, event: SessionEvent) -> None:
        nonlocal seen
        seen += event.type == "assistant/chunk"

    async def ours() -> None:
        nonlocal seen
        seen = 0
        await turn(root, f"text-{n_deltas}")
        assert seen > n_deltas

    async def floor() -> None:
        assert await script.text(f"text-{n_deltas}") == n_deltas

    stop = root.on(SESSION_EVENT, heard)
    budget = Budget(32, 21) if n_deltas == N_DELTAS else None
    measured = await in_ms(meter, f"text{n_deltas}_http", ours, floor, budget)
    stop()
    return measured


async def tool_calls(meter: Meter, root: Context, script: Script) -> Row:
    """Take a hundred tool calls one after another, each with a request of its own."""
    n_calls = meter.count(N_CALLS)
    root.tools.register(tick)

    async def ours() -> None:
        session = await turn(root, f"tools-{n_calls}")
        assert sum(event.type == "tool/result" for event in session.events) == n_calls

    async def floor() -> None:
        assert await script.tools(f"tools-{n_calls}") == n_calls

    budget = Budget(250, 143) if n_calls == N_CALLS else None
    return await in_ms(meter, f"tools{n_calls}_http", ours, floor, budget)


async def pieces(meter: Meter, root: Context, script: Script) -> Row:
    """Read the pieces of a body, and nothing else: what the HTTP service adds to httpx."""
    n_deltas = meter.count(N_DELTAS)
    body = orjson.dumps({"model": f"text-{n_deltas}", "stream": True})
    client = root[HttpService].client()

    async def ours(count: int) -> None:
        for _ in range(count // n_deltas):
            async with client.stream(HttpRequest("POST", script.url, body=body)) as answer:
                async for _ in answer:
                    pass

    async def floor(count: int) -> None:
        for _ in range(count // n_deltas):
            async with script.client.stream("POST", script.url, content=body) as answer:
                async for _ in answer.aiter_raw():
                    pass

    return await per_piece(meter, "http_piece", ours, floor, n_deltas)


async def requests(meter: Meter, root: Context, script: Script) -> Row:
    """Ask for an answer of three deltas without a loop: what a request costs."""
    config = LlmCallConfig(ROUTE, "text-3")
    messages = (create_user_message("go"),)

    async def ours(count: int) -> None:
        for _ in range(count):
            prepared = await root.llm.prepare_call(config)
            options = GenerateOptions(prepared.config, messages, session_id="bench")
            n_deltas = 0
            async for chunk in prepared.stream(options):
                n_deltas += type(chunk) is TextDelta
            assert n_deltas == 3

    async def floor(count: int) -> None:
        for _ in range(count):
            assert await script.text("text-3") == 3

    return await meter.compare("request_http", ours, floor, count=100)


async def decoding(meter: Meter) -> Row:
    """Turn the bytes of a stream into chunks, one event at a time, without a socket."""
    n_deltas = meter.count(N_DELTAS)
    ready = text_pieces(n_deltas)

    def ours(count: int) -> None:
        for _ in range(count // n_deltas):
            reader, translator = PayloadReader(), ChunkTranslator(print)
            for piece in ready:
                for payload in reader.feed(piece):
                    translator.push(payload)

    def floor(count: int) -> None:
        for _ in range(count // n_deltas):
            parts: list[str] = []
            for piece in ready:
                for event in piece.split(b"\n\n"):
                    if event.startswith(b"data: {"):
                        choices = orjson.loads(event[6:])["choices"]
                        parts += [choice["delta"].get("content") for choice in choices]

    return await per_piece(meter, "decode_delta", ours, floor, n_deltas)


async def building(meter: Meter) -> Row:
    """Write the request of a long history that has grown by one message, as each step does."""
    n_messages = meter.count(N_MESSAGES)
    messages = tuple(create_user_message(f"message {i}: {'x' * 80}") for i in range(n_messages))
    config = LlmCallConfig(ROUTE, "text-1")
    request_body(GenerateOptions(config, messages), {}, features={})
    written = orjson.dumps([{"role": "user", "content": message.text} for message in messages])
    grown = numbers()

    def ours(count: int) -> None:
        nonlocal messages
        for _ in range(count):
            messages = (*messages, create_user_message(f"more {next(grown)}"))
            request_body(GenerateOptions(config, messages), {}, features={})

    def floor(count: int) -> None:
        grown_copy = messages
        for _ in range(count):
            grown_copy = (*grown_copy, messages[0])
            b"".join((b'{"model":"text-1","messages":', written, b',"stream":true}'))

    return await meter.compare(f"body_{n_messages}_messages", ours, floor, count=100)


async def turn(root: Context, model: str) -> Session:
    """Create an agent, let it answer one prompt, and dispose of it; return its session."""
    options = CreateAgentOptions(agent_options=AgentOptions(provider=ROUTE, model=model))
    handle = await root.agents.create(options)
    handle.agent.send("go")
    await handle.agent.when_idle()
    session = handle.agent.session
    assert session.events[-1].data["reason"]["kind"] == "completed"
    await handle.dispose()
    return session


async def in_ms(
    meter: Meter,
    name: str,
    ours: Callable[[], Awaitable[None]],
    floor: Callable[[], Awaitable[None]],
    budget: Budget | None,
) -> Row:
    """Measure whole scenarios in turns, in milliseconds."""

    def once(scenario: Callable[[], Awaitable[None]]) -> Step:
        return lambda _: scenario()

    for _ in range(2):
        await ours()
        await floor()
    ours_ms: list[float] = []
    floor_ms: list[float] = []
    for _ in range(REPEAT):
        ours_ms.append(await meter.sample(once(ours)) / 1e3)
        floor_ms.append(await meter.sample(once(floor)) / 1e3)
    return row(name, "ms", ours_ms, floor_ms, budget=budget)


async def per_piece(meter: Meter, name: str, ours: Step, floor: Step, n_deltas: int) -> Row:
    """Measure steps that do whole answers only, in microseconds per delta."""
    ours_us: list[float] = []
    floor_us: list[float] = []
    for _ in range(REPEAT):
        ours_us.append(await meter.sample(ours, n_deltas))
        floor_us.append(await meter.sample(floor, n_deltas))
    return row(name, "us", ours_us, floor_us)


class Script:
    """Do the same as the harness with httpx and orjson alone."""

    def __init__(self, client: httpx.AsyncClient, url: str) -> None:
        self.client = client
        self.url = url

    async def text(self, model: str) -> int:
        """Take one answer and return how many deltas it had."""
        parts: list[str] = []
        async for choice in self._choices(model, [{"role": "user", "content": "go"}]):
            text = choice["delta"].get("content")
            if text:
                parts.append(text)
        "".join(parts)
        return len(parts)

    async def tools(self, model: str) -> int:
        """Run tool calls until the model answers; return how many there were."""
        messages: list[dict[str, Any]] = [{"role": "user", "content": "go"}]
        for n_calls in numbers():
            calls: dict[int, dict[str, Any]] = {}
            async for choice in self._choices(model, messages):
                for part in choice["delta"].get("tool_calls") or ():
                    collect(part, calls)
            if not calls:
                return n_calls
            messages.append({"role": "assistant", "content": None, "tool_calls": [*calls.values()]})
            for call in calls.values():
                arguments = orjson.loads(call["function"]["arguments"])
                content = f"TICKOK {arguments['n']}"
                messages.append({"role": "tool", "tool_call_id": call["id"], "content": content})
        raise AssertionError("numbers never end")

    async def _choices(self, model: str, messages: list[dict[str, Any]]) -> AsyncIterator[Any]:
        body = {"model": model, "messages": messages, "tools": TOOLS, "stream": True}
        async with self.client.stream("POST", self.url, content=orjson.dumps(body)) as answer:
            async for line in answer.aiter_lines():
                if line.startswith("data: ") and line != "data: [DONE]":
                    for choice in orjson.loads(line[6:])["choices"]:
                        yield choice


def collect(part: dict[str, Any], calls: dict[int, dict[str, Any]]) -> None:
    """Add one fragment of a tool call to the calls of its answer."""
    call = calls.setdefault(
        part["index"],
        {"id": part.get("id"), "type": "function", "function": {"name": "", "arguments": ""}},
    )
    for key, text in part["function"].items():
        call["function"][key] += text


@contextmanager
def served() -> Iterator[str]:
    """Run the model server and give its base URL."""
    command = [sys.executable, "-m", "benchmarks.chat_server"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        yield f"http://127.0.0.1:{int(server.stdout.readline())}/v1"
        server.stdin.close()


@asynccontextmanager
async def composed(base_url: str) -> AsyncIterator[Context]:
    """Compose what a turn over HTTP needs: the spine, the HTTP service, the adapter."""
    async with Context() as root:
        root.plugin(agent_core)
        root.plugin(HttpService)
        root.plugin(DeepSeekPlugin, {"baseURL": base_url, "apiKey": "unused"})
        await root.settle()
        yield root
