"""Check the rows of the race table that lie in the tools."""

# ruff: noqa: ANN401, D102  # a name is the description; a listener decides what its case is about

import threading
from typing import Any

import anyio
import anyio.to_thread
import pytest

from harness.agent.agent import Agent
from harness.agent.contract.shapes import (
    CALL,
    CLOSED,
    USER,
    answering,
    hang,
    note,
)
from harness.agent.contract.stage import LoopStage
from harness.agent.contract.world import (
    OPTIONS,
    World,
    codes_of,
    events_of,
    reasons_of,
    texts_of,
    types_of,
)
from harness.agent.types import AgentStatus, CreateAgentOptions
from harness.errors import HarnessError
from harness.session import SESSION_EVENT, SessionEvent
from harness.testing.model import Hang, calls, calls_all
from harness.tools import POST_EXECUTE, PRE_EXECUTE, ToolExecution

CHILD = CreateAgentOptions(agent_options=OPTIONS)


class ToolRaceCases(LoopStage):
    """Hold the rows of the table that lie in the tools."""

    @pytest.mark.spec("04-C9")
    async def test_r14_no_call_starts(self, world: World):
        world.tool("echo")
        world.root.on(SESSION_EVENT, _cancelling_at("assistant/message", world))
        agent = await world.agent(calls_all([(key, "echo", {}) for key in "abc"]))
        await world.turn(agent)
        assert types_of(agent)[6:] == [*CALL * 3, *CLOSED]
        assert codes_of(agent) == ["ABORTED_BEFORE_DISPATCH"] * 3
        assert [event.data["callId"] for event in events_of(agent, "tool/call")] == ["a", "b", "c"]

    @pytest.mark.spec("04-C10")
    async def test_r15_a_call_that_waits_for_permission_never_runs(self, world: World):
        async def ask(_execution: ToolExecution, _following: object) -> Any:
            try:
                await anyio.sleep_forever()
            finally:
                closed.append("approval")

        closed: list[str] = []
        world.tool("echo")
        world.root.on(PRE_EXECUTE, ask)
        agent = await _cancelled(world, calls_all([("a", "echo", {}), ("b", "echo", {})]))
        assert closed == ["approval"]
        assert codes_of(agent) == ["ABORTED_BEFORE_DISPATCH"] * 2
        assert reasons_of(agent) == [USER]

    @pytest.mark.spec("04-C11", "03-173")
    @pytest.mark.parametrize("outcome", ["cut", "success", "error"])
    async def test_r16_a_running_body_is_awaited(self, world: World, outcome: str):
        async def body(_args: object, execution: ToolExecution) -> str:
            try:
                await anyio.sleep_forever()
            except anyio.get_cancelled_exc_class():
                execution.defer_context(note("never seen").message)
                if outcome == "cut":
                    raise
                if outcome == "error":
                    raise HarnessError("half done", code="HALF_DONE") from None
            return "done anyway"

        world.tool("slow", body)
        agent = await _cancelled(world, calls_all([("a", "slow", {}), ("b", "slow", {})]))
        first = "HALF_DONE" if outcome == "error" else "ABORTED"
        assert codes_of(agent) == [first, "ABORTED_BEFORE_DISPATCH"]
        result = events_of(agent, "tool/result")[0].data["message"]["content"][0]
        assert ("already finished" in result["content"][0]["text"]) == (outcome == "success")
        assert reasons_of(agent) == [USER]
        assert types_of(agent)[-2:] == CLOSED

    @pytest.mark.spec("04-C12", "03-173")
    async def test_r17_overlapping_bodies_are_all_drained(self, world: World):
        async def body(args: Any, execution: ToolExecution) -> str:
            if args["n"] < 2:
                execution.defer_context(note(f"of {args['n']}").message)
                return "quick"
            return await hang()

        world.tool("work", body, is_concurrency_safe=answering(answer=True))
        world.tool("last")
        batch = [(str(n), "work", {"n": n}) for n in range(4)]
        agent = await _cancelled(world, calls_all([*batch, ("4", "last", {})]))
        assert codes_of(agent) == [None, None, "ABORTED", "ABORTED", "ABORTED_BEFORE_DISPATCH"]
        answered = [e.data["message"]["source"]["callId"] for e in events_of(agent, "tool/result")]
        assert answered == ["0", "1", "2", "3", "4"]
        assert [text[-13:-10] for text in texts_of(agent, "context/message")] == ["f 0", "f 1"]
        assert types_of(agent)[-4:] == ["context/message", "context/message", *CLOSED]

    @pytest.mark.spec("04-C13")
    async def test_r18_listeners_behind_the_body_are_cut_short(self, world: World):
        async def wait(_execution: ToolExecution, _result: object, _following: object) -> Any:
            return await hang()

        world.tool("echo")
        world.root.on(POST_EXECUTE, wait)
        agent = await _cancelled(world, calls_all([("a", "echo", {}), ("b", "echo", {})]))
        assert codes_of(agent) == ["ABORTED", "ABORTED_BEFORE_DISPATCH"]
        result = events_of(agent, "tool/result")[0].data["message"]["content"][0]
        assert "already finished" in result["content"][0]["text"]

    async def test_r19_no_call_follows_a_cancel(self, world: World):
        world.tool("echo")
        world.root.on(SESSION_EVENT, _cancelling_at("tool/result", world))
        agent = await world.agent(calls_all([("a", "echo", {}), ("b", "echo", {})]))
        await world.turn(agent)
        assert codes_of(agent) == [None, "ABORTED_BEFORE_DISPATCH"]
        assert reasons_of(agent) == [USER]

    async def test_r20_what_stands_behind_the_results_is_complete(self, world: World):
        async def explain(_args: object, execution: ToolExecution) -> str:
            execution.defer_context(note("one").message)
            execution.defer_context(note("two").message)
            return "explained"

        world.tool("explain", explain)
        world.root.on(SESSION_EVENT, _cancelling_at("context/message", world))
        agent = await world.agent(calls("explain", {}))
        await world.turn(agent)
        assert types_of(agent)[8:] == ["context/message", "context/message", *CLOSED]
        assert reasons_of(agent) == [USER]

    @pytest.mark.spec("04-C22")
    @pytest.mark.parametrize("goes_on", [False, True])
    async def test_r28_a_tool_may_cancel_its_own_turn(self, world: World, *, goes_on: bool):
        async def cancel(_args: object, execution: ToolExecution) -> str:
            assert execution.agent is not None
            execution.agent.cancel()
            if goes_on:
                await anyio.sleep_forever()
            return "cancelled"

        world.tool("cancel", cancel)
        agent = await world.agent(calls("cancel", {}))
        await world.turn(agent)
        assert codes_of(agent) == ["ABORTED"]
        assert reasons_of(agent) == [USER]

    async def test_r29_a_child_agent_ends_first(self, world: World):
        async def delegate(_args: object, execution: ToolExecution) -> str:
            parent = execution.agent
            assert parent is not None
            child = (await world.agents.as_caller(parent.ctx).create(CHILD)).agent
            execution.signal.add_callback(lambda _: child.cancel({"kind": "parent"}))
            child.send("work")
            await child.when_idle()
            ended.append(reasons_of(child)[0])
            return "delegated"

        ended: list[Any] = []
        world.tool("delegate", delegate, cancel_mode="cooperative")
        agent = await _cancelled(world, calls("delegate", {}), [Hang()])
        assert ended == [{"kind": "aborted", "reason": {"kind": "parent"}}]
        assert reasons_of(agent) == [USER]
        first, second = world.agents_made
        assert (first, world.agents.is_owned_by(second.id, first)) == (agent, True)

    @pytest.mark.spec("04-C26")
    async def test_a_thread_is_waited_for(self, world: World):
        async def work(_args: object, _execution: ToolExecution) -> str:
            await anyio.to_thread.run_sync(gate.wait)
            return "done"

        gate = threading.Event()
        world.tool("work", work)
        agent = await world.agent(calls("work", {}))
        world.send(agent)
        await world.rest()
        agent.cancel()
        await world.rest()
        assert agent.status is AgentStatus.RUNNING
        gate.set()
        await agent.when_idle()
        assert codes_of(agent) == ["ABORTED"]


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
