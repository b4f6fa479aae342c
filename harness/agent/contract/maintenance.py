"""Check that maintenance has an idle agent for itself."""

# ruff: noqa: ANN401, D102  # a name is the description; a listener decides what its case is about

from typing import Any

import anyio
import pytest

from harness.agent.agent import Agent
from harness.agent.contract.shapes import (
    NO_TODOS,
    PLUGIN,
    replace_all,
)
from harness.agent.contract.stage import LoopStage
from harness.agent.contract.world import World, events_of, reasons_of, texts_of, types_of
from harness.agent.errors import AgentBusyError, AgentDisposedError
from harness.agent.types import AgentStatus
from harness.session import SESSION_EVENT, SESSION_VALIDATE
from harness.testing.model import Hang, says
from vendor_shims.cordis import AbortSignal


class MaintenanceCases(LoopStage):
    """Hold that maintenance has an idle agent for itself."""

    @pytest.mark.spec("04-M1")
    async def test_a_running_agent_has_no_time_for_it(self, world: World):
        agent = await world.agent([Hang()])
        world.send(agent)
        with pytest.raises(AgentBusyError):
            agent.run_maintenance(_nothing).__await__().send(None)
        agent.cancel()
        await agent.when_idle()

    @pytest.mark.spec("04-M2")
    async def test_prompts_wait_for_its_end(self, world: World):
        async def task(_signal: AbortSignal) -> str:
            del world.news[:]
            receipts.extend((world.send(agent, "one"), agent.steer("two")))
            seen.append(agent.status)
            await gate.wait()
            return "tidy"

        receipts: list[Any] = []
        seen: list[object] = []
        gate = anyio.Event()
        agent = await world.agent(says("Both."))
        async with anyio.create_task_group() as group:
            group.start_soon(_assert_returns, agent, task, "tidy")
            await world.rest()
            with pytest.raises(AgentBusyError):
                await agent.run_maintenance(_nothing)
            assert agent.session.events == ()
            gate.set()
        await agent.when_idle()
        assert seen == [AgentStatus.IDLE]
        assert [receipt.state for receipt in receipts] == ["entered", "entered"]
        assert texts_of(agent, "user/message") == ["one", "two"]
        assert world.news[2] == "agent/status running"

    async def test_parked_prompts_stay_parked(self, world: World):
        agent = await world.agent([Hang()], says("Now."))
        world.send(agent)
        await world.rest()
        parked = world.send(agent, "parked")
        agent.cancel(keep_inbox=True)
        await agent.when_idle()
        await agent.run_maintenance(_nothing)
        await world.rest()
        assert parked.state == "pending"

        async def wake(_signal: AbortSignal) -> None:
            agent.wake()

        await agent.run_maintenance(wake)
        await agent.when_idle()
        assert parked.state == "entered"

    @pytest.mark.spec("04-M3")
    async def test_r25_a_cancel_sets_its_signal(self, world: World):
        async def task(signal: AbortSignal) -> None:
            await signal.wait()

        agent = await world.agent(says("Hello."))
        async with anyio.create_task_group() as group:
            group.start_soon(agent.run_maintenance, task)
            await world.rest()
            agent.cancel()
        await world.turn(agent)
        assert reasons_of(agent) == [{"kind": "completed"}]

    @pytest.mark.spec("04-M4")
    async def test_what_it_writes_is_one_turn(self, world: World):
        async def tidy(_signal: AbortSignal) -> None:
            async with agent.maintenance_turn("compaction") as begin:
                await anyio.lowlevel.checkpoint()
                assert begin() == begin() == 2
                agent.session.append("compaction/start", {"compactionId": "k", "turn": 2})
                await anyio.lowlevel.checkpoint()
                agent.annotate("todo/write", NO_TODOS)
                replace_all(agent.session, "a summary")
                agent.session.append("compaction/end", {"compactionId": "k", "turn": 2})

        async def look(_signal: AbortSignal) -> None:
            async with agent.maintenance_turn("compaction"):
                await anyio.lowlevel.checkpoint()

        agent = await world.agent(says("Hello."))
        await world.turn(agent)
        n_before = agent.session.seq
        await agent.run_maintenance(look)
        assert agent.session.seq == n_before
        await agent.run_maintenance(tidy)
        assert types_of(agent, n_before) == [
            "turn/start",
            "compaction/start",
            "todo/write",
            "user/message",
            "compaction/end",
            "turn/end",
        ]
        start = events_of(agent, "turn/start")[1].data
        assert start["trigger"] == {"kind": "maintenance", "task": "compaction"}
        assert [message.text for message in agent.session.derive_messages()] == ["a summary"]
        assert world.news.count("agent/status running") == 1

    @pytest.mark.parametrize("end", ["error", "cancel", "host"])
    async def test_its_turn_says_how_it_ended(self, world: World, end: str):
        async def task(signal: AbortSignal) -> None:
            async with agent.maintenance_turn("tidy") as begin:
                begin()
                if end == "error":
                    raise ValueError("cannot tidy")
                if end == "cancel":
                    agent.cancel("enough")
                    signal.throw_if_aborted()
                await anyio.sleep_forever()

        agent = await world.agent()
        with anyio.CancelScope() as scope:
            async with anyio.create_task_group() as group:
                group.start_soon(_swallow, agent.run_maintenance, task)
                await world.rest()
                if end == "host":
                    scope.cancel()
        assert reasons_of(agent) == [
            {
                "error": {"kind": "error", "step": 0, "message": "cannot tidy", "code": "UNKNOWN"},
                "cancel": {"kind": "aborted", "reason": {"kind": "hook", "reason": "enough"}},
                "host": {"kind": "disposed"},
            }[end]
        ]
        assert agent.status is AgentStatus.IDLE

    @pytest.mark.parametrize("allowed", [False, True])
    async def test_injected_context_joins_its_turn_if_that_is_safe(
        self, world: World, *, allowed: bool
    ):
        async def task(_signal: AbortSignal) -> None:
            world.receipts.append(agent.inject("before", source=PLUGIN))
            async with agent.maintenance_turn("tidy", allow_context=allowed):
                world.receipts.append(agent.inject("during", source=PLUGIN))

        agent = await world.agent()
        await agent.run_maintenance(task)
        kinds = [event.data["trigger"]["kind"] for event in events_of(agent, "turn/start")]
        assert kinds == ["maintenance" if allowed else "injection"]
        assert types_of(agent) == ["turn/start", "context/message", "context/message", "turn/end"]
        assert "before" in texts_of(agent, "context/message")[0]

    async def test_facts_outside_its_turn_have_turns_of_their_own(self, world: World):
        async def task(_signal: AbortSignal) -> None:
            assert agent.annotate("todo/write", NO_TODOS) is not None

        def observe(_session: object, event: Any) -> None:
            if event.type == "todo/write" and len(seen) < 2:
                seen.append(agent.annotate("plan/mode", {"active": True}))

        seen: list[object] = []
        world.root.on(SESSION_EVENT, observe)
        agent = await world.agent()
        await agent.run_maintenance(task)
        kinds = {event.data["trigger"]["kind"] for event in events_of(agent, "turn/start")}
        assert kinds == {"annotation"}
        assert seen == [None]
        facts = [kind for kind in types_of(agent) if not kind.startswith("turn/")]
        assert facts == ["todo/write", "plan/mode"]

    async def test_its_turn_needs_maintenance(self, world: World):
        async def twice(_signal: AbortSignal) -> None:
            async with agent.maintenance_turn("one"):
                with pytest.raises(AgentBusyError):
                    await agent.maintenance_turn("two").__aenter__()

        agent = await world.agent()
        with pytest.raises(AgentBusyError, match="run_maintenance"):
            await agent.maintenance_turn("none").__aenter__()
        await agent.run_maintenance(twice)

    async def test_a_maintenance_turn_that_cannot_end_closes_the_agent(self, world: World):
        def refuse(_session: object, event: Any) -> None:
            if event.type == "turn/end":
                raise ValueError("no end")

        async def task(_signal: AbortSignal) -> None:
            async with agent.maintenance_turn("tidy") as begin:
                begin()

        world.may_stay_open = True
        world.root.on(SESSION_VALIDATE, refuse)
        agent = await world.agent()
        with pytest.raises(ValueError, match="no end"):
            await agent.run_maintenance(task)
        assert [failed.where for failed in world.failures] == ["turn-end"]

    async def test_an_ended_agent_has_none(self, world: World):
        handle = await world.handle()
        await handle.dispose()
        with pytest.raises(AgentDisposedError):
            await handle.agent.run_maintenance(_nothing)


async def _nothing(_signal: AbortSignal) -> None:
    """Be a maintenance task that does nothing."""


async def _assert_returns(agent: Agent, task: Any, value: object) -> None:
    assert await agent.run_maintenance(task) == value


async def _swallow(run: Any, task: Any) -> None:
    try:
        await run(task)
    except Exception:  # noqa: BLE001 - how it ended is read from the log
        return
