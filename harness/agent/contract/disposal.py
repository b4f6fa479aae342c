"""Check that an agent can be taken down at every point, and its log stays whole."""

# ruff: noqa: ANN401, D102  # a name is the description; a listener decides what its case is about

import asyncio
from typing import Any

import anyio
import pytest

from harness.agent.contract.shapes import (
    CLOSED,
    ONE_STEP,
    PLUGIN,
    answering,
    hang,
)
from harness.agent.contract.stage import LoopStage
from harness.agent.contract.world import (
    OPTIONS,
    World,
    codes_of,
    events_of,
    reasons_of,
    types_of,
)
from harness.agent.errors import AgentDisposedError, DisposeReentrancy
from harness.agent.types import AgentStatus, CreateAgentOptions
from harness.session import SESSION_FLUSH, SESSION_VALIDATE
from harness.testing.model import Hang, calls, partly, says
from harness.tools import ToolExecution
from vendor_shims.cordis import Context, FiberState

DISPOSED = [{"kind": "disposed"}]


class DisposalCases(LoopStage):
    """Hold what a disposal writes, wherever it arrives."""

    @pytest.mark.spec("04-Z1")
    @pytest.mark.parametrize("visible", [False, True])
    async def test_in_the_middle_of_a_stream(self, world: World, *, visible: bool):
        async def flush(session: Any) -> None:
            flushed.append(session.seq)

        flushed: list[int] = []
        world.root.on(SESSION_FLUSH, flush)
        handle = await world.handle(partly("Half", Hang()) if visible else [Hang()])
        agent = handle.agent
        world.send(agent)
        await world.rest()
        await handle.dispose()
        kind = "assistant/message" if visible else "assistant/attempt"
        assert types_of(agent)[5:] == [kind, *CLOSED]
        assert reasons_of(agent) == DISPOSED
        assert flushed == [agent.session.seq]
        assert world.news[-4:] == [
            "agent/inbox/claimed",
            "agent/status disposed",
            "agent/disposed",
            "session/disposed",
        ]

    @pytest.mark.spec("04-Z2")
    async def test_in_the_middle_of_a_tool(self, world: World):
        async def slow(_args: object, _execution: ToolExecution) -> str:
            try:
                return await hang()
            finally:
                ended.append("body")

        ended: list[str] = []
        world.tool("slow", slow)
        handle = await world.handle(calls("slow", {}))
        world.send(handle.agent)
        await world.rest()
        await handle.dispose()
        assert ended == ["body"]
        assert codes_of(handle.agent) == ["ABORTED"]
        assert reasons_of(handle.agent) == DISPOSED

    @pytest.mark.spec("04-Z3")
    async def test_while_a_turn_is_flushed(self, world: World):
        async def flush(_session: object) -> None:
            await gate.wait()
            flushed.append("turn")

        gate, flushed = anyio.Event(), list[str]()
        world.root.on(SESSION_FLUSH, flush)
        handle = await world.handle(says("Bye."))
        world.send(handle.agent)
        await world.rest()
        queued = world.send(handle.agent, "more")
        async with anyio.create_task_group() as group:
            group.start_soon(handle.dispose)
            await world.rest()
            assert queued.state == "discarded"
            assert handle.agent.status is AgentStatus.RUNNING
            gate.set()
        assert flushed == ["turn"]
        assert reasons_of(handle.agent) == [{"kind": "completed"}]

    @pytest.mark.spec("04-Z4")
    async def test_before_the_turn_has_begun(self, world: World):
        handle = await world.handle()
        receipt = world.send(handle.agent)
        await handle.dispose()
        assert handle.agent.session.events == ()
        assert receipt.state == "discarded"

    @pytest.mark.spec("04-Z5")
    async def test_from_a_tool_of_the_agent(self, world: World):
        async def end(_args: object, _execution: ToolExecution) -> str:
            handle.dispose_soon()
            with pytest.raises(AgentDisposedError):
                handle.agent.send("more")
            with pytest.raises(DisposeReentrancy, match="dispose_soon"):
                await handle.dispose()
            refused.append("dispose")
            return "ended"

        refused: list[str] = []
        world.tool("end", end)
        handle = await world.handle(calls("end", {}))
        world.send(handle.agent)
        await handle.agent.when_idle()
        assert refused == ["dispose"]
        await handle.dispose()
        assert codes_of(handle.agent) == ["ABORTED"]
        assert reasons_of(handle.agent) == DISPOSED
        assert handle.agent.status is AgentStatus.DISPOSED

    async def test_a_tool_that_unloads_the_owner_does_not_wait_for_itself(self, world: World):
        async def unload(_args: object, _execution: ToolExecution) -> str:
            return str(await owner.dispose())

        world.tool("unload", unload)
        await world.mount()
        owner = world.root.plugin(_empty)
        await world.rest()
        world.model.add(calls("unload", {}))
        agents = world.agents.as_caller(owner.ctx)
        handle = await agents.create(CreateAgentOptions(agent_options=OPTIONS))
        world.send(handle.agent)
        await handle.agent.when_idle()
        await handle.dispose()
        assert codes_of(handle.agent) == ["ABORTED"]
        assert owner.state is FiberState.DISPOSED

    async def test_a_tool_that_unloads_the_loop_does_not_wait_for_itself(self, world: World):
        async def unload(_args: object, _execution: ToolExecution) -> str:
            assert world.loop is not None
            return str(await world.loop.dispose())

        world.tool("unload", unload)
        handle = await world.handle(calls("unload", {}))
        world.send(handle.agent)
        await handle.agent.when_idle()
        await handle.dispose()
        assert codes_of(handle.agent) == ["REENTRANT_AWAIT"]
        assert world.agents.list() == []

    @pytest.mark.spec("04-Z6")
    async def test_by_the_host(self, world: World):
        async def flush(_session: object) -> None:
            await asyncio.sleep(0)
            flushed.append("turn")

        flushed: list[str] = []
        world.root.on(SESSION_FLUSH, flush)
        agent = await world.agent(partly("Half", Hang()))
        receipt = world.send(agent)
        await world.rest()
        (task,) = [task for task in world.root.kernel.tasks if agent.id in task.get_name()]
        task.cancel()
        await asyncio.wait([task])
        assert task.cancelled()
        assert flushed == ["turn"]
        assert types_of(agent)[5:] == ["assistant/message", *CLOSED]
        assert reasons_of(agent) == DISPOSED
        assert receipt.state == "entered"
        assert agent.status is AgentStatus.IDLE

    @pytest.mark.spec("04-Z6")
    @pytest.mark.parametrize("safe", [False, True])
    async def test_by_the_host_in_the_middle_of_a_tool(self, world: World, *, safe: bool):
        async def slow(_args: object, _execution: ToolExecution) -> str:
            return await hang()

        world.tool("slow", slow, is_concurrency_safe=answering(answer=safe))
        agent = await world.agent(calls("slow", {}))
        world.send(agent)
        await world.rest()
        (task,) = [task for task in world.root.kernel.tasks if agent.id in task.get_name()]
        task.cancel()
        await asyncio.wait([task])
        assert codes_of(agent) == ["TOOL_OUTCOME_UNKNOWN"]
        assert reasons_of(agent) == DISPOSED

    @pytest.mark.spec("04-Z7")
    async def test_releases_those_who_wait_for_rest(self, world: World):
        handle = await world.handle([Hang()])
        world.send(handle.agent)
        async with anyio.create_task_group() as group:
            group.start_soon(handle.agent.when_idle)
            group.start_soon(handle.agent.when_idle)
            await world.rest()
            await handle.dispose()
        assert handle.agent.status is AgentStatus.DISPOSED

    async def test_in_the_middle_of_maintenance(self, world: World):
        async def task(signal: Any) -> str:
            async with agent.maintenance_turn("tidy") as begin:
                begin()
                await signal.wait()
            return "tidied"

        handle = await world.handle()
        agent = handle.agent
        async with anyio.create_task_group() as group:
            group.start_soon(agent.run_maintenance, task)
            await world.rest()
            await handle.dispose()
        assert reasons_of(agent) == DISPOSED
        assert agent.status is AgentStatus.DISPOSED

    async def test_context_that_is_still_held_is_thrown_away(self, world: World):
        async def hold(_session: object) -> None:
            receipts.append(handle.agent.inject("note", source=PLUGIN))

        def refuse(_session: object, event: Any) -> None:
            if event.type == "turn/start" and receipts:
                raise ValueError("no more turns")

        receipts: list[Any] = []
        world.root.on(SESSION_FLUSH, hold)
        world.root.on(SESSION_VALIDATE, refuse)
        handle = await world.handle(says("Bye."))
        await world.turn(handle.agent)
        assert receipts[0].state == "pending"
        await handle.dispose()
        assert receipts[0].state == "discarded"

    async def test_an_agent_that_does_not_end_is_named_and_waited_for(self, world: World):
        async def stubborn(_args: object, _execution: ToolExecution) -> str:
            with anyio.CancelScope(shield=True):
                await gate.wait()
            return "at last"

        gate = anyio.Event()
        await world.mount(dispose_grace_s=20.0)
        world.tool("stubborn", stubborn)
        handle = await world.handle(calls("stubborn", {}))
        world.send(handle.agent)
        await world.rest()
        handle.dispose_soon()
        await world.clock.advance(20)
        assert any(
            handle.agent.id in str(line.args) and line.type == "warn" for line in world.lines
        )
        assert handle.agent.status is AgentStatus.RUNNING
        gate.set()
        await handle.dispose()
        assert codes_of(handle.agent) == ["ABORTED"]

    @pytest.mark.spec("04-L25")
    async def test_an_unloading_loop_ends_all_agents_side_by_side(self, world: World):
        async def slow(_args: object, _execution: ToolExecution) -> str:
            with anyio.CancelScope(shield=True):
                await gate.wait()
            return "done"

        def fail() -> None:
            raise ValueError("does not let go")

        gate = anyio.Event()
        loop = await world.mount()
        world.tool("slow", slow)
        busy, idle = await world.agent(calls("slow", {})), await world.agent()
        for agent in (busy, idle):
            agent.ctx.defer(fail)
        world.send(busy)
        await world.rest()
        end = loop.dispose()
        await world.rest()
        assert (busy.status, idle.status) == (AgentStatus.RUNNING, AgentStatus.DISPOSED)
        assert loop.state is FiberState.UNLOADING
        gate.set()
        await end
        assert world.agents.list() == world.store.list() == []
        assert reasons_of(busy) == DISPOSED
        assert len(loop.cleanup_errors) == 2

    async def test_a_reloaded_loop_makes_agents_again(self, world: World):
        loop = await world.mount()
        old = await world.agent([Hang()])
        world.send(old)
        await world.rest()
        await loop.restart()
        assert old.status is AgentStatus.DISPOSED
        assert events_of(old, "turn/end")[0].data["reason"] == DISPOSED[0]
        new = await world.agent(says("Hello."))
        await world.turn(new)
        assert types_of(new) == ONE_STEP


def _empty(_: Context) -> None:
    """Be a plugin that only owns things."""
