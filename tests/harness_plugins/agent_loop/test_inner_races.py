"""Moments of a turn that only this loop's own order makes visible."""

import asyncio
from collections.abc import AsyncIterator

import anyio
import pytest

from harness.agent import (
    PRE_STEP,
    PROMPT_SUBMIT,
    TURN_STOPPING,
    AgentStatus,
    AgentUnbalancedError,
    Block,
    InboxTarget,
)
from harness.agent.contract import World, codes_of, events_of, reasons_of, texts_of, types_of
from harness.invariants import check_log
from harness.llm import (
    STREAM,
    BlockStart,
    Finish,
    FinishReason,
    TextDelta,
    create_user_message,
)
from harness.session import SESSION_EVENT, SESSION_VALIDATE, interrupted_turn_closers
from harness.testing.model import Hang, calls, calls_all, says
from harness.tools import ToolOutput, define_tool
from harness_plugins.agent_loop import AgentLoop
from vendor_shims.cordis import Context
from vendor_shims.timer import VirtualClock


async def test_no_chunk_is_logged_after_a_cancel(world) -> None:
    def cancel(_session, event) -> None:
        if event.type == "assistant/chunk" and event.data["chunk"]["type"] == "text-delta":
            agent.cancel()

    world.root.on(SESSION_EVENT, cancel)
    agent = await world.agent(says(["Seen.", " Unseen."]))
    await world.turn(agent)
    assert texts_of(agent, "assistant/message") == ["Seen."]
    assert reasons_of(agent) == [{"kind": "aborted", "reason": {"kind": "user"}}]


async def test_a_stream_need_not_be_closable(world) -> None:
    class Plain:
        def __init__(self) -> None:
            self.chunks = iter(
                [BlockStart(0, "text"), TextDelta(0, "x"), Finish(FinishReason.STOP)]
            )

        def __aiter__(self):
            return self

        async def __anext__(self):
            return next(self.chunks)

    world.root.on(STREAM, lambda _options, _following: Plain())
    agent = await world.agent()
    await world.turn(agent)
    assert texts_of(agent, "assistant/message") == ["x"]


async def test_a_complete_stream_that_does_not_close_can_be_cancelled(world) -> None:
    async def stream() -> AsyncIterator[object]:
        try:
            yield BlockStart(0, "text")
            yield TextDelta(0, "Well")
            yield Finish(FinishReason.STOP)
        finally:
            await anyio.sleep_forever()

    world.root.on(STREAM, lambda _options, _following: stream())
    agent = await world.agent()
    world.send(agent)
    await world.rest()
    assert agent.status is AgentStatus.RUNNING
    agent.cancel()
    await agent.when_idle()
    # The answer was complete, so it is kept as one.
    (message,) = events_of(agent, "assistant/message")
    assert "interrupted" not in message.data
    assert reasons_of(agent) == [{"kind": "aborted", "reason": {"kind": "user"}}]


async def test_a_cancelled_stream_that_does_not_close_is_left_behind(world) -> None:
    async def stream() -> AsyncIterator[object]:
        try:
            yield BlockStart(0, "text")
            yield TextDelta(0, "Well")
            yield TextDelta(0, "never seen")
        finally:
            await anyio.sleep_forever()

    def cancel(_session, event) -> None:
        if event.type == "assistant/chunk" and event.data["chunk"]["type"] == "text-delta":
            agent.cancel()

    world.root.on(STREAM, lambda _options, _following: stream())
    world.root.on(SESSION_EVENT, cancel)
    agent = await world.agent()
    world.send(agent)
    await world.rest()
    assert agent.status is AgentStatus.RUNNING
    await world.clock.advance(10)
    assert agent.status is AgentStatus.IDLE
    assert texts_of(agent, "assistant/message") == ["Well"]


async def test_a_cancel_while_a_step_is_prepared_begins_none(world) -> None:
    def cancel(_session, event) -> None:
        if event.type == "steering/message":
            agent.cancel()

    async def deliver(stopping) -> None:
        stopping.agent.steer("on")

    world.root.on(TURN_STOPPING, deliver)
    world.root.on(SESSION_EVENT, cancel)
    agent = await world.agent(says("One."))
    await world.turn(agent)
    assert types_of(agent).count("step/start") == 1
    assert reasons_of(agent)[0]["kind"] == "aborted"


@pytest.mark.parametrize("kind", ["assistant/chunk", "assistant/message", "tool/call"])
def test_the_end_of_the_program_closes_what_is_open(kind) -> None:
    """`SystemExit` in a listener is the program's, so brackets are closed and it goes on."""
    agents = []

    def leave(_session, event) -> None:
        if event.type == kind:
            raise SystemExit(3)

    async def main() -> None:
        clock = VirtualClock()
        world = World(Context(clock=clock), clock, lambda ctx, _: ctx.plugin(AgentLoop))
        await world.prepare()
        world.tool("echo")
        world.root.on(SESSION_EVENT, leave)
        agents.append(await world.agent(calls("echo", {}, text="I will.")))
        agents[0].send("hi")
        await asyncio.sleep(3600)

    with pytest.raises(SystemExit):
        asyncio.run(main())
    (agent,) = agents
    assert reasons_of(agent) == [{"kind": "disposed"}]
    assert types_of(agent)[-2:] == ["step/end", "turn/end"]


async def test_a_failed_start_in_a_pool_is_the_failure(world) -> None:
    def refuse(_session, event) -> None:
        if event.type == "tool/call" and event.data["callId"] == "b":
            raise ValueError("no second call")

    world.tool("echo", is_concurrency_safe=lambda _args: True)
    world.root.on(SESSION_VALIDATE, refuse)
    agent = await world.agent(calls_all([(key, "echo", {}) for key in "abc"]))
    await world.turn(agent)
    assert codes_of(agent) == [None, "TOOL_NOT_STARTED", "TOOL_NOT_STARTED"]
    assert reasons_of(agent)[0]["message"] == "no second call"


async def test_a_prompt_without_a_receipt_may_be_blocked(world) -> None:
    async def block(_submitted, _following):
        return Block("no")

    world.root.on(PROMPT_SUBMIT, block)
    agent = await world.agent()
    agent.inbox.append(InboxTarget.NEXT_TURN, create_user_message("quiet"))
    agent.wake()
    await agent.when_idle()
    assert reasons_of(agent) == [{"kind": "rejected", "message": "no"}]


async def test_a_group_of_one_is_told_as_the_error_that_it_holds(world) -> None:
    async def fail(_submitted, _following):
        raise ExceptionGroup("outer", [ExceptionGroup("inner", [ValueError("the cause")])])

    world.root.on(PROMPT_SUBMIT, fail)
    agent = await world.agent()
    await world.turn(agent)
    assert reasons_of(agent)[0]["message"] == "the cause"


async def test_results_keep_what_cards_need(world) -> None:
    output = ToolOutput({"type": "string"}, lambda _a, value: value, lambda _a, v: {"size": len(v)})

    async def body(_args, _execution) -> str:
        return "four"

    world.tools.register(
        define_tool(name="card", description="", parameters={}, output=output, execute=body)
    )
    agent = await world.agent(calls("card", {}), says("Done."))
    await world.turn(agent)
    assert events_of(agent, "tool/result")[0].data["meta"] == {"size": 4}


async def test_steering_that_the_inbox_held_without_a_receipt_enters(world) -> None:
    agent = await world.agent([Hang()], says("Now."))
    world.send(agent)
    await world.rest()
    agent.inbox.append(InboxTarget.NEXT_STEP, create_user_message("quiet"))
    agent.cancel(keep_inbox=True)
    agent.wake()
    await agent.when_idle()
    assert texts_of(agent, "user/message") == ["hi", "quiet"]


async def test_nothing_is_closed_over_a_call_whose_answer_was_refused() -> None:
    def refuse(_session, event) -> None:
        if event.type == "tool/result" and event.data["message"]["source"]["callId"] in refused:
            raise ValueError("not this one")

    refused = {"b", "c"}
    clock = VirtualClock()
    async with Context(clock=clock) as root:
        world = World(root, clock, lambda ctx, options: ctx.plugin(AgentLoop, options))
        await world.prepare()
        world.tool("echo")
        root.on(SESSION_VALIDATE, refuse)
        asked = [(call_id, "echo", {}) for call_id in "abcd"]
        agent = await world.agent(calls_all(asked), says("Better."))
        await world.turn(agent)
        results = events_of(agent, "tool/result")
        assert [event.data["message"]["source"]["callId"] for event in results] == ["a"]
        assert codes_of(agent) == [None]
        assert types_of(agent)[-1] == "tool/call"
        assert check_log(agent.session.events) == ()
        refused.clear()
        with pytest.raises(AgentUnbalancedError, match="resume"):
            await agent.send("Go on.")
        whole = (*agent.session.events, *interrupted_turn_closers(agent.session.events))
        assert check_log(whole, is_complete=True) == ()


async def test_a_listener_of_any_arguments_that_answers_nothing_lets_the_step_begin() -> None:
    clock = VirtualClock()
    async with Context(clock=clock) as root:
        world = World(root, clock, lambda ctx, options: ctx.plugin(AgentLoop, options))
        await world.prepare()
        heard: list[int] = []
        root.on(PRE_STEP, lambda *given: heard.append(len(given)))
        agent = await world.agent(says("Hello."))
        await world.turn(agent)
        assert heard == [2]
        assert reasons_of(agent) == [{"kind": "completed"}]
