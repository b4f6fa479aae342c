"""Creations that meet trouble on the way, and what they leave behind."""

import anyio
import pytest

from harness.agent import CreateAgentOptions, LoopInactiveError, SetupAbortedError
from harness.agent.contract import reasons_of
from harness.session_persistence import (
    MemoryBackend,
    MemoryStorage,
    PersistenceCoordinator,
)
from harness.testing.model import says
from vendor_shims.cordis import AbortController


def plugin(_ctx) -> None:
    """Be a plugin that only owns things."""


async def test_an_owner_that_restarts_is_not_the_one_that_asked(world) -> None:
    await world.mount()
    owner = world.root.plugin(plugin)
    await world.rest()

    async def setup(_ctx) -> None:
        with anyio.CancelScope(shield=True):
            await owner.restart()

    agents = world.agents.as_caller(owner.ctx)
    with pytest.raises(SetupAbortedError, match="owner was disposed"):
        await agents.create(_options(setup))
    assert owner.is_active
    assert world.agents.list() == []


async def test_a_loop_that_restarts_makes_none_of_its_old_creations(world) -> None:
    loop = await world.mount()

    async def setup(_ctx) -> None:
        with anyio.CancelScope(shield=True):
            await loop.restart()

    with pytest.raises(LoopInactiveError):
        await world.agent(setup=setup)
    assert loop.is_active
    await world.agent()


async def test_a_clean_up_that_fails_does_not_hide_why_the_creation_failed(world) -> None:
    def fail() -> None:
        raise ValueError("does not let go")

    async def setup(ctx) -> None:
        ctx.defer(fail)
        raise ValueError("cannot set up")

    with pytest.raises(ValueError, match="cannot set up"):
        await world.agent(setup=setup)
    assert any("does not let go" in str(line.args) for line in world.lines)
    assert world.agents.list() == []


async def test_the_loop_may_own_an_agent(world) -> None:
    loop = await world.mount()
    agents = world.agents.as_caller(loop.ctx)
    handle = await agents.create(_options(None))
    await handle.dispose()
    assert world.agents.list() == []


class SlowStorage(MemoryBackend):
    """A storage whose answers come although nobody wants them any more."""

    def __init__(self, storage, abort, answers) -> None:
        super().__init__(storage)
        self.abort = abort
        self.answers = answers

    async def load_stored(self, session_id):
        with anyio.CancelScope(shield=True):
            self.abort.abort("changed my mind")
            await anyio.lowlevel.checkpoint()
        self.answers.append(session_id)
        return await super().load_stored(session_id)

    async def snapshot(self, session_id):
        with anyio.CancelScope(shield=True):
            self.abort.abort("changed my mind")
            await anyio.lowlevel.checkpoint()
        self.answers.append(session_id)
        return await super().snapshot(session_id)


class SlowPersistence(PersistenceCoordinator):
    def __init__(self, ctx, config) -> None:
        super().__init__(ctx, SlowStorage(*config))


async def test_a_claim_that_comes_too_late_is_given_back(world) -> None:
    storage, abort, answers = MemoryStorage(), AbortController(), []
    world.root.plugin(SlowPersistence, (storage, abort, answers))
    await world.rest()
    with pytest.raises(SetupAbortedError, match="changed my mind"):
        await world.agent(session_id="session-a", signal=abort.signal)
    assert answers == ["session-a"]
    # The claim would keep the id: nobody could create a session under it.
    agent = await world.agent(says("Hello."), session_id="session-a")
    await world.turn(agent)
    assert reasons_of(agent) == [{"kind": "completed"}]


async def test_a_stored_session_that_comes_too_late_is_given_back(world) -> None:
    storage, abort, answers = MemoryStorage(), AbortController(), []
    fiber = await world.persist(storage)
    handle = await world.handle(says("Hello."))
    await world.turn(handle.agent)
    await handle.dispose()
    await fiber.dispose()
    world.root.plugin(SlowPersistence, (storage, abort, answers))
    await world.rest()
    with pytest.raises(SetupAbortedError, match="changed my mind"):
        await world.resume(handle.id, signal=abort.signal)
    assert answers
    assert storage.leases == {}
    await world.resume(handle.id)


async def test_a_storage_that_does_not_close_is_an_error_of_the_end(world) -> None:
    class Broken(MemoryBackend):
        async def append_batch(self, lease, events) -> None:
            raise OSError("disk full")

    class BrokenPersistence(PersistenceCoordinator):
        def __init__(self, ctx, config) -> None:
            super().__init__(ctx, Broken(config))

    def fail() -> None:
        raise ValueError("does not let go")

    fiber = world.root.plugin(BrokenPersistence, MemoryStorage())
    await world.rest()
    handle = await world.handle(says("Hello."))
    await world.turn(handle.agent)
    handle.agent.ctx.defer(fail)
    with pytest.raises(ExceptionGroup, match="disposing an agent") as raised:
        await handle.dispose()
    assert [type(error) for error in raised.value.exceptions] == [ValueError, OSError]
    assert world.agents.list() == world.store.list() == []
    with pytest.raises(ExceptionGroup):
        await handle.dispose()
    await fiber.dispose()


@pytest.mark.parametrize("has_persistence", [False, True])
async def test_persistence_may_come_and_go_without_touching_the_loop(
    world, has_persistence
) -> None:
    """A loop that required it, or watched it, would wait for ever or restart with every agent."""
    loop = await world.mount()
    agent = await world.agent(says("Hello."), says("Again."))
    persistence = await world.persist(MemoryStorage()) if has_persistence else None
    await world.turn(agent)
    if persistence is not None:
        await persistence.dispose()
    await world.turn(agent)
    assert loop.is_active
    assert world.agents.list() == [agent]
    assert set(loop.inject) == {"agents", "sessions", "llm", "tools", "system_prompt"}


def _options(setup):
    return CreateAgentOptions(setup=setup)
