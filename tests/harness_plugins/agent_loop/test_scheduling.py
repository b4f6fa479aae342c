"""However bodies overlap, the model reads what a sequential run would have told it."""

import asyncio
from typing import Any

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.agent.contract import World, another_world, events_of, reasons_of, texts_of
from harness.llm import create_user_message
from harness.testing.model import calls_all, says
from harness_plugins.agent_loop import AgentLoop

CALLS = st.lists(
    st.tuples(
        st.sampled_from(["safe", "safe", "alone", "missing"]),
        st.integers(0, 4),
        st.sampled_from(["ok", "ok", "ok", "raise", "explain", "conclude"]),
    ),
    min_size=1,
    max_size=7,
)
SOURCE = {"kind": "plugin", "plugin": "p"}


@attrs.define
class Run:
    """What one run came to; `overlaps` are the calls that ran beside each started call."""

    called: list[str] = attrs.field(factory=list)
    answered: list[str] = attrs.field(factory=list)
    contents: list[Any] = attrs.field(factory=list)
    contexts: list[str] = attrs.field(factory=list)
    reasons: list[Any] = attrs.field(factory=list)
    started: list[str] = attrs.field(factory=list)
    overlaps: dict[str, set[str]] = attrs.field(factory=dict)
    n_most: int = 0


async def play(batch: list[tuple[str, int, str]], cap: int, cancel_at: float | None) -> Run:
    run, running = Run(), set[str]()

    async def body(args: Any, execution: Any) -> str:
        call_id = execution.call_id
        run.started.append(call_id)
        run.overlaps[call_id] = set(running)
        for other in running:
            run.overlaps[other].add(call_id)
        running.add(call_id)
        run.n_most = max(run.n_most, len(running))
        try:
            await world.clock.sleep(args["n"])
        finally:
            running.discard(call_id)
        if args["do"] == "raise":
            raise ValueError(f"{call_id} failed")
        if args["do"] == "explain":
            message = create_user_message(f"about {call_id}", source=SOURCE)
            execution.defer_context(message)
        if args["do"] == "conclude":
            execution.conclude_turn()
        return f"{call_id} done"

    def mount(ctx: Any, options: Any) -> Any:
        return ctx.plugin(AgentLoop, options)

    async with another_world(mount) as world:
        parameters = {"n": {"type": "integer"}, "do": {"type": "string"}}
        world.tool("alone", body, parameters=parameters)
        world.tool("safe", body, parameters=parameters, is_concurrency_safe=lambda _args: True)
        await world.mount(max_parallel_tool_calls=cap)
        wanted = [(f"c{i}", tool, {"n": n, "do": do}) for i, (tool, n, do) in enumerate(batch)]
        agent = await world.agent(calls_all(wanted), says("Done."))
        world.send(agent)
        if cancel_at is not None:
            await world.clock.advance(cancel_at)
            agent.cancel()
        await world.clock.advance(100)
        read(world, agent, run)
    return run


def read(_world: World, agent: Any, run: Run) -> None:
    run.called = [event.data["callId"] for event in events_of(agent, "tool/call")]
    for event in events_of(agent, "tool/result"):
        run.answered.append(event.data["message"]["source"]["callId"])
        run.contents.append(event.data["message"]["content"])
    run.contexts = texts_of(agent, "context/message")
    run.reasons = reasons_of(agent)


@pytest.mark.spec("03-P20")
@given(batch=CALLS, cap=st.integers(2, 4))
def test_any_cap_tells_the_model_the_same(batch, cap) -> None:
    one = asyncio.run(play(batch, 1, None))
    many = asyncio.run(play(batch, cap, None))
    assert one.called == many.called == one.answered == many.answered
    assert one.contents == many.contents
    assert one.contexts == many.contexts
    assert one.reasons == many.reasons
    assert one.started == many.started
    assert one.n_most <= 1
    assert many.n_most <= cap
    for call_id, others in many.overlaps.items():
        if others:
            names = {call_id, *others}
            assert {batch[int(name[1:])][0] for name in names} == {"safe"}


@pytest.mark.spec("03-P20")
@given(batch=CALLS, cap=st.integers(2, 4), cancel_at=st.integers(0, 12))
def test_a_cancelled_batch_answers_every_call_once(batch, cap, cancel_at) -> None:
    one = asyncio.run(play(batch, 1, cancel_at + 0.5))
    many = asyncio.run(play(batch, cap, cancel_at + 0.5))
    everything = [f"c{number}" for number in range(len(batch))]
    for run in (one, many):
        assert run.called == run.answered == everything
        # What started is a run from the beginning, but for calls that never start.
        runnable = [c for c in everything if batch[int(c[1:])][0] != "missing"]
        assert run.started == runnable[: len(run.started)]
    assert set(many.started) >= set(one.started)
