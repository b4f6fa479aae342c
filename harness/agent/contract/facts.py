"""Check facts, attribution and runtime context."""

# ruff: noqa: D102  # a test's name is its description

import pytest

from harness.agent.agent import Agent
from harness.agent.consumed import fold_turns
from harness.agent.contract.shapes import NO_TODOS, PLUGIN, replace_all
from harness.agent.contract.stage import LoopStage
from harness.agent.contract.world import World, events_of, texts_of, types_of
from harness.agent.errors import NoInitiatorError
from harness.agent.initiator import (
    current_initiator,
    require_initiator,
    with_initiator,
    without_initiator,
)
from harness.system_prompt import CONTEXT_CLEARED
from harness.testing.model import calls, says
from harness.tools import ToolExecution
from vendor_shims.cordis import AbortSignal, Context


class FactCases(LoopStage):
    """Hold that facts of plugins lie inside turns."""

    @pytest.mark.spec("04-M5")
    async def test_a_fact_is_enclosed(self, world: World):
        async def write(_args: object, _execution: ToolExecution) -> str:
            event = agent.annotate("todo/write", NO_TODOS)
            assert event is not None
            assert agent.session.open_step == 1
            return "written"

        world.tool("write", write)
        agent = await world.agent(calls("write", {}), says("Done."))
        event = agent.annotate("todo/write", NO_TODOS, plugin="todo")
        assert event is not None
        assert types_of(agent) == ["turn/start", "todo/write", "turn/end"]
        trigger = events_of(agent, "turn/start")[0].data["trigger"]
        assert trigger == {"kind": "annotation", "plugin": "todo"}
        await world.turn(agent)
        assert types_of(agent).count("turn/start") == 2
        for kind in ("user/message", "context/message", "turn/end", "assistant/chunk"):
            with pytest.raises(ValueError, match=kind):
                agent.annotate(kind, {})

    async def test_a_fact_is_named_after_the_plugin_that_records_it(self, world: World):
        agent = await world.agent()

        def recorder(_: Context) -> None:
            agent.annotate("todo/write", NO_TODOS)

        await world.root.plugin(recorder)
        agent.annotate("todo/write", NO_TODOS)
        plugins = [event.data["trigger"]["plugin"] for event in events_of(agent, "turn/start")]
        assert plugins == ["recorder", "plugin"]

    async def test_a_fact_recorded_before_a_turn_begins_is_in_it(self, world: World):
        agent = await world.agent(says("Hello."))
        world.send(agent)
        assert agent.annotate("todo/write", NO_TODOS) is None
        await agent.when_idle()
        assert types_of(agent)[:3] == ["turn/start", "todo/write", "user/message"]

    @pytest.mark.spec("04-M6")
    async def test_only_turns_of_prompts_count(self, world: World):
        async def task(_signal: AbortSignal) -> None:
            async with agent.maintenance_turn("tidy") as begin:
                begin()

        agent = await world.agent(says("Hello."))
        agent.inject("note", source=PLUGIN)
        agent.annotate("todo/write", NO_TODOS)
        await agent.run_maintenance(task)
        await world.turn(agent)
        assert [turn.number for turn in fold_turns(agent.session.events)] == [4]
        assert len(fold_turns(agent.session.events, conversational=False)) == 4


class AttributionCases(LoopStage):
    """Hold who is said to have caused what."""

    @pytest.mark.spec("04-M13")
    async def test_an_agent_woken_by_another_acts_for_itself(self, world: World):
        seen: list[tuple[str, Agent | None]] = []

        async def send(_args: object, _execution: ToolExecution) -> str:
            world.send(other)
            seen.append(("before", current_initiator()))
            await other.when_idle()
            seen.append(("after", require_initiator()))
            return "sent"

        async def look(_args: object, _execution: ToolExecution) -> str:
            seen.append(("other", current_initiator()))
            return "looked"

        world.tool("send", send)
        world.tool("look", look)
        agent, other = await world.agent(), await world.agent()
        world.model.add(calls("send", {}), calls("look", {}), says("Looked."), says("Sent."))
        await world.turn(agent)
        assert seen == [("before", agent), ("other", other), ("after", agent)]
        assert current_initiator() is None

    @pytest.mark.spec("04-M14")
    async def test_nobody_is_said_to_have_caused_host_work(self, world: World):
        async def who() -> Agent | None:
            return current_initiator()

        agent = await world.agent()
        with pytest.raises(NoInitiatorError):
            require_initiator()
        assert await with_initiator(agent, who) is agent
        assert await with_initiator(agent, lambda: without_initiator(who)) is None

    async def test_a_child_of_a_tool_is_owned_by_its_agent(self, world: World):
        async def delegate(_args: object, _execution: ToolExecution) -> str:
            await world.agents.create()
            return "delegated"

        world.tool("delegate", delegate)
        agent = await world.agent(calls("delegate", {}), says("Done."))
        await world.turn(agent)
        child = world.agents_made[1]
        assert world.agents.is_owned_by(child.id, agent)


class RuntimeContextCases(LoopStage):
    """Hold that the model is told dynamic facts once per change."""

    @pytest.mark.spec("04-M15")
    async def test_facts_are_told_when_they_change_or_were_hidden(self, world: World):
        branch = ["main"]
        world.tool("echo")
        world.prompt.context("branch", 1, lambda _: branch[0])
        agent = await world.agent(calls("echo", {}), calls("echo", {}), says("Done."))
        await world.turn(agent)
        assert len(events_of(agent, "context/message")) == 1
        assert types_of(agent)[:3] == ["turn/start", "user/message", "context/message"]
        assert "main" in texts_of(agent, "context/message")[0]
        replace_all_in_turn(agent)
        world.model.add(says("Still."), says("Now."), says("And now."), says("End."))
        await world.turn(agent)
        assert len(events_of(agent, "context/message")) == 2
        branch[0] = "topic"
        await world.turn(agent)
        assert "topic" in texts_of(agent, "context/message")[2]
        branch[0] = ""
        await world.turn(agent)
        assert CONTEXT_CLEARED in texts_of(agent, "context/message")[3]
        await world.turn(agent)
        assert len(events_of(agent, "context/message")) == 4

    @pytest.mark.spec("04-M15")
    async def test_a_copy_of_the_session_knows_what_was_told(self, world: World):
        world.prompt.context("branch", 1, "main")
        agent = await world.agent(says("Hello."), says("Again."))
        await world.turn(agent)
        copy = await world.agent(seed=agent.session.events)
        copy.inject("other context", source=PLUGIN)
        await world.turn(copy)
        assert len(events_of(copy, "context/message")) == 2


def replace_all_in_turn(agent: Agent) -> None:
    """Hide the whole history behind a summary, in a turn of its own."""
    with agent.session.enclosed({"kind": "maintenance", "task": "compaction"}):
        replace_all(agent.session, "a summary")
