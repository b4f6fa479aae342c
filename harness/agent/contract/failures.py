"""Check that a turn contains whatever fails in it, and says so."""

# ruff: noqa: ANN401, D102  # a name is the description; a listener decides what its case is about

from typing import Any, cast

import anyio
import pytest

from harness.agent.contract.shapes import (
    CALL,
    ONE_STEP,
    PLUGIN,
    answering,
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
from harness.agent.errors import AgentUnbalancedError
from harness.agent.events import ERROR, PROMPT_SUBMIT
from harness.agent.types import AgentStatus
from harness.llm import create_user_message
from harness.session import SESSION_EVENT, SESSION_FLUSH, SESSION_VALIDATE, SessionEvent
from harness.testing.model import calls, calls_all, fails, says
from harness.tools import RESULT, ToolExecution


class FailureCases(LoopStage):
    """Hold the containment of errors."""

    @pytest.mark.spec("04-E1")
    async def test_a_failing_flush_is_reported_and_tried_again(self, world: World):
        flushed: list[int] = []

        async def flush(session: Any) -> None:
            flushed.append(session.last_turn)
            if len(flushed) == 1:
                raise OSError("disk full")

        world.root.on(SESSION_FLUSH, flush)
        agent = await world.agent(says("One."), says("Two."))
        await world.turn(agent)
        assert reasons_of(agent) == [{"kind": "completed"}]
        assert [(failed.where, str(failed.error)) for failed in world.failures] == [
            ("flush", "disk full")
        ]
        await world.turn(agent)
        assert flushed == [1, 2]
        assert len(world.failures) == 1

    @pytest.mark.spec("04-E2")
    async def test_a_flush_that_hangs_is_given_up(self, world: World):
        async def hang(_session: object) -> None:
            await anyio.sleep_forever()

        await world.mount(flush_timeout_s=5.0)
        listener = world.root.on(SESSION_FLUSH, hang)
        agent = await world.agent(says("One."), says("Two."))
        world.send(agent)
        await world.rest()
        assert agent.status is AgentStatus.RUNNING
        await world.clock.advance(5)
        assert agent.status is AgentStatus.IDLE
        assert [failed.where for failed in world.failures] == ["flush"]
        assert isinstance(world.failures[0].error, TimeoutError)
        listener()
        await world.turn(agent)
        assert reasons_of(agent) == [{"kind": "completed"}] * 2

    @pytest.mark.spec("04-E3")
    async def test_a_failing_tool_is_the_models_affair(self, world: World):
        async def fail(_args: object, _execution: ToolExecution) -> str:
            raise ValueError("no such thing")

        world.tool("fail", fail)
        agent = await world.agent(calls("fail", {}), says("I see."))
        await world.turn(agent)
        block = events_of(agent, "tool/result")[0].data["message"]["content"][0]
        assert block["isError"] is True
        assert reasons_of(agent) == [{"kind": "completed"}]
        assert world.failures == []

    @pytest.mark.spec("04-E4", "03-P23")
    @pytest.mark.parametrize("safe", [False, True])
    async def test_a_defect_between_calls_leaves_no_call_unanswered(
        self, world: World, *, safe: bool
    ):
        def refuse(_session: object, event: SessionEvent) -> None:
            # The result of the second call cannot be written as it is.
            if event.type == "tool/result" and "toolCallId': 'b'" in str(event.data):
                code = event.data.get("error", {}).get("code")
                if code != "TOOL_OUTCOME_UNKNOWN":
                    raise ValueError("broken pipe")

        world.tool("echo", is_concurrency_safe=answering(answer=safe))
        world.root.on(SESSION_VALIDATE, refuse)
        agent = await world.agent(calls_all([(key, "echo", {}) for key in "abc"]), says("Again."))
        await world.turn(agent)
        last = "TOOL_OUTCOME_UNKNOWN" if safe else "TOOL_NOT_STARTED"
        assert codes_of(agent) == [None, "TOOL_OUTCOME_UNKNOWN", last]
        assert types_of(agent)[-2:] == ["step/end", "turn/end"]
        assert reasons_of(agent)[0]["message"] == "broken pipe"
        results = events_of(agent, "tool/result")
        assert results[1].data["message"]["id"] == f"interrupted-tool-result-b-{results[1].seq}"
        await world.turn(agent)
        assert reasons_of(agent)[1] == {"kind": "completed"}

    @pytest.mark.spec("04-E5")
    async def test_a_turn_that_cannot_begin_keeps_the_inbox(self, world: World):
        listener = world.root.on(SESSION_VALIDATE, _refusing("turn/start"))
        agent = await world.agent(says("Hello."))
        receipt = await world.turn(agent)
        assert agent.session.events == ()
        assert [failed.where for failed in world.failures] == ["turn-start"]
        assert (agent.status, receipt.state) == (AgentStatus.IDLE, "pending")
        listener()
        agent.wake()
        await agent.when_idle()
        assert receipt.state == "entered"

    @pytest.mark.spec("04-E6")
    async def test_a_turn_that_cannot_end_closes_the_agent(self, world: World):
        world.may_stay_open = True
        world.root.on(SESSION_VALIDATE, _refusing("turn/end"))
        agent = await world.agent(says("Hello."))
        await world.turn(agent)
        assert [failed.where for failed in world.failures] == ["turn-end"]
        assert agent.status is AgentStatus.IDLE
        for deliver in (
            lambda: agent.send("more"),
            lambda: agent.steer("more"),
            lambda: agent.inject("more", source=PLUGIN),
            lambda: agent.annotate("todo/write", {"todos": []}),
        ):
            with pytest.raises(AgentUnbalancedError, match="resume"):
                deliver()
        agent.wake()
        assert agent.status is AgentStatus.IDLE

    @pytest.mark.spec("04-E6")
    async def test_a_one_shot_turn_that_cannot_end_closes_the_agent_too(self, world: World):
        world.may_stay_open = True
        world.root.on(SESSION_VALIDATE, _refusing("turn/end"))
        agent = await world.agent()
        with pytest.raises(ValueError, match="no turn/end"):
            agent.inject("note", source=PLUGIN)
        with pytest.raises(AgentUnbalancedError):
            agent.send("more")

    @pytest.mark.spec("04-E7")
    async def test_an_error_does_not_stop_the_prompts_behind_it(self, world: World):
        await world.mount(intake="single")
        agent = await world.agent(fails("SERVER"), says("Two."))
        world.send(agent, "one")
        await world.turn(agent, "two")
        assert [reason["kind"] for reason in reasons_of(agent)] == ["error", "completed"]

    @pytest.mark.spec("04-E8")
    async def test_an_error_may_stop_the_agent(self, world: World):
        await world.mount(intake="single", stop_on_error=True)
        agent = await world.agent(fails("SERVER"), says("Two."))
        world.send(agent, "one")
        second = await world.turn(agent, "two")
        assert (agent.status, second.state) == (AgentStatus.IDLE, "pending")
        assert [entry.message.text for entry in agent.inbox.snapshot()] == ["two"]
        agent.wake()
        await agent.when_idle()
        assert second.state == "entered"

    @pytest.mark.spec("04-E9")
    async def test_a_long_chain_of_causes_fits_into_its_reason(self, world: World):
        async def fail(_submitted: object, _following: object) -> Any:
            error: Exception | None = None
            for number in range(500):
                cause, error = error, ValueError(f"level {number} " + "€" * 40)
                error.__cause__ = cause
            raise error or AssertionError

        world.root.on(PROMPT_SUBMIT, fail)
        agent = await world.agent()
        await world.turn(agent)
        message = reasons_of(agent)[0]["message"]
        assert message.startswith("level 499 ")
        assert message.index("level 499") < message.index("level 498")
        assert 4000 < len(message.encode()) <= 4096

    @pytest.mark.spec("04-E10")
    async def test_an_error_about_an_error_is_only_logged(self, world: World):
        def fail(_: object) -> None:
            raise ValueError("who watches the watchers")

        world.root.on(ERROR, fail)
        agent = await world.agent(fails("SERVER"), says("Again."))
        await world.turn(agent)
        await world.turn(agent)
        assert [reason["kind"] for reason in reasons_of(agent)] == ["error", "completed"]
        assert len(world.failures) == 1
        assert any("watchers" in str(line.args) for line in world.lines)

    async def test_a_step_that_cannot_begin_is_not_counted(self, world: World):
        world.root.on(SESSION_VALIDATE, _refusing("step/start"))
        agent = await world.agent()
        await world.turn(agent)
        assert types_of(agent) == ["turn/start", "user/message", "turn/end"]
        assert reasons_of(agent)[0]["step"] == 0

    async def test_a_step_that_cannot_end_is_reported_with_what_ended_it(self, world: World):
        world.may_stay_open = True
        world.root.on(SESSION_VALIDATE, _refusing("step/end"))
        agent = await world.agent(fails("SERVER", "overloaded"))
        await world.turn(agent)
        turn, end = world.failures
        assert isinstance(turn.error, ExceptionGroup)
        group = cast("ExceptionGroup[Exception]", turn.error)
        assert [str(error) for error in group.exceptions] == ["overloaded", "no step/end"]
        assert end.where == "turn-end"

    async def test_an_answer_that_cannot_be_closed_is_one_error(self, world: World):
        world.may_stay_open = True
        world.root.on(SESSION_VALIDATE, _refusing("step/end"))
        agent = await world.agent(says("Hello."))
        await world.turn(agent)
        assert str(world.failures[0].error) == "no step/end"

    @pytest.mark.spec("03-P23")
    async def test_refused_context_is_its_owners_loss(self, world: World):
        async def inject(_args: object, _execution: ToolExecution) -> str:
            receipts.append(agent.inject("note", source=PLUGIN))
            return "injected"

        receipts: list[Any] = []
        world.tool("inject", inject)
        world.root.on(SESSION_VALIDATE, _refusing("context/message"))
        agent = await world.agent(calls("inject", {}), says("Done."))
        await world.turn(agent)
        assert reasons_of(agent) == [{"kind": "completed"}]
        assert [failed.where for failed in world.failures] == ["inject"]
        assert receipts[0].outcome.state == "rejected"
        assert receipts[0].outcome.reason == "no context/message"

    async def test_refused_facts_are_reported(self, world: World):
        world.root.on(SESSION_VALIDATE, _refusing("todo/write"))
        agent = await world.agent(says("Hello."))
        world.send(agent)
        assert agent.annotate("todo/write", {"todos": []}) is None
        await agent.when_idle()
        assert [failed.where for failed in world.failures] == ["annotate"]
        assert reasons_of(agent) == [{"kind": "completed"}]

    async def test_held_context_waits_for_a_turn_that_can_begin(self, world: World):
        async def hold(_session: object) -> None:
            receipts.append(agent.inject("note", source=PLUGIN))
            listeners.append(world.root.on(SESSION_VALIDATE, _refusing("turn/start")))

        receipts: list[Any] = []
        listeners: list[Any] = []
        flush = world.root.on(SESSION_FLUSH, hold)
        agent = await world.agent(says("One."), says("Two."))
        await world.turn(agent)
        assert (agent.status, receipts[0].state) == (AgentStatus.IDLE, "pending")
        assert [failed.where for failed in world.failures] == ["inject"]
        flush()
        listeners[0]()
        await world.turn(agent)
        assert receipts[0].state == "entered"
        assert types_of(agent)[-7:-4] == ["turn/start", "user/message", "context/message"]

    async def test_refused_steering_is_answered(self, world: World):
        async def steer(_args: object, _execution: ToolExecution) -> str:
            world.receipts.append(agent.steer("left"))
            return "steered"

        world.tool("steer", steer)
        world.root.on(SESSION_VALIDATE, _refusing("steering/message"))
        agent = await world.agent(calls("steer", {}))
        await world.turn(agent)
        assert world.receipts[-1].state == "rejected"
        assert reasons_of(agent)[0]["message"] == "no steering/message"

    @pytest.mark.spec("04-M11")
    async def test_steering_left_over_by_an_error_starts_the_next_turn(self, world: World):
        asked: list[str] = []

        def steer(_session: object, event: SessionEvent) -> None:
            if event.type == "assistant/attempt":
                world.receipts.append(agent.steer("steered"))
                world.send(agent, "queued")

        async def look(submitted: Any, following: Any) -> Any:
            asked.append(submitted.message.text)
            return await following()

        world.root.on(SESSION_EVENT, steer)
        world.root.on(PROMPT_SUBMIT, look)
        agent = await world.agent(fails("SERVER"), says("Two."))
        await world.turn(agent)
        assert asked == ["hi", "steered", "queued"]
        assert texts_of(agent, "user/message") == ["hi", "steered", "queued"]
        assert events_of(agent, "steering/message") == []
        assert [reason["kind"] for reason in reasons_of(agent)] == ["error", "completed"]

    async def test_a_failing_result_observer_does_not_undo_the_result(self, world: World):
        def fail(_execution: object, _result: object) -> None:
            raise ValueError("observer")

        world.tool("echo")
        world.root.on(RESULT, fail)
        agent = await world.agent(calls("echo", {}), says("Done."))
        await world.turn(agent)
        assert types_of(agent)[6:8] == CALL
        assert reasons_of(agent) == [{"kind": "completed"}]

    async def test_a_refused_prompt_is_answered_and_the_next_one_runs(self, world: World):
        listener = world.root.on(SESSION_VALIDATE, _refusing("user/message"))
        agent = await world.agent(says("Hello."))
        receipt = await world.turn(agent)
        assert receipt.state == "rejected"
        listener()
        agent.send(create_user_message("again"))
        await agent.when_idle()
        assert types_of(agent)[-len(ONE_STEP) :] == ONE_STEP


def _refusing(kind: str) -> Any:
    def refuse(_session: object, event: SessionEvent) -> None:
        if event.type == kind:
            raise ValueError(f"no {kind}")

    return refuse
