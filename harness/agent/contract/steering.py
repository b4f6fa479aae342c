"""Check where steering and injected context enter."""

# ruff: noqa: ANN401, D102  # a name is the description; a listener decides what its case is about

from typing import Any

import pytest

from harness.agent.agent import Agent
from harness.agent.contract.shapes import (
    CALL,
    NEXT_STEP,
    ONE_STEP,
    PLUGIN,
)
from harness.agent.contract.stage import LoopStage
from harness.agent.contract.world import World, events_of, reasons_of, texts_of, types_of
from harness.agent.decisions import Continue
from harness.agent.events import (
    PRE_STEP,
    REQUEST,
    STATUS,
    TURN_CONTINUATION,
    RequestPending,
    StepPending,
)
from harness.agent.types import AgentStatus, InboxTarget
from harness.session import SESSION_EVENT
from harness.session_persistence import MemoryStorage
from harness.testing.model import calls, calls_all, says
from harness.tools import ToolExecution
from vendor_shims.cordis import Next


class SteeringCases(LoopStage):
    """Hold where steering and injected context enter."""

    @pytest.mark.spec("04-T6")
    async def test_steering_in_a_tool_enters_behind_its_result(self, world: World):
        async def steer(_args: object, _execution: ToolExecution) -> str:
            world.receipts.append(agent.steer("left"))
            return "steered"

        world.tool("steer", steer)
        agent = await world.agent(calls("steer", {}), says("Left."))
        await world.turn(agent)
        assert [kind for kind in types_of(agent) if "splice" not in kind] == [
            *ONE_STEP[:6], *CALL, "steering/message", "step/end", *NEXT_STEP, "turn/end",
        ]  # fmt: skip
        assert world.news.count("agent/steering") == 1
        data = events_of(agent, "steering/message")[0].data
        assert (data["turn"], "envelope" in data) == (1, False)
        assert texts_of(agent, "steering/message") == ['<context source="user">left</context>']

    @pytest.mark.spec("04-T7")
    async def test_steering_during_a_last_step_forces_another(self, world: World):
        def steer(_session: object, event: Any) -> None:
            if event.type == "assistant/message" and agent.session.last_turn == 1 and not said:
                said.append(agent.steer("wait"))

        said: list[Any] = []
        world.root.on(SESSION_EVENT, steer)
        agent = await world.agent(says("Bye."), says("Still here."))
        await world.turn(agent)
        assert types_of(agent).count("step/start") == 2
        kinds = types_of(agent)
        assert kinds.index("steering/message") < kinds.index("step/end")

    @pytest.mark.spec("04-T8")
    async def test_steering_an_idle_agent_is_sending(self, world: World):
        one, other = await world.agent(says("Hi.")), await world.agent(says("Hi."))
        await world.turn(one, "go")
        receipt = other.steer("go")
        await other.when_idle()
        assert types_of(one) == types_of(other)
        assert texts_of(other, "user/message") == ["go"]
        assert receipt.target == InboxTarget.NEXT_TURN

    @pytest.mark.spec("04-T9", "03-28", "03-177")
    async def test_context_injected_by_a_tool_waits_for_the_last_result(self, world: World):
        async def inject(_args: object, _execution: ToolExecution) -> str:
            world.receipts.append(agent.inject("note", source=PLUGIN))
            return "injected"

        world.tool("inject", inject)
        batch = calls_all([("a", "inject", {}), ("b", "inject", {})])
        agent = await world.agent(batch, says("Done."))
        await world.turn(agent)
        kinds = types_of(agent)
        assert kinds[6:13] == [*CALL, *CALL, "context/message", "context/message", "step/end"]

    @pytest.mark.spec("04-T10")
    async def test_context_injected_before_a_step_is_in_its_request(self, world: World):
        def inject(pending: StepPending) -> None:
            pending.agent.inject("fresh", source=PLUGIN)

        world.root.on(PRE_STEP, inject)
        agent = await world.agent(says("Hello."))
        await world.turn(agent)
        assert types_of(agent)[:4] == [
            "turn/start",
            "user/message",
            "context/message",
            "step/start",
        ]
        assert "fresh" in world.model.requests[0].messages[-1].text

    @pytest.mark.spec("04-T11")
    async def test_context_injected_while_a_request_is_made_waits_for_the_next(self, world: World):
        async def inject(pending: RequestPending, following: Next[Any]) -> Any:
            if pending.step == 1:
                agent.inject("late", source=PLUGIN)
            return await following()

        world.root.on(REQUEST, inject)
        world.tool("echo")
        agent = await world.agent(calls("echo", {}), says("Done."))
        await world.turn(agent)
        first, second = world.model.requests
        assert len(first.messages) == 1
        assert "late" in second.messages[-1].text

    @pytest.mark.spec("04-T12", "03-26")
    async def test_context_for_an_idle_agent_is_a_turn_of_its_own(self, world: World):
        agent = await world.agent(says("Hello."))
        del world.news[:]
        receipt = agent.inject("notice", source=PLUGIN, meta={"path": "/a"})
        assert types_of(agent) == ["turn/start", "context/message", "turn/end"]
        assert events_of(agent, "turn/start")[0].data["trigger"] == {"kind": "injection"}
        assert events_of(agent, "context/message")[0].data["meta"] == {"path": "/a"}
        assert (receipt.state, receipt.turn, receipt.seq) == ("entered", 1, 1)
        assert world.news == []
        assert world.model.requests == []
        await world.turn(agent)
        texts = [message.text for message in world.model.requests[0].messages]
        assert texts == ['<context source="watcher">notice</context>', "hi"]

    @pytest.mark.spec("03-27")
    async def test_idle_injections_stand_before_the_prompt_that_follows(self, world: World):
        agent = await world.agent(says("Hello."))
        agent.inject("one", source=PLUGIN)
        agent.inject("two", source=PLUGIN)
        await world.turn(agent, "three")
        triggers = [event.data["trigger"]["kind"] for event in events_of(agent, "turn/start")]
        assert triggers == ["injection", "injection", "message"]
        assert [message.text for message in world.model.requests[0].messages] == [
            '<context source="watcher">one</context>',
            '<context source="watcher">two</context>',
            "three",
        ]

    @pytest.mark.spec("04-T13")
    async def test_context_that_meets_the_end_of_a_turn_makes_no_step(self, world: World):
        def inject(_session: object, event: Any) -> None:
            if event.type == "step/end":
                world.receipts.append(agent.inject("just in time", source=PLUGIN))

        world.root.on(SESSION_EVENT, inject)
        agent = await world.agent(says("Bye."))
        await world.turn(agent)
        assert types_of(agent)[-3:] == ["step/end", "context/message", "turn/end"]
        assert types_of(agent).count("step/start") == 1

    @pytest.mark.spec("04-T14")
    async def test_context_that_is_no_json_is_the_callers_error(self, world: World):
        agent = await world.agent(says("Hello."))
        with pytest.raises(ValueError, match="meta"):
            agent.inject("x", source=PLUGIN, meta=object())
        assert types_of(agent) == ["turn/start", "turn/end"]
        assert reasons_of(agent)[0]["kind"] == "error"
        await world.turn(agent)
        assert reasons_of(agent)[1] == {"kind": "completed"}

    async def test_context_that_is_no_json_does_not_touch_a_running_turn(self, world: World):
        async def inject(_args: object, _execution: ToolExecution) -> str:
            with pytest.raises(ValueError, match="meta"):
                agent.inject("x", source=PLUGIN, meta=object())
            with pytest.raises(ValueError, match="todos"):
                agent.annotate("todo/write", {"todos": object()})
            return "tried"

        world.tool("inject", inject)
        agent = await world.agent(calls("inject", {}), says("Done."))
        await world.turn(agent)
        assert reasons_of(agent) == [{"kind": "completed"}]
        assert "context/message" not in types_of(agent)

    @pytest.mark.spec("04-T27")
    @pytest.mark.parametrize("kind", ["turn/start", "user/message", "step/end", "turn/end"])
    async def test_whatever_an_observer_delivers_is_written_behind_the_event(
        self, world: World, kind: str
    ):
        done: list[Any] = []

        def deliver(_session: object, event: Any) -> None:
            if event.type != kind or done:
                return
            done.append(event)
            world.receipts.append(agent.inject("context", source=PLUGIN))
            agent.annotate("todo/write", {"todos": []})
            world.receipts.append(agent.steer("steer"))
            world.receipts.append(agent.followup("follow up"))

        world.root.on(SESSION_EVENT, deliver)
        agent = await world.agent(says("One."), says("Two."), says("Three."))
        await world.turn(agent)
        assert {reason["kind"] for reason in reasons_of(agent)} == {"completed"}
        assert len(events_of(agent, "context/message")) == 1
        assert len(events_of(agent, "todo/write")) == 1
        assert "follow up" in texts_of(agent, "user/message")
        assert len(events_of(agent, "user/message", "steering/message")) == 3
        assert world.failures == []

    @pytest.mark.spec("04-T27")
    async def test_an_observer_of_a_one_shot_turn_may_deliver_too(self, world: World):
        def deliver(_session: object, event: Any) -> None:
            if event.type == "context/message" and not done:
                done.append(event)
                agent.annotate("todo/write", {"todos": []})
                world.receipts.append(agent.inject("second", source=PLUGIN))
                world.send(agent, "prompt")

        done: list[Any] = []
        world.root.on(SESSION_EVENT, deliver)
        agent = await world.agent(says("Hello."))
        agent.inject("first", source=PLUGIN)
        await agent.when_idle()
        assert len(events_of(agent, "context/message")) == 2
        assert len(events_of(agent, "todo/write")) == 1
        assert texts_of(agent, "user/message") == ["prompt"]

    @pytest.mark.spec("04-T28")
    async def test_steering_may_enter_without_an_envelope(self, world: World):
        async def go_on(_ended: object, _following: Next[Any]) -> Any:
            return Continue("go on") if not events_of(agent, "steering/message") else None

        async def decide(ended: Any, following: Next[Any]) -> Any:
            return await go_on(ended, following) or await following()

        await world.mount(steering_envelope="raw")
        world.root.on(TURN_CONTINUATION, decide)
        agent = await world.agent(says("One."), says("Two."))
        await world.turn(agent)
        event = events_of(agent, "steering/message")[0]
        assert event.data["envelope"] == "raw"
        assert texts_of(agent, "steering/message") == ["go on"]

    @pytest.mark.spec("03-68")
    async def test_another_envelope_for_steering_leaves_what_entered_as_it_was(self, world: World):
        async def steer(_args: object, execution: ToolExecution) -> str:
            assert execution.agent is not None
            world.receipts.append(execution.agent.steer("left"))
            return "steered"

        world.tool("steer", steer)
        await world.persist(MemoryStorage())
        loop = await world.mount()
        agent = await world.agent(calls("steer", {}), says("Left."))
        await world.turn(agent)
        before = agent.session.derive_messages()
        await loop.dispose()
        await world.mount(steering_envelope="raw")
        again = (await world.resume(agent.id, calls("steer", {}), says("Left."))).agent
        await world.turn(again)
        assert texts_of(again, "steering/message") == [
            '<context source="user">left</context>', "left",
        ]  # fmt: skip
        assert again.session.derive_messages()[: len(before)] == before

    async def test_an_injection_may_bring_its_own_frame(self, world: World):
        agent = await world.agent()
        agent.inject("<own>frame</own>", source=PLUGIN, envelope="raw")
        assert texts_of(agent, "context/message") == ["<own>frame</own>"]

    @pytest.mark.spec("03-P30")
    async def test_idle_injections_are_turns_in_order(self, world: World):
        agent = await world.agent()
        for number in range(5):
            agent.inject(f"note {number}", source=PLUGIN)
        assert types_of(agent) == ["turn/start", "context/message", "turn/end"] * 5
        derived = [message.text for message in agent.session.derive_messages()]
        assert derived == [f'<context source="watcher">note {n}</context>' for n in range(5)]
        assert world.model.requests == []

    async def test_a_prompt_sent_when_the_agent_comes_to_rest_wakes_it_again(self, world: World):
        def again(change: Any) -> None:
            if change.status is AgentStatus.IDLE and agent.session.last_turn == 1:
                world.send(agent, "again")

        world.root.on(STATUS, again)
        agent: Agent = await world.agent(says("One."), says("Two."))
        await world.turn(agent)
        assert agent.session.last_turn == 2
        assert agent.status is AgentStatus.IDLE
