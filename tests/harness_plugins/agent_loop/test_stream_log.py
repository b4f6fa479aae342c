"""Whatever a model streams, the log gives it back chunk by chunk, in every mode."""

import asyncio
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.agent.contract import World, another_world, events_of, texts_of, types_of
from harness.llm import StreamChunk
from harness.llm.testing import chunk_streams
from harness.testing.model import calls, says
from harness_plugins.agent_loop import AgentLoop
from vendor_shims.cordis import Context
from vendor_shims.timer import VirtualClock


async def streamed(chunks: list[StreamChunk], mode: str) -> tuple[Any, ...]:
    """Return what the log says of an answer: its chunks, its event without them, its history."""
    async with another_world(lambda ctx, options: ctx.plugin(AgentLoop, options)) as world:
        await world.mount(stream_log=mode)
        agent = await world.agent(chunks, says("Done."))
        await world.turn(agent)
        event = events_of(agent, "assistant/message", "assistant/attempt")[0]
        replayed = [chunk for _, chunk in agent.session.attempt_stream(event)]
        data = {key: value for key, value in event.data.items() if key not in ("stream", "message")}
        history = [(message.role, message.content) for message in agent.session.derive_messages()]
        return replayed, data, history, types_of(agent), len(event.data.get("stream", ()))


@pytest.mark.spec("04-S5", "04-S4")
@given(chunks=chunk_streams())
def test_a_stream_comes_back_chunk_by_chunk_in_every_mode(chunks) -> None:
    plain = asyncio.run(streamed(chunks, "chunks"))
    packed = asyncio.run(streamed(chunks, "both"))
    assert plain[0] == packed[0] == chunks
    assert plain[1:4] == packed[1:4]
    assert (plain[4], packed[4] > 0) == (0, True)


@given(cuts=st.lists(st.integers(1, 10), max_size=6))
def test_where_a_text_is_cut_does_not_matter(cuts) -> None:
    text, pieces = "Hello there, everybody.", []
    for cut in cuts:
        pieces.append(text[:cut])
        text = text[cut:]

    async def answer() -> list[str]:
        async with another_world(lambda ctx, options: ctx.plugin(AgentLoop, options)) as world:
            agent = await world.agent(says([*pieces, text]))
            await world.turn(agent)
            return texts_of(agent, "assistant/message")

    assert asyncio.run(answer()) == ["Hello there, everybody."]


@pytest.mark.parametrize("debug", [False, True])
async def test_the_log_is_the_same_in_the_debug_mode_of_the_kernel(debug, mount_loop) -> None:

    clock = VirtualClock()
    async with Context(clock=clock, debug=debug) as root:
        world = World(root, clock, mount_loop)
        await world.prepare()
        world.tool("echo")
        agent = await world.agent(calls("echo", {}), says("Done."))
        await world.turn(agent)
        assert types_of(agent) == [
            "turn/start", "user/message", "step/start", "request/header", "request/context",
            "assistant/message", "tool/call", "tool/result", "step/end", "step/start",
            "assistant/message", "step/end", "turn/end",
        ]  # fmt: skip
        await world.finish()
