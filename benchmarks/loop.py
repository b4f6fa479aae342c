"""The loop: whole turns in the process with a model that costs nothing, then the same over HTTP.

The floor hands ready-made chunks from an async generator to a consumer that keeps the message list
of a chat-completions request: the least that a model loop can cost.
"""

from __future__ import annotations

import asyncio
import gc
import tempfile
import time
import tracemalloc
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import cache
from typing import Any

import httpx
import orjson

from benchmarks.http_stream import Script, collect, served, tick, turn
from benchmarks.http_stream import composed as composed_for_http
from benchmarks.http_stream import rows as http_rows
from benchmarks.measure import Budget, Meter, Row, row
from harness.agent import Agent, AgentHandle, AgentOptions, CreateAgentOptions
from harness.llm import (
    BlockEnd,
    BlockStart,
    Finish,
    FinishReason,
    GenerateOptions,
    LlmAdapter,
    StreamChunk,
    TextBlock,
    TextDelta,
    ToolCallBlock,
    ToolCallDelta,
)
from harness.session import SESSION_EVENT, SessionEvent
from harness_plugins import agent_core
from harness_plugins.session_persistence_jsonl import JsonlPersistence
from vendor_shims.cordis import Context

N_DELTAS = 1_000
N_CALLS = 100
N_STEPS = 5
N_AGENTS = (100, 1_000)
AGENTS_BUDGETS = {100: Budget(275, 4.5), 1_000: Budget(2_900, 42)}
STEP_WINDOWS = (50, 400, 2_000)
WINDOW = 100
REPEAT = 7


async def rows(meter: Meter) -> AsyncIterator[Row]:
    """Measure turns in the process, durable ones, what creating costs, and turns over HTTP."""
    async with composed() as root:
        yield await text(meter, root, "text1000", Budget(9, 0.95))
        yield await tools(meter, root, "tools100", Budget(50, 1.3))
        for count in N_AGENTS:
            yield await agents(meter, root, count)
        yield await creating(meter, root)
        yield await memory(meter, root)
        async for one in steps(meter, root):
            yield one
    with tempfile.TemporaryDirectory() as folder:
        async with composed(folder) as root:
            yield await text(meter, root, "text1000_durable", None)
            yield await tools(meter, root, "tools100_durable", None)
    async for one in http_rows(meter):
        yield one
    yield await agents_http(meter)


async def text(meter: Meter, root: Context, name: str, budget: Budget | None) -> Row:
    """Take one answer of a thousand deltas, each of which reaches the log and a listener."""
    n_deltas = meter.count(N_DELTAS)
    heard = [0]

    def hear(_session: object, event: SessionEvent) -> None:
        if event.type == "assistant/chunk" and event.data["chunk"]["type"] == "text-delta":
            heard[0] += 1

    async def ours() -> None:
        heard[0] = 0
        await conversation(root, f"text-{n_deltas}")
        assert heard[0] == n_deltas

    def hear_piece(_piece: str) -> None:
        heard[0] += 1

    async def floor() -> None:
        heard[0] = 0
        await plain_text(f"text-{n_deltas}", hear_piece)
        assert heard[0] == n_deltas

    stop = root.on(SESSION_EVENT, hear)
    measured = await in_ms(meter, name, ours, floor, budget if n_deltas == N_DELTAS else None)
    stop()
    return measured


async def tools(meter: Meter, root: Context, name: str, budget: Budget | None) -> Row:
    """Take a hundred tool calls one after another."""
    n_calls = meter.count(N_CALLS)

    async def ours() -> None:
        agent = await conversation(root, f"tools-{n_calls}")
        assert count_results(agent) == n_calls

    async def floor() -> None:
        assert await plain_tools(f"tools-{n_calls}") == n_calls

    return await in_ms(meter, name, ours, floor, budget if n_calls == N_CALLS else None)


async def agents(meter: Meter, root: Context, full: int) -> Row:
    """Run many conversations at once, four calls and an answer each."""
    count = meter.count(full)
    model = f"tools-{N_STEPS - 1}"

    async def ours() -> None:
        done = await asyncio.gather(*[conversation(root, model) for _ in range(count)])
        assert sum(map(count_results, done)) == count * (N_STEPS - 1)

    async def floor() -> None:
        done = await asyncio.gather(*[plain_tools(model) for _ in range(count)])
        assert sum(done) == count * (N_STEPS - 1)

    budget = AGENTS_BUDGETS[full] if count == full else None
    return await in_ms(meter, f"agents{count}", ours, floor, budget, repeat=3)


async def agents_http(meter: Meter) -> Row:
    """Run a hundred conversations at once over HTTP, each with its own connection."""
    count = meter.count(N_AGENTS[0])
    model = f"tools-{N_STEPS - 1}"
    limits = httpx.Limits(max_connections=count, max_keepalive_connections=count)
    with served() as base_url:
        async with httpx.AsyncClient(timeout=120, limits=limits) as client:
            script = Script(client, f"{base_url}/chat/completions")
            async with composed_for_http(base_url) as root:
                root.tools.register(tick)

                async def ours() -> None:
                    await asyncio.gather(*[turn(root, model) for _ in range(count)])

                async def floor() -> None:
                    await asyncio.gather(*[script.tools(model) for _ in range(count)])

                return await in_ms(meter, f"agents{count}_http", ours, floor, None, repeat=3)


async def creating(meter: Meter, root: Context) -> Row:
    """Make idle agents and keep them; they are disposed of between the samples."""
    count = meter.count(1_000)
    samples: list[float] = []
    for _ in range(REPEAT):
        kept: list[AgentHandle] = []

        async def create(n_agents: int, kept: list[AgentHandle] = kept) -> None:
            kept.extend([await root.agents.create(creation("text-1")) for _ in range(n_agents)])

        gc.collect()
        samples.append(await meter.sample(create, count))
        for handle in kept:
            await handle.dispose()
    return row("create", "us", samples, budget=Budget(200))


async def memory(meter: Meter, root: Context) -> Row:
    """Weigh idle agents, in KiB each."""
    count = meter.count(1_000)
    gc.collect()
    tracemalloc.start()
    kept = [await root.agents.create(creation("text-1")) for _ in range(count)]
    gc.collect()
    size, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    for handle in kept:
        await handle.dispose()
    return row("create_memory", "KiB", [size / count / 1024], budget=Budget(12))


async def steps(meter: Meter, root: Context) -> AsyncIterator[Row]:
    """Follow one turn of two thousand calls: what a step costs early, later, and late in it."""
    windows = [max(WINDOW // 10, meter.count(start)) for start in STEP_WINDOWS]
    samples: dict[int, list[float]] = {start: [] for start in windows}
    floors: dict[int, list[float]] = {start: [] for start in windows}
    for _ in range(3):
        for run, found in ((conversation_marks, samples), (plain_marks, floors)):
            gc.collect()
            marks = await run(root, windows[-1] + WINDOW)
            for start in windows:
                used_us = (marks[start + WINDOW - 1] - marks[start]) / 1e3
                found[start].append(used_us / (WINDOW - 1))
    first = min(samples[windows[0]])
    for start in windows:
        yield row(f"step_at_{start}", "us", samples[start], floors[start])
    for start in windows[1:]:
        ratios = [sample / first for sample in samples[start]]
        yield row(f"step_at_{start}_vs_{windows[0]}", "x", ratios, budget=Budget(1.2))


# -- ours --------------------------------------------------------------------------------------


class ReadyAdapter(LlmAdapter):
    """Answer from ready chunks: `text-N`, or `tools-N` as long as fewer results are there.

    `marks` takes the CPU time at which each request arrived, when somebody asks for it.
    """

    def __init__(self) -> None:
        self.marks: list[int] | None = None
        self._texts: dict[int, list[StreamChunk]] = {}

    async def stream(self, options: GenerateOptions) -> AsyncIterator[StreamChunk]:
        """Yield the chunks of the model that was asked for."""
        if self.marks is not None:
            self.marks.append(time.process_time_ns())
        kind, _, count = options.model.partition("-")
        n_done = 0 if kind == "text" else (len(options.messages) - 1) // 2
        if kind == "text" or n_done == int(count):
            for chunk in self._text(int(count) if kind == "text" else 3):
                yield chunk
            return
        call_id, arguments = f"call_{n_done}", f'{{"n": {n_done}}}'
        yield BlockStart(0, "tool-call")
        yield ToolCallDelta(0, call_id, "tick", arguments)
        yield BlockEnd(0, ToolCallBlock(call_id, "tick", arguments))
        yield Finish(FinishReason.TOOL_CALLS)

    def _text(self, count: int) -> list[StreamChunk]:
        if count not in self._texts:
            deltas = [TextDelta(0, f"tok{number % 10} ") for number in range(count)]
            whole = TextBlock("".join(delta.text for delta in deltas))
            finish = Finish(FinishReason.STOP)
            self._texts[count] = [BlockStart(0, "text"), *deltas, BlockEnd(0, whole), finish]
        return self._texts[count]


ADAPTER = ReadyAdapter()


@asynccontextmanager
async def composed(folder: str | None = None) -> AsyncIterator[Context]:
    """Compose the spine with the ready model and one tool, durable in `folder` if given."""
    async with Context() as root:
        root.plugin(agent_core)
        if folder is not None:
            root.plugin(JsonlPersistence, {"root": folder, "fsync": "checkpoint"})
        await root.settle()
        root.llm.register_adapter(["ready"], ADAPTER)
        root.tools.register(tick)
        yield root


def creation(model: str) -> CreateAgentOptions:
    """Return what an agent for a model is made with."""
    return CreateAgentOptions(agent_options=AgentOptions(provider="ready", model=model))


async def conversation(root: Context, model: str) -> Agent:
    """Create an agent, let it answer one prompt, and dispose of it."""
    handle = await root.agents.create(creation(model))
    handle.agent.send("go")
    await handle.agent.when_idle()
    await handle.dispose()
    return handle.agent


async def conversation_marks(root: Context, n_calls: int) -> list[int]:
    """Return the CPU time at the begin of each step of one long turn."""
    ADAPTER.marks = []
    await conversation(root, f"tools-{n_calls}")
    marks, ADAPTER.marks = ADAPTER.marks, None
    return marks


def count_results(agent: Agent) -> int:
    """Count the calls that an agent ran."""
    return sum(event.type == "tool/result" for event in agent.session.events)


# -- the floor ---------------------------------------------------------------------------------


async def ready(model: str, messages: list[dict[str, Any]]) -> AsyncIterator[dict[str, Any]]:
    """Yield the chunks of an answer in the form of the chat-completions interface."""
    kind, _, count = model.partition("-")
    n_done = sum(1 for message in messages if message["role"] == "tool")
    if kind == "text":
        for chunk in ready_text(int(count)):
            yield chunk
    elif n_done == int(count):
        for chunk in ready_text(3):
            yield chunk
    else:
        head = {"index": 0, "id": f"call_{n_done}", "function": {"name": "tick", "arguments": ""}}
        for part in (
            head,
            {"index": 0, "function": {"arguments": '{"n"'}},
            {"index": 0, "function": {"arguments": f": {n_done}}}"}},
        ):
            yield {"choices": [{"delta": {"tool_calls": [part]}}]}


@cache
def ready_text(count: int) -> list[dict[str, Any]]:
    """Return the chunks of a text."""
    return [{"choices": [{"delta": {"content": f"tok{i % 10} "}}]} for i in range(count)]


async def plain_text(model: str, on_delta: Callable[[str], None]) -> None:
    """Take one answer and hand each delta on."""
    parts: list[str] = []
    async for chunk in ready(model, []):
        for choice in chunk["choices"]:
            piece = choice["delta"].get("content")
            if piece:
                parts.append(piece)
                on_delta(piece)
    "".join(parts)


async def plain_tools(model: str, marks: list[int] | None = None) -> int:
    """Run tool calls until the model answers; return how many there were."""
    messages: list[dict[str, Any]] = [{"role": "user", "content": "go"}]
    n_calls = 0
    while True:
        if marks is not None:
            marks.append(time.process_time_ns())
        calls: dict[int, dict[str, Any]] = {}
        async for chunk in ready(model, messages):
            for choice in chunk["choices"]:
                for part in choice["delta"].get("tool_calls") or ():
                    collect(part, calls)
        if not calls:
            return n_calls
        messages.append({"role": "assistant", "content": None, "tool_calls": [*calls.values()]})
        for call in calls.values():
            content = f"TICKOK {orjson.loads(call['function']['arguments'])['n']}"
            messages.append({"role": "tool", "tool_call_id": call["id"], "content": content})
            n_calls += 1


async def plain_marks(_root: Context, n_calls: int) -> list[int]:
    """Return the CPU time at the begin of each step of the floor."""
    marks: list[int] = []
    await plain_tools(f"tools-{n_calls}", marks)
    return marks


async def in_ms(
    meter: Meter,
    name: str,
    ours: Callable[[], Awaitable[None]],
    floor: Callable[[], Awaitable[None]],
    budget: Budget | None,
    *,
    repeat: int = REPEAT,
) -> Row:
    """Measure whole scenarios in turns, in milliseconds."""
    ours_ms: list[float] = []
    floor_ms: list[float] = []
    await ours()
    await floor()
    for _ in range(repeat):
        ours_ms.append(await meter.sample(lambda _: ours()) / 1e3)
        floor_ms.append(await meter.sample(lambda _: floor()) / 1e3)
    return row(name, "ms", ours_ms, floor_ms, budget=budget)
