"""Check what listeners may decide about prompts, and about the steps that they lead to."""

# ruff: noqa: ANN401, D102  # a name is the description; a listener decides what its case is about

from typing import Any

import attrs
import pytest

from harness.agent.contract.shapes import NEXT_STEP, PLUGIN, note, replace_all
from harness.agent.contract.stage import LoopStage
from harness.agent.contract.world import World, events_of, reasons_of, texts_of, types_of
from harness.agent.decisions import Allow, Block, Enter, Reject
from harness.agent.events import (
    PRE_STEP,
    PROMPT_SUBMIT,
    PromptSubmitted,
    StepPending,
)
from harness.system_prompt import ASSEMBLE
from harness.testing.model import calls, says
from vendor_shims.cordis import Next


class PromptCases(LoopStage):
    """Hold what `agent/prompt-submit` decides."""

    @pytest.mark.spec("04-I1")
    async def test_a_prompt_may_be_rewritten(self, world: World):
        async def rewrite(_submitted: PromptSubmitted, _following: Next[Any]) -> Allow:
            return Allow(content="X")

        world.root.on(PROMPT_SUBMIT, rewrite)
        agent = await world.agent(says("Hello."))
        receipt = await world.turn(agent)
        (event,) = events_of(agent, "user/message")
        assert texts_of(agent, "user/message") == ["X"]
        assert event.data["id"] == receipt.message_id
        assert event.data["source"] == {"kind": "user"}

    @pytest.mark.spec("04-I2")
    async def test_a_prompt_may_bring_context(self, world: World):
        async def explain(submitted: PromptSubmitted, following: Next[Any]) -> Any:
            decision = await following()
            about = note(f"about {submitted.message.text}")
            return attrs.evolve(decision, additional_contexts=[about])

        world.root.on(PROMPT_SUBMIT, explain)
        agent = await world.agent(says("Hello."))
        world.send(agent, "one")
        await world.turn(agent, "two")
        assert texts_of(agent, "user/message", "context/message") == [
            "one",
            '<context source="watcher">about one</context>',
            "two",
            '<context source="watcher">about two</context>',
        ]

    @pytest.mark.spec("04-I3", "04-I25")
    async def test_blocking_the_only_prompt_rejects_the_turn(self, world: World):
        world.root.on(PROMPT_SUBMIT, _blocking("hi"))
        agent = await world.agent()
        receipt = await world.turn(agent)
        assert types_of(agent) == ["turn/start", "turn/end"]
        assert reasons_of(agent) == [{"kind": "rejected", "message": "not that"}]
        assert receipt.outcome is not None
        assert (receipt.state, receipt.outcome.reason) == ("rejected", "not that")
        assert world.model.requests == []

    @pytest.mark.spec("04-I4")
    async def test_blocking_one_prompt_of_two_runs_the_other(self, world: World):
        world.root.on(PROMPT_SUBMIT, _blocking("bad"))
        agent = await world.agent(says("Hello."))
        world.send(agent, "bad")
        await world.turn(agent, "good")
        assert texts_of(agent, "user/message") == ["good"]
        assert reasons_of(agent) == [{"kind": "completed"}]

    @pytest.mark.spec("04-I5", "03-P23")
    async def test_an_error_about_a_prompt_ends_the_turn_only(self, world: World):
        async def fail(_submitted: PromptSubmitted, _following: Next[Any]) -> Any:
            raise ValueError("cannot judge")

        listener = world.root.on(PROMPT_SUBMIT, fail)
        agent = await world.agent(says("Hello."))
        other = world.send(agent, "unseen")
        receipt = await world.turn(agent)
        assert reasons_of(agent)[0] == {
            "kind": "error", "step": 0, "message": "cannot judge", "code": "UNKNOWN",
        }  # fmt: skip
        assert (receipt.state, other.state) == ("rejected", "rejected")
        assert [failed.where for failed in world.failures] == ["turn"]
        listener()
        await world.turn(agent)
        assert reasons_of(agent)[1] == {"kind": "completed"}

    @pytest.mark.spec("04-I6")
    async def test_a_listener_that_does_not_go_on_decides_alone(self, world: World):
        heard: list[str] = []

        async def first(_submitted: PromptSubmitted, _following: Next[Any]) -> Any:
            heard.append("first")
            return Allow()

        world.root.on(PROMPT_SUBMIT, first)
        world.root.on(PROMPT_SUBMIT, lambda _, following: heard.append("second") or following())
        agent = await world.agent(says("Hello."))
        await world.turn(agent)
        assert heard == ["first"]

    async def test_a_decision_of_the_wrong_kind_is_an_error(self, world: World):
        async def confuse(_submitted: PromptSubmitted, _following: Next[Any]) -> Any:
            return True

        world.root.on(PROMPT_SUBMIT, confuse)
        agent = await world.agent()
        await world.turn(agent)
        assert "expected Allow, Block" in reasons_of(agent)[0]["message"]


class PreStepCases(LoopStage):
    """Hold what `agent/pre-step` decides, outside the step."""

    @pytest.mark.spec("04-I7")
    async def test_both_styles_of_listeners_run_in_order(self, world: World):
        heard: list[str] = []

        async def serial(_pending: StepPending) -> None:
            heard.append("serial")

        async def around(_pending: StepPending, following: Next[Any]) -> Any:
            heard.append("around")
            return await following()

        async def silent(_pending: StepPending) -> None:
            heard.append("silent")

        for listener in (serial, around, silent):
            world.root.on(PRE_STEP, listener)
        agent = await world.agent(says("Hello."))
        await world.turn(agent)
        assert heard == ["serial", "around", "silent"]
        assert reasons_of(agent) == [{"kind": "completed"}]

    @pytest.mark.spec("04-I7")
    @pytest.mark.parametrize("goes_on", [True, False])
    @pytest.mark.parametrize("is_refused", [True, False])
    async def test_returning_nothing_leaves_the_decision_to_the_others(
        self, world: World, *, goes_on: bool, is_refused: bool
    ):
        async def silent(_pending: StepPending, following: Next[Any]) -> Any:
            if goes_on:
                await following()

        def decide(_pending: StepPending, _following: Next[Any]) -> Any:
            return Reject("enough") if is_refused else Enter([note("the date")])

        world.root.on(PRE_STEP, silent)
        world.root.on(PRE_STEP, decide)
        agent = await world.agent(says("Hello."))
        await world.turn(agent)
        if is_refused:
            assert reasons_of(agent) == [{"kind": "rejected", "message": "enough"}]
        else:
            assert "the date" in world.model.requests[0].messages[-1].text

    @pytest.mark.spec("04-I8")
    @pytest.mark.parametrize(
        ("step", "reason"),
        [(1, {"kind": "rejected", "message": "enough"}), (2, {"kind": "completed"})],
    )
    async def test_a_refused_step_ends_the_turn(self, world: World, step: int, reason: object):
        async def refuse(pending: StepPending, following: Next[Any]) -> Any:
            return Reject("enough") if pending.step == step else await following()

        world.tool("echo")
        world.root.on(PRE_STEP, refuse)
        agent = await world.agent(calls("echo", {}))
        await world.turn(agent)
        assert types_of(agent).count("step/start") == step - 1
        assert reasons_of(agent) == [reason]

    @pytest.mark.spec("04-I9")
    async def test_a_step_may_begin_with_more_context(self, world: World):
        seen: list[list[str]] = []

        async def enter(pending: StepPending, _following: Next[Any]) -> Any:
            seen.append([message.role for message in pending.messages])
            return Enter([note("the date")])

        world.tool("echo")
        world.root.on(PRE_STEP, enter)
        agent = await world.agent(calls("echo", {}), says("Done."))
        await world.turn(agent)
        kinds = types_of(agent)
        assert kinds[:4] == ["turn/start", "user/message", "context/message", "step/start"]
        assert "the date" in world.model.requests[0].messages[-1].text
        assert seen == [["user"], ["assistant", "user"]]

    async def test_what_entered_between_turns_is_new_to_the_next_request(self, world: World):
        seen: list[list[str]] = []
        world.root.on(
            PRE_STEP, lambda pending: seen.append([message.text for message in pending.messages])
        )
        agent = await world.agent(says("One."), says("Two."))
        await world.turn(agent, "first")
        agent.inject("between", source=PLUGIN, envelope="raw")
        await world.turn(agent, "second")
        assert seen == [["first"], ["One.", "between", "second"]]

    @pytest.mark.spec("04-I10")
    async def test_the_surface_may_be_replaced_before_a_step(self, world: World):
        def compact(pending: StepPending) -> None:
            if pending.turn == 2:
                replace_all(pending.agent.session, "a summary")

        world.root.on(PRE_STEP, compact)
        agent = await world.agent(says("One."), says("Two."))
        await world.turn(agent, "first")
        await world.turn(agent, "second")
        assert [message.text for message in world.model.requests[1].messages] == ["a summary"]
        assert [kind for kind in types_of(agent)[-6:] if kind != "request/context"] == [
            "user/message", "user/message", *NEXT_STEP, "turn/end",
        ]  # fmt: skip

    @pytest.mark.spec("04-I11", "04-I25")
    async def test_an_error_before_a_step_begins_none(self, world: World):
        def fail(_pending: StepPending) -> None:
            raise ValueError("not ready")

        world.root.on(PRE_STEP, fail)
        agent = await world.agent()
        await world.turn(agent)
        assert types_of(agent) == ["turn/start", "user/message", "turn/end"]
        assert reasons_of(agent)[0]["message"] == "not ready"

    async def test_an_error_while_the_prompt_is_assembled_begins_no_step(self, world: World):
        def fail(*_: object) -> Any:
            raise ValueError("no prompt")

        listener = world.root.on(ASSEMBLE, fail)
        agent = await world.agent(says("Hello."))
        await world.turn(agent)
        assert types_of(agent) == ["turn/start", "user/message", "turn/end"]
        listener()
        await world.turn(agent)
        assert reasons_of(agent)[1] == {"kind": "completed"}


def _blocking(text: str) -> Any:
    async def block(submitted: PromptSubmitted, following: Next[Any]) -> Any:
        return Block("not that") if submitted.message.text == text else await following()

    return block
