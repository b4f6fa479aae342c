"""Check how agents are made and published."""

# ruff: noqa: ANN401, D102  # a name is the description; a listener decides what its case is about

import re
from typing import Any, cast

import anyio
import pytest

from harness.agent.agent import Agent
from harness.agent.contract.stage import LoopStage
from harness.agent.contract.world import World, reasons_of, texts_of, types_of
from harness.agent.errors import (
    FactoryConflictError,
    LoopInactiveError,
    NoAgentFactoryError,
    SetupAbortedError,
)
from harness.agent.events import CREATED, SESSION_START
from harness.agent.registry import AgentFactory
from harness.agent.types import (
    AgentOptions,
    AgentStatus,
    CreateAgentOptions,
    SessionMeta,
)
from harness.errors import HarnessError
from harness.session import SESSION_CREATED, SESSION_EVENT, SessionId
from harness.system_prompt import AssembleContext, render_prompt
from harness.testing.model import says
from vendor_shims.cordis import AbortController, Context


class _Commit:
    """Record that it was called, and when."""

    def __init__(self, news: list[str]) -> None:
        self._news = news

    def commit(self) -> None:
        """See `SetupCommit`."""
        self._news.append("commit")


class CreationCases(LoopStage):
    """Hold the order of a creation, and that a failed one leaves nothing."""

    @pytest.mark.spec("04-L1")
    async def test_a_new_agent_is_idle_with_an_id_of_its_own_and_an_empty_log(self, world: World):
        agent = await world.agent()
        assert re.fullmatch(r"session-[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f-]{18,}", agent.id)
        assert agent.id == agent.session.id
        assert agent.status is AgentStatus.IDLE
        assert agent.session.events == ()
        assert agent.live_attempt() is None

    @pytest.mark.spec("04-L2")
    async def test_a_registry_takes_one_factory_at_a_time(self, world: World):
        loop = await world.mount()
        with pytest.raises(FactoryConflictError, match="unload it first"):
            world.agents.set_factory(cast("AgentFactory", object()))
        await loop.dispose()
        other = world.agents.set_factory(cast("AgentFactory", object()))
        with pytest.raises(FactoryConflictError):
            world.agents.set_factory(cast("AgentFactory", object()))
        other()
        await world.mount()
        await world.agent()

    @pytest.mark.spec("04-L3")
    async def test_without_a_factory_the_error_says_what_to_mount(self, world: World):
        with pytest.raises(NoAgentFactoryError, match="agent loop"):
            await world.agents.create()

    @pytest.mark.spec("04-L4")
    async def test_a_creation_is_announced_in_order_before_it_returns(self, world: World):
        await world.agent()
        assert world.news == ["session/created", "agent/created", "agent/session-start"]

    @pytest.mark.spec("04-L5")
    @pytest.mark.parametrize("event", [SESSION_CREATED, CREATED])
    async def test_an_error_of_a_listener_vetoes_the_publication(self, world: World, event: Any):
        def refuse(_: object) -> None:
            raise ValueError("not this one")

        await world.mount()
        world.root.on(event, refuse)
        with pytest.raises(ValueError, match="not this one"):
            await world.agent(session_id=SessionId("session-a"))
        assert world.agents.get("session-a") is None
        assert world.store.get("session-a") is None
        told = [name for name in world.news if "created" in name]
        assert [name for name in world.news if name.endswith("/disposed")] == [
            name.replace("created", "disposed") for name in reversed(told)
        ]
        assert "agent/status disposed" not in world.news

    @pytest.mark.spec("04-L6")
    async def test_a_late_failure_of_a_listener_is_only_logged(self, world: World):
        async def fail(_: Agent) -> None:
            raise ValueError("too late")

        world.root.on(CREATED, fail)
        agent = await world.agent(says("Hello."))
        await world.turn(agent)
        assert reasons_of(agent) == [{"kind": "completed"}]
        assert any("too late" in str(line.args) for line in world.lines)

    @pytest.mark.spec("04-L7")
    async def test_a_listener_that_ends_the_owner_leaves_later_ones_a_live_agent(
        self, world: World
    ):
        seen: list[object] = []
        await world.mount()
        owner = world.root.plugin(_empty)
        await world.rest()
        world.root.on(CREATED, lambda _: owner.dispose() and None)
        world.root.on(CREATED, lambda agent: seen.append(world.agents.get(agent.id)))
        with pytest.raises(SetupAbortedError, match="owner"):
            await world.agents.as_caller(owner.ctx).create()
        assert seen == world.agents_made != [None]
        assert world.agents.list() == []

    @pytest.mark.spec("04-L8")
    async def test_a_live_id_is_taken(self, world: World):
        agent = await world.agent(says("Still here."), session_id=SessionId("session-a"))
        with pytest.raises(HarnessError, match="session-a"):
            await world.agent(session_id=SessionId("session-a"))
        assert world.agents.list() == [agent]
        await world.turn(agent)
        assert reasons_of(agent) == [{"kind": "completed"}]

    async def test_of_two_creations_of_one_id_the_first_to_be_ready_wins(self, world: World):
        gate = anyio.Event()
        made: list[Agent] = []

        async def wait(_: Context) -> None:
            await gate.wait()

        async def create() -> None:
            made.append(await world.agent(session_id=SessionId("session-a"), setup=wait))

        await world.mount()
        with pytest.raises(ExceptionGroup) as raised:  # noqa: PT012 - the group belongs to the act
            async with anyio.create_task_group() as group:
                group.start_soon(create)
                group.start_soon(create)
                await world.rest()
                gate.set()
        assert len(raised.value.exceptions) == 1
        assert world.agents.list() == made
        assert made[0].status is AgentStatus.IDLE

    @pytest.mark.spec("04-L9")
    async def test_an_aborted_creation_leaves_nothing_and_discards_a_late_setup(self, world: World):
        abort = AbortController()

        async def setup(_: Context) -> _Commit:
            with anyio.CancelScope(shield=True):
                abort.abort("changed my mind")
                await anyio.lowlevel.checkpoint()
            return _Commit(world.news)

        with pytest.raises(SetupAbortedError, match="changed my mind"):
            await world.agent(signal=abort.signal, setup=setup)
        assert world.news == []
        assert world.agents.list() == world.store.list() == []

    @pytest.mark.spec("04-L9")
    async def test_an_abort_cancels_a_waiting_setup(self, world: World):
        abort = AbortController()
        left: list[str] = []

        async def setup(_: Context) -> None:
            try:
                await anyio.sleep_forever()
            finally:
                left.append("setup")

        await world.mount()
        async with anyio.create_task_group() as group:
            group.start_soon(
                _expect, SetupAbortedError, world, {"signal": abort.signal, "setup": setup}
            )
            await world.rest()
            abort.abort()
        assert left == ["setup"]
        assert world.news == []

    @pytest.mark.spec("04-L10")
    async def test_an_owner_that_goes_away_ends_the_creation(self, world: World):
        await world.mount()
        owner = world.root.plugin(_empty)
        await world.rest()

        async def setup(_: Context) -> None:
            await owner.dispose()

        with pytest.raises(SetupAbortedError, match="owner was disposed during setup"):
            await world.agents.as_caller(owner.ctx).create(CreateAgentOptions(setup=setup))
        assert world.agents.list() == world.store.list() == []
        with pytest.raises(SetupAbortedError, match="owner"):
            await world.agents.as_caller(owner.ctx).create()

    @pytest.mark.spec("04-L11")
    async def test_a_loop_that_unloads_ends_the_creation(self, world: World):
        loop = await world.mount()

        async def setup(_: Context) -> None:
            await loop.dispose()

        with pytest.raises(LoopInactiveError, match="not active"):
            await world.agent(setup=setup)
        await loop.dispose()
        assert world.agents.list() == world.store.list() == []
        with pytest.raises(NoAgentFactoryError):
            await world.agents.create()

    @pytest.mark.spec("04-L12")
    async def test_a_commit_runs_once_between_setup_and_publication(self, world: World):
        async def setup(_: Context) -> _Commit:
            world.news.append("setup")
            return _Commit(world.news)

        await world.agent(setup=setup)
        assert world.news[:3] == ["setup", "commit", "session/created"]
        assert world.news.count("commit") == 1

    async def test_an_error_of_setup_leaves_nothing(self, world: World):
        async def setup(ctx: Context) -> None:
            ctx.on(CREATED, lambda _: world.news.append("own"))
            raise ValueError("cannot set up")

        with pytest.raises(ValueError, match="cannot set up"):
            await world.agent(setup=setup)
        assert world.news == []
        await world.agent()
        assert "own" not in world.news

    @pytest.mark.spec("04-L13")
    async def test_a_prompt_sent_in_setup_waits_for_the_publication(self, world: World):
        async def setup(ctx: Context) -> None:
            agent = _agent_of(ctx)
            world.send(agent, "x")
            assert agent.status is AgentStatus.IDLE

        agent = await world.agent(says("Hello."), setup=setup)
        assert world.news.index("agent/session-start") < world.news.index("agent/status running")
        await agent.when_idle()
        assert texts_of(agent, "user/message") == ["x"]
        assert reasons_of(agent) == [{"kind": "completed"}]

    async def test_context_injected_in_setup_is_in_the_log_before_the_first_turn(
        self, world: World
    ):
        async def setup(ctx: Context) -> None:
            _agent_of(ctx).inject("known from the start", source={"kind": "plugin", "plugin": "p"})

        agent = await world.agent(says("Hello."), setup=setup)
        assert types_of(agent) == ["turn/start", "context/message", "turn/end"]

    @pytest.mark.spec("04-L17")
    async def test_an_error_at_session_start_is_logged(self, world: World):
        def fail(_: object) -> None:
            raise ValueError("no welcome")

        world.root.on(SESSION_START, fail)
        agent = await world.agent(says("Hello."))
        await world.turn(agent)
        assert reasons_of(agent) == [{"kind": "completed"}]
        assert any("no welcome" in str(line.args) for line in world.lines)

    @pytest.mark.spec("04-L18")
    async def test_a_prompt_sent_at_session_start_is_the_first_turn(self, world: World):
        world.root.on(SESSION_START, lambda started: world.send(started.agent, "first") and None)
        agent = await world.agent(says("Hello."))
        await agent.when_idle()
        assert texts_of(agent, "user/message") == ["first"]
        assert agent.session.last_turn == 1

    @pytest.mark.spec("04-L19")
    @pytest.mark.parametrize("value", [0, -1, 1.5, True, 2**60])
    async def test_a_wrong_output_ceiling_is_refused(self, world: World, value: Any):
        with pytest.raises(ValueError, match="max_tokens"):
            await world.agent(agent_options=AgentOptions(max_tokens=value))

    @pytest.mark.spec("04-L20", "04-M6")
    async def test_a_seeded_agent_continues_the_numbering(self, world: World):
        first = await world.agent(says("One."), says("Two."))
        await world.turn(first)
        seed = first.session.events
        second = await world.agent(seed=seed, meta=SessionMeta(parent_session=first.id))
        assert second.session.events[:-1] == seed
        assert second.session.events[-1].type == "session/end-seed"
        assert second.session.header.seed_length == len(seed)
        await world.turn(second)
        assert second.session.last_turn == 2

    @pytest.mark.spec("04-L26")
    async def test_ownership_follows_the_chain_of_agents(self, world: World):
        parent = await world.agent()
        agents = world.agents
        child = (await agents.as_caller(parent.ctx).create()).agent
        grandchild = (await agents.as_caller(child.ctx).create()).agent
        sibling = (await agents.as_caller(parent.ctx).create()).agent
        assert agents.is_owned_by(grandchild.id, parent)
        assert agents.is_owned_by(grandchild.id, child)
        assert not agents.is_owned_by(grandchild.id, sibling)
        assert not agents.is_owned_by(parent.id, parent)
        assert not agents.is_owned_by("unknown", parent)
        assert agents.roots() == [parent]
        assert agents.list() == [parent, child, grandchild, sibling]

    async def test_an_agent_ends_with_the_agent_that_owns_it(self, world: World):
        handle = await world.handle()
        child = (await world.agents.as_caller(handle.agent.ctx).create()).agent
        await handle.dispose()
        assert child.status is AgentStatus.DISPOSED
        assert world.agents.list() == []

    async def test_events_reach_listeners_of_the_agent_and_around_it_only(self, world: World):
        one, other = await world.agent(says("One.")), await world.agent()
        heard: list[str] = []
        one.ctx.on(SESSION_EVENT, lambda _session, _event: heard.append("own"))
        other.ctx.on(SESSION_EVENT, lambda _session, _event: heard.append("foreign"))
        await world.turn(one)
        assert set(heard) == {"own"}

    async def test_prompts_may_name_the_directory_and_the_model(self, world: World):
        agent = await world.agent(meta=SessionMeta(cwd="/w/place"))
        world.prompt.section("place", 1, "In {{cwd}} with {{provider}}/{{model}}.")
        assembly = await world.prompt.assemble(AssembleContext(agent=agent))
        assert render_prompt(assembly).endswith("In /w/place with scripted/test.")


def _agent_of(ctx: Context) -> Agent:
    agent = ctx.own_tags["scope"]
    assert isinstance(agent, Agent)
    return agent


def _empty(_: Context) -> None:
    """Be a plugin that only owns things."""


async def _expect(error: type[Exception], world: World, creation: dict[str, Any]) -> None:
    with pytest.raises(error):
        await world.agent(**creation)
