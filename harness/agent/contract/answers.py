"""Check what listeners may change about an answer, and about an attempt that failed."""

# ruff: noqa: ANN401, D102  # a name is the description; a listener decides what its case is about

from typing import Any

import attrs
import pytest

from harness.agent.agent import Agent
from harness.agent.contract.shapes import (
    CALL,
    ONE_STEP,
    replace_all,
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
from harness.agent.decisions import Continue, Retry
from harness.agent.events import (
    REQUEST_ERROR,
    STEP_RESULT,
    TURN_CONTINUATION,
    AttemptFailed,
    StepAnswered,
    StepEnded,
)
from harness.llm import (
    BlockEnd,
    BlockStart,
    Finish,
    FinishReason,
    LlmError,
    StreamChunk,
    TextBlock,
    ToolCallBlock,
    UsageChunk,
)
from harness.session import SESSION_EVENT
from harness.testing.model import DEFAULT_USAGE, calls, fails, says
from harness.tools import EXECUTE, PRE_EXECUTE, Deny, ToolExecution
from vendor_shims.cordis import Next

CUT: list[StreamChunk] = [
    BlockStart(0, "text"),
    BlockEnd(0, TextBlock("So far")),
    BlockStart(1, "tool-call"),
    BlockEnd(1, ToolCallBlock("cut", "echo", "{}")),
    UsageChunk(DEFAULT_USAGE),
    Finish(FinishReason.MAX_TOKENS),
]


class StepResultCases(LoopStage):
    """Hold what `agent/step-result` may change."""

    @pytest.mark.spec("04-I15", "03-179")
    async def test_an_answer_may_be_replaced(self, world: World):
        world.root.on(STEP_RESULT, _with_content(TextBlock("Better.")))
        agent = await world.agent(says("Hello."))
        await world.turn(agent)
        assert texts_of(agent, "assistant/message") == ["Better."]
        assert events_of(agent, "assistant/message")[0].data["rewritten"] is True

    @pytest.mark.spec("04-I16")
    async def test_a_call_may_be_added(self, world: World):
        async def add(answered: StepAnswered, following: Next[Any]) -> Any:
            draft = await following()
            if answered.step == 1:
                call = ToolCallBlock("added", "echo", "{}")
                draft = attrs.evolve(draft, content=[*draft.content, call])
            return draft

        world.tool("echo")
        world.root.on(STEP_RESULT, add)
        agent = await world.agent(says("Hello."), says("Done."))
        await world.turn(agent)
        assert texts_of(agent, "assistant/message") == ["Hello.", "Done."]
        assert [event.data["callId"] for event in events_of(agent, "tool/call")] == ["added"]
        assert codes_of(agent) == [None]

    @pytest.mark.spec("04-I17", "03-179")
    async def test_calls_may_be_removed(self, world: World):
        world.root.on(STEP_RESULT, _with_content(TextBlock("Never mind.")))
        agent = await world.agent(calls("echo", {}))
        await world.turn(agent)
        assert types_of(agent) == ONE_STEP
        assert events_of(agent, "assistant/message")[0].data["rewritten"] is True

    @pytest.mark.spec("04-I18", "03-P23")
    async def test_an_error_about_an_answer_leaves_an_attempt(self, world: World):
        async def fail(_answered: StepAnswered, _following: Next[Any]) -> Any:
            raise ValueError("bad answer")

        listener = world.root.on(STEP_RESULT, fail)
        agent = await world.agent(says("Hello."), says("Again."))
        await world.turn(agent)
        assert types_of(agent)[5:] == ["assistant/attempt", "step/end", "turn/end"]
        assert reasons_of(agent)[0]["message"] == "bad answer"
        listener()
        await world.turn(agent)
        assert reasons_of(agent)[1] == {"kind": "completed"}

    @pytest.mark.spec("04-P11", "03-176")
    async def test_calls_of_a_cut_answer_are_not_run(self, world: World):
        world.tool("echo")
        agent = await world.agent(CUT)
        await world.turn(agent)
        assert types_of(agent) == ONE_STEP
        content = events_of(agent, "assistant/message")[0].data["message"]["content"]
        assert [block["type"] for block in content] == ["text"]
        assert reasons_of(agent) == [{"kind": "max-tokens"}]

    @pytest.mark.spec("04-P12")
    async def test_a_cut_answer_marks_the_turn_for_good(self, world: World):
        async def go_on(ended: StepEnded, following: Next[Any]) -> Any:
            is_cut = ended.finish == FinishReason.MAX_TOKENS
            return Continue("Continue where you stopped.") if is_cut else await following()

        world.root.on(TURN_CONTINUATION, go_on)
        agent = await world.agent(CUT, says("The rest."))
        await world.turn(agent)
        assert types_of(agent).count("step/start") == 2
        assert reasons_of(agent) == [{"kind": "max-tokens"}]

    @pytest.mark.spec("04-P14")
    async def test_a_call_put_back_into_a_cut_answer_is_answered_not_run(self, world: World):
        ran: list[str] = []

        world.tool("echo")
        world.root.on(EXECUTE, lambda _, following: ran.append("body") or following())
        call = ToolCallBlock("back", "echo", "{}")
        world.root.on(STEP_RESULT, _with_content(TextBlock("So far"), call))
        agent = await world.agent(CUT)
        await world.turn(agent)
        assert types_of(agent)[6:8] == CALL
        assert codes_of(agent) == ["TRUNCATED_RESPONSE"]
        assert ran == []
        assert reasons_of(agent) == [{"kind": "max-tokens"}]

    async def test_steering_continues_a_cut_turn(self, world: World):
        world.root.on(SESSION_EVENT, _steering_at("assistant/message", world))
        agent = await world.agent(CUT, says("Steered."))
        await world.turn(agent)
        assert types_of(agent).count("step/start") == 2
        assert reasons_of(agent) == [{"kind": "max-tokens"}]


class RetryCases(LoopStage):
    """Hold that a failed attempt may be repeated in place."""

    @pytest.mark.spec("04-I31", "03-P28")
    async def test_a_failed_attempt_may_be_repeated_in_its_step(self, world: World):
        async def retry(failed: AttemptFailed, _following: Next[Any]) -> Any:
            failures.append((failed.attempt, failed.failure.code, failed.provider))
            agent.inject(f"after {failed.attempt}", source={"kind": "plugin", "plugin": "p"})
            return Retry()

        failures: list[object] = []
        world.root.on(REQUEST_ERROR, retry)
        half = [UsageChunk(DEFAULT_USAGE), *fails("SERVER")]
        agent = await world.agent(fails("RATE_LIMIT"), half, says("Done."))
        await world.turn(agent)
        assert failures == [(1, "RATE_LIMIT", "scripted"), (2, "SERVER", "scripted")]
        kinds = types_of(agent)
        assert kinds.count("step/start") == kinds.count("assistant/message") == 1
        attempts = events_of(agent, "assistant/attempt")
        assert [event.data["attempt"] for event in attempts] == [1, 2]
        assert [event.data["failure"]["code"] for event in attempts] == ["RATE_LIMIT", "SERVER"]
        assert len(world.model.requests) == 3
        assert _billed(agent) == 2 * DEFAULT_USAGE.output_tokens
        # What was injected meanwhile waits for the end of the step.
        assert kinds[-4:] == ["context/message", "context/message", "step/end", "turn/end"]

    @pytest.mark.spec("04-I32")
    async def test_a_retry_asks_with_the_history_as_it_is_then(self, world: World):
        async def shorten(_failed: AttemptFailed, _following: Next[Any]) -> Any:
            replace_all(agent.session, "a summary")
            return Retry()

        world.root.on(REQUEST_ERROR, shorten)
        agent = await world.agent(says("One."), fails("CONTEXT_WINDOW_EXCEEDED"), says("Two."))
        await world.turn(agent, "first")
        await world.turn(agent, "second")
        assert [len(request.messages) for request in world.model.requests] == [1, 3, 1]
        assert texts_of(agent, "user/message") == ["first", "second", "a summary"]
        assert reasons_of(agent)[1] == {"kind": "completed"}

    @pytest.mark.spec("04-I33", "04-I25", "03-P23")
    async def test_a_failure_that_nobody_mends_ends_the_turn(self, world: World):
        agent = await world.agent(fails("SERVER", "overloaded", status=503), says("Again."))
        await world.turn(agent)
        assert types_of(agent)[5:] == ["assistant/attempt", "step/end", "turn/end"]
        assert reasons_of(agent)[0] == {
            "kind": "error",
            "step": 1,
            "message": "overloaded",
            "code": "SERVER",
            "failure": {"message": "overloaded", "code": "SERVER", "status": 503},
        }
        await world.turn(agent)
        assert reasons_of(agent)[1] == {"kind": "completed"}

    @pytest.mark.spec("04-I34")
    async def test_an_error_about_a_failure_has_it_as_cause(self, world: World):
        async def fail(_failed: AttemptFailed, _following: Next[Any]) -> Any:
            raise ValueError("recovery broke")

        world.root.on(REQUEST_ERROR, fail)
        agent = await world.agent(fails("SERVER", "overloaded"))
        await world.turn(agent)
        assert reasons_of(agent)[0]["message"] == "recovery broke: overloaded"
        assert str(world.failures[0].error.__cause__) == "overloaded"

    @pytest.mark.spec("04-I35")
    async def test_an_adapter_that_raises_failed_like_one_that_says_so(self, world: World):
        seen: list[object] = []

        async def look(failed: AttemptFailed, following: Next[Any]) -> Any:
            seen.append(failed.failure.code)
            return await following()

        world.root.on(REQUEST_ERROR, look)
        agent = await world.agent([LlmError("no key", "AUTH")], [ValueError("a bug")])
        await world.turn(agent)
        await world.turn(agent)
        assert seen == ["AUTH", "UNKNOWN"]
        assert [reason["code"] for reason in reasons_of(agent)] == ["AUTH", "UNKNOWN"]

    @pytest.mark.spec("04-E11")
    async def test_an_adapter_that_aborts_by_itself_aborts_the_turn(self, world: World):
        seen: list[object] = []

        async def look(failed: AttemptFailed, following: Next[Any]) -> Any:
            seen.append(failed.failure.code)
            return await following()

        world.root.on(REQUEST_ERROR, look)
        agent = await world.agent(fails("ABORTED"), fails("SERVER"))
        await world.turn(agent)
        await world.turn(agent)
        assert seen == ["ABORTED", "SERVER"]
        first, second = reasons_of(agent)
        assert first == {"kind": "aborted", "reason": {"kind": "hook", "reason": "adapter"}}
        assert second["kind"] == "error"

    async def test_a_denied_call_is_answered_with_the_reason(self, world: World):
        async def deny(_execution: ToolExecution, _following: Next[Any]) -> Any:
            return Deny("not allowed here")

        world.tool("echo")
        world.root.on(PRE_EXECUTE, deny)
        agent = await world.agent(calls("echo", {}), says("I see."))
        await world.turn(agent)
        result = events_of(agent, "tool/result")[0].data["message"]["content"][0]
        assert result["isError"] is True
        assert "not allowed here" in result["content"][0]["text"]
        assert reasons_of(agent) == [{"kind": "completed"}]


def _with_content(*content: Any) -> Any:
    async def replace(_answered: StepAnswered, following: Next[Any]) -> Any:
        return attrs.evolve(await following(), content=content)

    return replace


def _steering_at(kind: str, world: World) -> Any:
    done: list[object] = []

    def steer(_session: object, event: Any) -> None:
        if event.type == kind and not done:
            done.append(event)
            world.receipts.append(world.agents_made[0].steer("on"))

    return steer


def _billed(agent: Agent) -> int:
    """Sum the output tokens of answers and of attempts that came to nothing."""
    total = 0
    for event in events_of(agent, "assistant/message"):
        total += event.data["usage"]["outputTokens"]
    for event in events_of(agent, "assistant/attempt"):
        for _, chunk in agent.session.attempt_stream(event):
            if isinstance(chunk, UsageChunk):
                total += chunk.usage.output_tokens
    return total
