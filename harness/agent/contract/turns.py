"""Check what a turn writes."""

# ruff: noqa: ANN401, D102  # a name is the description; a listener decides what its case is about

from collections.abc import AsyncIterator
from typing import Any

import pytest

from harness.agent.contract.shapes import (
    CALL,
    NEXT_STEP,
    ONE_STEP,
    PLUGIN,
)
from harness.agent.contract.stage import LoopStage
from harness.agent.contract.world import World, events_of, reasons_of, texts_of, types_of
from harness.agent.errors import DuplicatePendingMessage
from harness.agent.events import (
    INBOX_INSERTED,
    REQUEST,
    RequestPending,
)
from harness.agent.types import AgentOptions, AgentStatus, Delivery, InboxTarget
from harness.llm import (
    STREAM,
    BlockEnd,
    BlockStart,
    Finish,
    FinishReason,
    GenerateOptions,
    StreamChunk,
    TextBlock,
    TextDelta,
    TokenUsage,
    UsageChunk,
    create_assistant_message,
    create_user_message,
)
from harness.session import SESSION_FLUSH
from harness.testing.model import calls, says
from harness.tools import ToolExecution
from vendor_shims.cordis import Next


class TurnCases(LoopStage):
    """Hold the shape of a turn."""

    @pytest.mark.spec("04-T1", "03-70", "03-73")
    async def test_a_text_answer_is_one_step(self, world: World):
        agent = await world.agent(says(["Hel", "lo."]))
        receipt = await world.turn(agent)
        assert types_of(agent) == ONE_STEP
        kinds = [event.type for event in agent.session.events]
        assert kinds[5:10] == ["assistant/chunk"] * 5
        message = events_of(agent, "assistant/message")[0]
        assert message.source_event_seqs == tuple(range(5, 11))
        assert message.data["usage"] == {"inputTokens": 10, "outputTokens": 5}
        assert reasons_of(agent) == [{"kind": "completed"}]
        assert events_of(agent, "turn/start")[0].data["trigger"] == {"kind": "message"}
        assert events_of(agent, "request/header")[0].data["reason"] == "initial"
        assert [name for name in world.news if "status" in name] == [
            "agent/status running",
            "agent/status idle",
        ]
        assert (receipt.state, receipt.turn, receipt.seq) == ("entered", 1, 1)
        assert (await receipt).seq == 1

    @pytest.mark.spec("04-T2")
    async def test_a_tool_call_takes_a_second_step(self, world: World):
        world.tool("echo")
        agent = await world.agent(calls("echo", {}), says("Done."))
        await world.turn(agent)
        assert types_of(agent) == [*ONE_STEP[:6], *CALL, "step/end", *NEXT_STEP, "turn/end"]
        call, result = events_of(agent, *CALL)
        assert call.data["arguments"] == "{}"
        assert result.source_event_seqs == (call.seq,)
        assert [m.role for m in world.model.requests[1].messages] == ["user", "assistant", "user"]
        assert reasons_of(agent) == [{"kind": "completed"}]

    @pytest.mark.spec("04-T3")
    async def test_prompts_sent_before_the_turn_share_it(self, world: World):
        agent = await world.agent(says("Both."))
        world.send(agent, "one")
        await world.turn(agent, "two")
        assert texts_of(agent, "user/message") == ["one", "two"]
        assert agent.session.last_turn == 1

    @pytest.mark.spec("04-T4")
    async def test_single_intake_gives_each_prompt_its_turn(self, world: World):
        await world.mount(intake="single")
        agent = await world.agent(says("One."), says("Two."))
        first = world.send(agent, "one")
        second = await world.turn(agent, "two")
        assert (first.turn, second.turn) == (1, 2)
        assert world.news.count("agent/status idle") == 1

    @pytest.mark.spec("04-T5")
    async def test_a_prompt_sent_during_a_turn_follows_it_without_rest(self, world: World):
        flushed: list[int] = []

        async def send(_args: object, _execution: ToolExecution) -> str:
            world.send(agent, "next")
            return "sent"

        async def flush(session: Any) -> None:
            flushed.append(session.last_turn)

        world.tool("send", send)
        world.root.on(SESSION_FLUSH, flush)
        agent = await world.agent(calls("send", {}), says("One."), says("Two."))
        await world.turn(agent)
        assert reasons_of(agent) == [{"kind": "completed"}] * 2
        assert world.news.count("agent/status idle") == 1
        assert flushed == [1, 2]

    @pytest.mark.spec("04-T15", "03-26")
    async def test_prompts_keep_their_order(self, world: World):
        agent = await world.agent(says("All."))
        texts = [f"prompt {number}" for number in range(10)]
        for text in texts:
            world.send(agent, text)
        await agent.when_idle()
        assert texts_of(agent, "user/message") == texts

    @pytest.mark.spec("04-T16")
    async def test_an_empty_answer_hosts_its_usage_only(self, world: World):
        empty = [UsageChunk(TokenUsage(3, 0)), Finish(FinishReason.STOP)]
        agent = await world.agent(empty)
        await world.turn(agent)
        message = events_of(agent, "assistant/message")[0]
        assert message.data["message"]["content"] == ()
        assert message.data["usage"] == {"inputTokens": 3, "outputTokens": 0}
        assert [m.role for m in agent.session.derive_messages()] == ["user"]

    @pytest.mark.spec("04-T17", "03-70")
    async def test_a_header_is_logged_when_it_changes(self, world: World):
        agent = await world.agent(says("One."), says("Two."), says("Three."))
        await world.turn(agent)
        await world.turn(agent)
        assert len(events_of(agent, "request/header")) == 1
        world.tool("new")
        await world.turn(agent)
        reasons = [event.data["reason"] for event in events_of(agent, "request/header")]
        assert reasons == ["initial", "change"]
        assert len(events_of(agent, "request/context")) == 1

    @pytest.mark.spec("04-T19")
    async def test_the_model_gets_what_the_log_derives_to(self, world: World):
        seen: list[tuple[Any, Any]] = []
        world.tool("echo")

        def compare(options: GenerateOptions, following: Any) -> Any:
            seen.append((list(options.messages), agent.session.derive_messages()))
            return following()

        world.root.on(STREAM, compare)
        agent = await world.agent(calls("echo", {}), says("Done."), says("Again."))
        await world.turn(agent)
        await world.turn(agent, "more")
        assert len(seen) == 3
        assert all(sent == derived for sent, derived in seen)

    @pytest.mark.spec("04-T20")
    async def test_a_request_cannot_be_changed(self, world: World):
        agent = await world.agent(says("Hello."))
        await world.turn(agent)
        request: Any = world.model.requests[0]
        with pytest.raises(AttributeError):
            request.messages = ()
        messages: Any = request.messages
        with pytest.raises(AttributeError):
            messages.append(None)
        with pytest.raises(AttributeError):
            messages[0].content = ()

    @pytest.mark.spec("04-T21")
    async def test_a_missing_model_is_an_error_that_can_be_mended(self, world: World):
        agent = await world.agent(says("Hello."), agent_options=AgentOptions())
        await world.turn(agent)
        (reason,) = reasons_of(agent)
        assert reason["kind"] == "error"
        assert agent.id in reason["message"]
        assert reason["step"] == 1
        assert [failed.where for failed in world.failures] == ["turn"]

        async def choose(_pending: RequestPending, following: Next[Any]) -> Any:
            draft = await following()
            draft.config = type(draft.config)("scripted", "test")
            return draft

        world.root.on(REQUEST, choose)
        await world.turn(agent)
        assert reasons_of(agent)[1] == {"kind": "completed"}

    @pytest.mark.spec("04-T22")
    async def test_a_route_without_an_adapter_may_be_served_by_middleware(self, world: World):
        async def serve() -> AsyncIterator[StreamChunk]:
            yield BlockStart(0, "text")
            yield TextDelta(0, "Served.")
            yield BlockEnd(0, TextBlock("Served."))
            yield Finish(FinishReason.STOP)

        world.root.on(STREAM, lambda _options, _following: serve())
        options = AgentOptions(provider="nobody", model="m")
        agent = await world.agent(agent_options=options)
        await world.turn(agent)
        assert texts_of(agent, "assistant/message") == ["Served."]

    @pytest.mark.spec("04-T23")
    async def test_a_turn_may_be_limited_in_steps(self, world: World):
        await world.mount(max_steps_per_turn=3)
        world.tool("echo")
        agent = await world.agent(*[calls("echo", {})] * 4)
        await world.turn(agent)
        assert types_of(agent).count("step/start") == 3
        assert reasons_of(agent)[0]["code"] == "MAX_STEPS"
        assert reasons_of(agent)[0]["step"] == 3

    @pytest.mark.spec("04-T24")
    @pytest.mark.parametrize("target", list(InboxTarget))
    async def test_a_message_is_queued_once(self, world: World, target: InboxTarget):
        agent = await world.agent(says("Hello."))
        message = create_user_message("twice")
        agent.inbox.append(target, message)
        for deliver in (agent.followup, agent.steer, agent.send):
            with pytest.raises(DuplicatePendingMessage, match=message.id):
                deliver(message)
        assert [entry.message for entry in agent.inbox.snapshot()] == [message]
        assert agent.status is AgentStatus.IDLE
        agent.inbox.clear()

    async def test_only_user_messages_with_content_are_delivered(self, world: World):
        agent = await world.agent()
        answer = create_assistant_message("no", provider="p", model="m")
        for wrong in (answer, ()):
            with pytest.raises(ValueError, match=r"expected 'user'|no content"):
                agent.send(wrong)
            with pytest.raises(ValueError, match=r"expected 'user'|no content"):
                agent.inject(wrong, source=PLUGIN)
        assert not agent.inbox.has_pending
        assert agent.session.events == ()

    @pytest.mark.spec("04-T25")
    async def test_a_wake_opens_a_turn_even_if_its_prompt_is_gone(self, world: World):
        world.root.on(INBOX_INSERTED, lambda inserted: inserted.agent.inbox.clear())
        agent = await world.agent()
        receipt = await world.turn(agent)
        assert types_of(agent) == ["turn/start", "turn/end"]
        assert reasons_of(agent) == [{"kind": "completed"}]
        assert receipt.state == "discarded"
        await receipt.flushed()

    @pytest.mark.spec("04-T26")
    async def test_turns_of_any_trigger_share_one_numbering(self, world: World):
        agent = await world.agent(says("One."), says("Two."))
        await world.turn(agent)
        agent.inject("note", source=PLUGIN)
        agent.annotate("todo/write", {"todos": []})
        await world.turn(agent)
        numbers = [event.data["turn"] for event in events_of(agent, "turn/start")]
        assert numbers == [1, 2, 3, 4]

    async def test_a_message_may_be_queued_without_waking_anybody(self, world: World):
        agent = await world.agent(says("Hello."))
        message = create_user_message("later")
        receipt = agent.deliver(
            message, InboxTarget.NEXT_TURN, wakeup=False, delivery=Delivery.PROMPT
        )
        await world.rest()
        assert (agent.status, receipt.state) == (AgentStatus.IDLE, "pending")
        agent.wake()
        agent.wake()
        await agent.when_idle()
        assert receipt.state == "entered"
        assert agent.session.last_turn == 1
        agent.wake()
        assert agent.status is AgentStatus.IDLE
