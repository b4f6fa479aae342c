"""Check the rows of the race table that lie outside the tools."""

# ruff: noqa: ANN401, D102  # a name is the description; a listener decides what its case is about

from collections.abc import AsyncIterator
from typing import Any

import anyio
import pytest

from harness.agent.agent import Agent
from harness.agent.contract.shapes import (
    CALL,
    CLOSED,
    ONE_STEP,
    USER,
    hang,
)
from harness.agent.contract.stage import LoopStage
from harness.agent.contract.world import (
    World,
    codes_of,
    events_of,
    reasons_of,
    texts_of,
    types_of,
)
from harness.agent.decisions import Retry
from harness.agent.events import (
    PRE_STEP,
    PROMPT_SUBMIT,
    REQUEST,
    REQUEST_ERROR,
    STEP_RESULT,
    TURN_CONTINUATION,
    TURN_STOPPING,
    StepPending,
)
from harness.agent.types import AgentStatus
from harness.llm import STREAM, BlockStart, Finish, FinishReason, TextDelta
from harness.session import SESSION_EVENT, SESSION_FLUSH, SessionEvent
from harness.system_prompt import ASSEMBLE
from harness.testing.model import Hang, calls, calls_all, fails, says


class RaceCases(LoopStage):
    """Hold the rows of the table that lie before the tools."""

    @pytest.mark.spec("04-C1")
    async def test_r1_an_idle_agent_remembers_no_cancel(self, world: World):
        agent = await world.agent(says("Hello."))
        agent.cancel()
        await world.turn(agent)
        assert types_of(agent) == ONE_STEP

    @pytest.mark.spec("04-C2")
    async def test_r2_a_turn_that_has_not_begun_is_dropped(self, world: World):
        agent = await world.agent()
        receipt = world.send(agent)
        agent.cancel()
        await agent.when_idle()
        assert agent.session.events == ()
        assert receipt.state == "discarded"
        assert world.news[-2:] == ["agent/inbox/discarded", "agent/status idle"]

    async def test_r3_a_turn_that_has_just_begun_takes_nothing_up(self, world: World):
        world.root.on(SESSION_EVENT, _cancelling_at("turn/start", world, keep_inbox=True))
        agent = await world.agent(says("Hello."))
        receipt = await world.turn(agent)
        assert types_of(agent) == ["turn/start", "turn/end"]
        assert reasons_of(agent) == [USER]
        assert receipt.state == "pending"
        agent.wake()
        await agent.when_idle()
        assert receipt.state == "entered"

    @pytest.mark.spec("04-C3")
    async def test_r4_prompts_that_entered_before_stay(self, world: World):
        async def cancel(submitted: Any, following: Any) -> Any:
            if submitted.message.text == "two":
                agent.cancel()
                await anyio.sleep_forever()
            return await following()

        world.root.on(PROMPT_SUBMIT, cancel)
        agent = await world.agent()
        world.send(agent, "one")
        second = await world.turn(agent, "two")
        assert texts_of(agent, "user/message") == ["one"]
        assert second.state == "rejected"
        assert reasons_of(agent) == [USER]

    @pytest.mark.spec("04-C4")
    async def test_r5_a_running_compaction_closes_itself(self, world: World):
        async def compact(pending: StepPending) -> None:
            session = pending.agent.session
            session.append("compaction/start", {"compactionId": "k", "turn": 1})
            try:
                await anyio.sleep_forever()
            finally:
                session.append("compaction/end", {"compactionId": "k", "turn": 1})

        world.root.on(PRE_STEP, compact)
        agent = await _cancelled(world)
        assert types_of(agent)[-2:] == ["compaction/end", "turn/end"]
        assert reasons_of(agent) == [USER]

    async def test_r5_a_prompt_that_is_being_assembled_is_given_up(self, world: World):
        async def wait(*_: object) -> Any:
            return await hang()

        world.root.on(ASSEMBLE, wait)
        agent = await _cancelled(world)
        assert types_of(agent) == ["turn/start", "user/message", "turn/end"]

    async def test_r6_no_step_begins_after_a_cancel(self, world: World):
        world.root.on(PRE_STEP, lambda pending: pending.agent.cancel())
        agent = await world.agent()
        await world.turn(agent)
        assert types_of(agent) == ["turn/start", "user/message", "turn/end"]
        assert reasons_of(agent) == [USER]

    async def test_r7_a_request_that_is_being_made_is_not_sent(self, world: World):
        async def wait(_pending: object, _following: object) -> Any:
            return await hang()

        world.root.on(REQUEST, wait)
        agent = await _cancelled(world)
        assert types_of(agent) == [*ONE_STEP[:3], *CLOSED]
        assert world.model.requests == []
        assert reasons_of(agent) == [USER]

    async def test_r7_a_call_that_is_being_prepared_is_not_sent(self, world: World):
        async def wait(*_: object) -> Any:
            return await hang()

        world.model.resolve_model = wait  # pyright: ignore[reportAttributeAccessIssue] - slow facts
        agent = await _cancelled(world)
        assert types_of(agent) == [*ONE_STEP[:3], *CLOSED]
        assert world.model.requests == []

    @pytest.mark.spec("04-C5", "03-P24")
    async def test_r8_nothing_visible_leaves_an_attempt(self, world: World):
        agent = await _cancelled(world, [Hang()])
        assert types_of(agent)[5:] == ["assistant/attempt", *CLOSED]
        assert "failure" not in events_of(agent, "assistant/attempt")[0].data
        assert reasons_of(agent) == [USER]

    @pytest.mark.spec("04-C5", "03-P24")
    async def test_r9_visible_text_is_kept_without_calls(self, world: World):
        half = calls("echo", {}, text="I will")[:-2]
        agent = await _cancelled(world, [*half, Hang()])
        (message,) = events_of(agent, "assistant/message")
        assert message.data["interrupted"] is True
        assert texts_of(agent, "assistant/message") == ["I will"]
        assert len(message.data["message"]["content"]) == 1
        assert types_of(agent)[6:] == CLOSED

    @pytest.mark.spec("04-C6")
    async def test_r9_an_adapter_that_swallows_the_cancel_does_not_complete(self, world: World):
        async def swallow() -> AsyncIterator[Any]:
            yield BlockStart(0, "text")
            yield TextDelta(0, "Half")
            try:
                await anyio.sleep_forever()
            except BaseException:  # noqa: BLE001 - the wrong thing to do, on purpose
                closed.append("swallowed")
            yield Finish(FinishReason.STOP)

        closed: list[str] = []
        world.root.on(STREAM, lambda _options, _following: swallow())
        agent = await _cancelled(world)
        assert closed == ["swallowed"]
        assert texts_of(agent, "assistant/message") == ["Half"]
        assert events_of(agent, "assistant/message")[0].data["interrupted"] is True
        assert reasons_of(agent) == [USER]

    async def test_r9_the_stream_is_closed_before_the_step(self, world: World):
        async def stream() -> AsyncIterator[Any]:
            try:
                yield BlockStart(0, "text")
                await anyio.sleep_forever()
            finally:
                with anyio.CancelScope(shield=True):
                    await anyio.lowlevel.checkpoint()
                closed.append(types_of(agent)[-1])

        closed: list[str] = []
        world.root.on(STREAM, lambda _options, _following: stream())
        agent = await world.agent()
        world.send(agent)
        await world.rest()
        agent.cancel()
        await agent.when_idle()
        assert closed == ["request/context"]

    @pytest.mark.spec("04-C7")
    async def test_r10_an_answer_that_was_complete_is_kept(self, world: World):
        def cancel(_session: object, event: SessionEvent) -> None:
            if event.type == "assistant/chunk" and event.data["chunk"]["type"] == "finish":
                agent.cancel()

        world.tool("echo")
        world.root.on(SESSION_EVENT, cancel)
        agent = await world.agent(calls_all([("a", "echo", {}), ("b", "echo", {})]))
        await world.turn(agent)
        assert types_of(agent)[5:] == ["assistant/message", *CALL, *CALL, *CLOSED]
        assert "interrupted" not in events_of(agent, "assistant/message")[0].data
        assert codes_of(agent) == ["ABORTED_BEFORE_DISPATCH"] * 2
        assert reasons_of(agent) == [USER]

    @pytest.mark.spec("04-C8")
    async def test_r11_a_retry_sleep_is_cut_short(self, world: World):
        async def wait(_failed: object, _following: object) -> Any:
            return await hang()

        world.root.on(REQUEST_ERROR, wait)
        agent = await _cancelled(world, fails("SERVER"))
        assert types_of(agent)[5:] == ["assistant/attempt", *CLOSED]
        assert len(world.model.requests) == 1
        assert reasons_of(agent) == [USER]

    @pytest.mark.spec("04-C8")
    async def test_r12_a_cancel_beats_a_retry(self, world: World):
        async def retry(failed: Any, _following: object) -> Any:
            failed.agent.cancel()
            return Retry()

        world.root.on(REQUEST_ERROR, retry)
        agent = await world.agent(fails("SERVER"))
        await world.turn(agent)
        assert len(world.model.requests) == 1
        assert reasons_of(agent) == [USER]

    @pytest.mark.parametrize("visible", [False, True])
    async def test_r13_an_answer_under_review_is_interrupted(self, world: World, *, visible: bool):
        async def wait(_answered: object, _following: object) -> Any:
            return await hang()

        world.tool("echo")
        world.root.on(STEP_RESULT, wait)
        agent = await _cancelled(world, calls("echo", {}, text="Well" if visible else ""))
        kind = "assistant/message" if visible else "assistant/attempt"
        assert types_of(agent)[5:] == [kind, *CLOSED]
        assert (events_of(agent, kind)[0].data.get("interrupted") is True) == visible
        assert reasons_of(agent) == [USER]

    async def test_r13_an_error_caused_by_the_cancel_interrupts_too(self, world: World):
        async def fail(answered: Any, _following: object) -> Any:
            answered.agent.cancel()
            raise ValueError("cut off")

        world.root.on(STEP_RESULT, fail)
        agent = await world.agent(says("Hello."))
        await world.turn(agent)
        assert events_of(agent, "assistant/message")[0].data["interrupted"] is True
        assert reasons_of(agent) == [USER]

    @pytest.mark.spec("04-C14")
    @pytest.mark.parametrize("event", [TURN_CONTINUATION, TURN_STOPPING])
    async def test_r21_r22_a_turn_about_to_stop_is_aborted(self, world: World, event: Any):
        async def wait(*_: object) -> Any:
            return await hang()

        world.root.on(event, wait)
        agent = await _cancelled(world, says("Bye."))
        assert types_of(agent) == ONE_STEP
        assert reasons_of(agent) == [USER]

    async def test_r23_a_turn_that_ended_is_complete(self, world: World):
        world.root.on(SESSION_EVENT, _cancelling_at("turn/end", world))
        agent = await world.agent(says("Bye."))
        await world.turn(agent)
        assert reasons_of(agent) == [{"kind": "completed"}]

    @pytest.mark.spec("04-C15")
    async def test_r24_a_flush_goes_on(self, world: World):
        async def flush(_session: object) -> None:
            await gate.wait()
            flushed.append(agent.session.last_turn)

        gate, flushed = anyio.Event(), list[int]()
        world.root.on(SESSION_FLUSH, flush)
        agent = await world.agent(says("Bye."))
        world.send(agent)
        await world.rest()
        queued = world.send(agent, "more")
        agent.cancel()
        gate.set()
        await agent.when_idle()
        assert flushed == [1]
        assert queued.state == "discarded"
        assert reasons_of(agent) == [{"kind": "completed"}]
        assert agent.status is AgentStatus.IDLE


async def _cancelled(world: World, *replies: Any) -> Agent:
    """Run a prompt until nothing moves, cancel it, and wait for rest."""
    agent = await world.agent(*replies)
    world.send(agent)
    await world.rest()
    assert agent.status is AgentStatus.RUNNING
    agent.cancel()
    await agent.when_idle()
    return agent


def _cancelling_at(kind: str, world: World, *, keep_inbox: bool = False) -> Any:
    done: list[object] = []

    def cancel(_session: object, event: SessionEvent) -> None:
        if event.type == kind and not done:
            done.append(event)
            world.agents_made[0].cancel(keep_inbox=keep_inbox)

    return cancel
