"""Check what a resumed agent knows, and what its log tells."""

# ruff: noqa: ANN401, D102  # a name is the description; a listener decides what its case is about

from typing import Any

import attrs
import pytest

from harness.agent.agent import Agent
from harness.agent.consumed import fold_consumed_work
from harness.agent.contract.shapes import hang
from harness.agent.contract.stage import LoopStage, another_world
from harness.agent.contract.world import (
    MountLoop,
    World,
    events_of,
    reasons_of,
    texts_of,
    types_of,
)
from harness.agent.decisions import Block
from harness.agent.errors import (
    ResumeUnavailable,
    SessionAlreadyLive,
    SetupAbortedError,
)
from harness.agent.events import PROMPT_SUBMIT, SESSION_START
from harness.agent.types import AgentOptions, AgentStatus
from harness.session import SESSION_VALIDATE, SessionEvent, SessionId
from harness.session_persistence import MemoryStorage
from harness.testing.model import Hang, calls, fails, says
from harness.tools import ToolExecution
from vendor_shims.cordis import AbortController


class ResumeCases(LoopStage):
    """Hold what a resumed agent knows."""

    @pytest.mark.spec("04-L14")
    async def test_nothing_is_resumed_without_persistence(self, world: World):
        with pytest.raises(ResumeUnavailable, match="no persistence service is configured"):
            await world.resume(SessionId("session-a"))

    @pytest.mark.spec("04-L15")
    async def test_a_live_session_is_not_resumed(self, world: World):
        await world.persist(MemoryStorage())
        agent = await world.agent(says("Still here."))
        with pytest.raises(SessionAlreadyLive, match=agent.id):
            await world.resume(agent.id)
        await world.turn(agent)
        assert reasons_of(agent) == [{"kind": "completed"}]

    @pytest.mark.spec("04-L16", "04-T18", "03-70")
    async def test_a_resumed_agent_goes_on(self, world: World, mount_loop: MountLoop):
        sources: list[str] = []
        storage = MemoryStorage()
        await world.persist(storage)
        handle = await world.handle(says("One."))
        receipt = await world.turn(handle.agent)
        await receipt.flushed()
        stored = handle.agent.session.events
        await handle.dispose()
        async with another_world(mount_loop) as later:
            await later.persist(storage)
            later.root.on(SESSION_START, lambda started: sources.append(started.source))
            agent = (await later.resume(handle.agent.id, says("Two."), says("Three."))).agent
            assert sources == ["resume"]
            assert agent.session.events[: len(stored)] == stored
            await later.turn(agent)
            await later.turn(agent)
            assert agent.session.last_turn == 3
            reasons = [event.data["reason"] for event in events_of(agent, "request/header")]
            assert reasons == ["initial", "resume"]
            assert len(later.model.requests[0].messages) == 3

    async def test_an_effort_is_kept_for_the_model_it_was_chosen_for(
        self, world: World, mount_loop: MountLoop
    ):
        storage = MemoryStorage()
        await world.persist(storage)
        handle = await world.handle(says("One."))
        await world.turn(handle.agent)
        await handle.dispose()
        async with another_world(mount_loop) as later:
            await later.persist(storage)
            # Nobody names a model: the last one is used again.
            agent = (
                await later.resume(handle.agent.id, says("Two."), agent_options=AgentOptions())
            ).agent
            await later.turn(agent)
            assert later.model.requests[0].model == "test"

    @pytest.mark.spec("04-M7", "04-M8")
    async def test_what_was_queued_at_a_crash_is_queued_again(
        self, world: World, mount_loop: MountLoop
    ):
        storage, agent_id = await _crash_with_queue(world)
        async with another_world(mount_loop) as later:
            await later.persist(storage)
            agent = (await later.resume(agent_id, says("Both."))).agent
            assert agent.status is AgentStatus.IDLE
            assert _texts(agent, " ") == "steered queued"
            assert reasons_of(agent) == [{"kind": "interrupted"}]
            await later.rest()
            assert agent.status is AgentStatus.IDLE
            await later.turn(agent, "new")
            assert texts_of(agent, "user/message") == ["hi", "steered", "queued", "new"]
            assert agent.session.last_turn == 2

    @pytest.mark.spec("04-M9")
    async def test_what_was_queued_may_run_at_once(self, world: World, mount_loop: MountLoop):
        storage, agent_id = await _crash_with_queue(world)
        async with another_world(mount_loop) as later:
            await later.persist(storage)
            await later.mount(resume_pending="run")
            agent = (await later.resume(agent_id, says("Both."))).agent
            start = later.news.index("agent/session-start")
            assert later.news[start + 1] == "agent/status running"
            await agent.when_idle()
            assert texts_of(agent, "user/message") == ["hi", "steered", "queued"]

    async def test_what_was_cleared_does_not_come_back(self, world: World, mount_loop: MountLoop):
        storage, agent_id = await _crash_with_queue(world)
        async with another_world(mount_loop) as later:
            await later.persist(storage)
            handle = await later.resume(agent_id)
            n_before = handle.agent.session.seq
            handle.agent.cancel()
            assert types_of(handle.agent, n_before) == [
                "turn/start", "agent/inbox/spliced", "agent/inbox/spliced", "turn/end",
            ]  # fmt: skip
            assert handle.agent.status is AgentStatus.IDLE
            await handle.dispose()
            again = (await later.resume(agent_id)).agent
            assert not again.inbox.has_pending

    async def test_clearing_that_cannot_be_recorded_is_reported(
        self, world: World, mount_loop: MountLoop
    ):
        storage, agent_id = await _crash_with_queue(world)
        async with another_world(mount_loop) as later:
            await later.persist(storage)
            handle = await later.resume(agent_id)
            later.root.on(SESSION_VALIDATE, _refusing)
            handle.agent.inbox.clear()
            assert not handle.agent.inbox.has_pending
            assert [failed.where for failed in later.failures] == ["inbox"]

    async def test_what_a_copy_inherits_is_not_queued_in_it(
        self, world: World, mount_loop: MountLoop
    ):
        storage = MemoryStorage()
        await world.persist(storage)
        agent = await world.agent([Hang()])
        world.send(agent)
        await world.rest()
        world.send(agent, "queued")
        agent.cancel(keep_inbox=True)
        await agent.when_idle()
        copy = await world.handle(seed=agent.session.events)
        assert not copy.agent.inbox.has_pending
        await copy.dispose()
        async with another_world(mount_loop) as later:
            await later.persist(storage)
            again = (await later.resume(copy.agent.id)).agent
            assert not again.inbox.has_pending

    async def test_a_resume_that_is_given_up_releases_the_session(
        self, world: World, mount_loop: MountLoop
    ):
        storage = MemoryStorage()
        await world.persist(storage)
        handle = await world.handle(says("One."))
        await world.turn(handle.agent)
        await handle.dispose()
        async with another_world(mount_loop) as later:
            await later.persist(storage)
            abort = AbortController()
            abort.abort("changed my mind")
            with pytest.raises(SetupAbortedError):
                await later.resume(handle.agent.id, signal=abort.signal)

            async def fail(_: object) -> None:
                raise ValueError("cannot set up")

            with pytest.raises(ValueError, match="cannot set up"):
                await later.resume(handle.agent.id, setup=fail)
            assert storage.leases == {}
            agent = (await later.resume(handle.agent.id, says("Two."))).agent
            await later.turn(agent)
            assert reasons_of(agent)[1] == {"kind": "completed"}

    async def test_an_unknown_session_is_an_error_of_persistence(self, world: World):
        await world.persist(MemoryStorage())
        with pytest.raises(Exception, match="session-unknown"):
            await world.resume(SessionId("session-unknown"))
        assert world.agents.list() == []

    @pytest.mark.spec("04-M12")
    async def test_a_log_tells_whether_the_last_input_ran(self, world: World):
        async def block(submitted: Any, following: Any) -> Any:
            is_bad = submitted.message.text == "bad"
            return Block("bad") if is_bad else await following()

        world.root.on(PROMPT_SUBMIT, block)
        agent = await world.agent(says("One."), fails("SERVER"), [Hang()])
        assert fold_consumed_work(agent.session.events) == (None, False)
        agent.inject("note", source={"kind": "plugin", "plugin": "p"})
        assert fold_consumed_work(agent.session.events).end is None
        for prompt, kind in (("one", "completed"), ("bad", "rejected"), ("two", "error")):
            await world.turn(agent, prompt)
            end, dropped = fold_consumed_work(agent.session.events)
            assert end is not None
            assert (end.data["reason"]["kind"], dropped) == (kind, False)
        world.send(agent, "three")
        await world.rest()
        world.send(agent, "dropped")
        agent.cancel()
        await agent.when_idle()
        end, dropped = fold_consumed_work(agent.session.events)
        assert end is not None
        assert (end.data["reason"]["kind"], dropped) == ("aborted", True)
        world.send(agent, "gone before the turn")
        agent.inbox.clear()
        await agent.when_idle()
        assert reasons_of(agent)[-1] == {"kind": "completed"}
        assert fold_consumed_work(agent.session.events).end is end


async def _crash_with_queue(world: World) -> tuple[MemoryStorage, SessionId]:
    """Return what is stored of a session whose process ends with messages in its inbox."""

    async def queue(_args: object, _execution: ToolExecution) -> str:
        agent.send("queued")
        agent.steer("steered")
        return await hang()

    storage, crashed = MemoryStorage(), MemoryStorage()
    await world.persist(storage)
    world.tool("queue", queue)
    agent = await world.agent(calls("queue", {}))
    agent.send("hi")
    await world.rest()
    await world.store.flush(agent.session)
    log = storage.logs[agent.id]
    crashed.logs[agent.id] = attrs.evolve(log, events=list(log.events))
    agent.cancel()
    await agent.when_idle()
    return crashed, agent.id


def _texts(agent: Agent, separator: str = "") -> str:
    return separator.join([entry.message.text for entry in agent.inbox.snapshot()])


def _refusing(_session: object, event: SessionEvent) -> None:
    if event.type == "agent/inbox/spliced":
        raise ValueError("no journal")
