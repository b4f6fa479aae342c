"""Check the order in which an agent goes, and what is left of it."""

# ruff: noqa: D102  # a test's name is its description

import anyio
import pytest

from harness.agent.contract.stage import LoopStage
from harness.agent.contract.world import World, reasons_of
from harness.agent.errors import (
    AgentDisposedError,
)
from harness.agent.types import (
    AgentStatus,
)
from harness.session import SESSION_EVENT
from harness.system_prompt import AssembleContext
from harness.testing.model import says
from vendor_shims.cordis import AbortController


class DisposalOrderCases(LoopStage):
    """Hold the order in which an agent goes, and what is left of it."""

    @pytest.mark.spec("04-L21")
    async def test_two_disposals_are_one(self, world: World):
        handle = await world.handle()
        async with anyio.create_task_group() as group:
            group.start_soon(handle.dispose)
            group.start_soon(handle.dispose)
        await handle.dispose()
        assert world.news.count("agent/disposed") == 1
        assert world.news.count("agent/status disposed") == 1

    @pytest.mark.spec("04-L22")
    async def test_a_disposed_agent_takes_nothing_in(self, world: World):
        handle = await world.handle()
        agent = handle.agent
        await handle.dispose()
        source = {"kind": "plugin", "plugin": "p"}
        for deliver in (
            lambda: agent.send("x"),
            lambda: agent.followup("x"),
            lambda: agent.steer("x"),
            lambda: agent.inject("x", source=source),
            lambda: agent.annotate("todo/write", {"todos": []}),
        ):
            with pytest.raises(AgentDisposedError):
                deliver()
        with pytest.raises(AgentDisposedError):
            await agent.run_maintenance(_nothing)
        agent.cancel()
        agent.wake()
        await agent.when_idle()
        assert agent.session.events == ()
        assert handle.status is AgentStatus.DISPOSED

    @pytest.mark.spec("04-L23")
    async def test_an_agent_goes_before_its_session(self, world: World):
        handle = await world.handle()
        del world.news[:]
        await handle.dispose()
        assert world.news == ["agent/status disposed", "agent/disposed", "session/disposed"]

    @pytest.mark.spec("04-L24")
    async def test_what_was_registered_for_the_agent_goes_with_it(self, world: World):
        heard: list[object] = []
        handle = await world.handle(says("Hello."))
        ctx = handle.agent.ctx
        world.prompt.as_caller(ctx).section("own", 1, "text")
        ctx.on(SESSION_EVENT, lambda _session, event: heard.append(event))
        await world.turn(handle.agent)
        assert heard
        key = handle.agent
        await handle.dispose()
        names = [
            part.name for part in (await world.prompt.assemble(AssembleContext(scope=key))).sections
        ]
        assert "own" not in names

    async def test_a_handle_is_a_context_manager(self, world: World):
        async with await world.handle() as handle:
            assert handle.id == handle.agent.id
        assert world.agents.list() == []

    async def test_failures_of_the_scope_are_raised_after_everything_is_undone(self, world: World):
        def fail() -> None:
            raise ValueError("does not let go")

        handle = await world.handle()
        handle.agent.ctx.defer(fail)
        with pytest.raises(ValueError, match="does not let go"):
            await handle.dispose()
        assert world.agents.list() == world.store.list() == []

    @pytest.mark.spec("04-Z8")
    async def test_the_creation_signal_means_nothing_afterwards(self, world: World):
        abort = AbortController()
        agent = await world.agent(says("Hello."), signal=abort.signal)
        abort.abort()
        await world.turn(agent)
        assert reasons_of(agent) == [{"kind": "completed"}]


async def _nothing(_: object) -> None:
    """Be a maintenance task that does nothing."""
