"""Check what a cancel means besides the place where it arrives."""

# ruff: noqa: ANN401, D102  # a name is the description; a listener decides what its case is about

from typing import Any

import anyio
import pytest

from harness.agent.agent import Agent
from harness.agent.contract.shapes import USER
from harness.agent.contract.stage import LoopStage
from harness.agent.contract.world import (
    World,
    events_of,
    reasons_of,
    texts_of,
)
from harness.agent.events import (
    ERROR,
    INBOX_DISCARDED,
    INBOX_INSERTED,
    PRE_STEP,
)
from harness.agent.types import AgentStatus, CancelCause
from harness.testing.model import Hang, fails, partly, says


class CancelCases(LoopStage):
    """Hold what a cancel means besides the place where it arrives."""

    @pytest.mark.spec("04-C16")
    async def test_queued_work_may_be_parked(self, world: World):
        agent = await world.agent([Hang()], says("Both."))
        world.send(agent)
        await world.rest()
        first, second = world.send(agent, "one"), world.send(agent, "two")
        agent.cancel(keep_inbox=True)
        await agent.when_idle()
        assert (first.state, second.state) == ("pending", "pending")
        assert [entry.message.text for entry in agent.inbox.snapshot()] == ["one", "two"]
        agent.wake()
        await agent.when_idle()
        assert (first.turn, second.turn) == (2, 2)

    @pytest.mark.spec("04-C16")
    async def test_a_wake_after_the_cancel_latches(self, world: World):
        agent = await world.agent([Hang()], says("Next."))
        world.send(agent)
        await world.rest()
        queued = world.send(agent, "next")
        agent.cancel(keep_inbox=True)
        agent.wake()
        await agent.when_idle()
        assert queued.turn == 2
        assert world.news.count("agent/status idle") == 1

    @pytest.mark.spec("04-C17")
    async def test_queued_work_is_thrown_away_otherwise(self, world: World):
        outcomes: list[str] = []
        world.root.on(INBOX_DISCARDED, lambda told: outcomes.append(told.outcome))
        agent = await world.agent([Hang()])
        world.send(agent)
        await world.rest()
        receipts = [world.send(agent, "one"), world.send(agent, "two")]
        agent.cancel()
        await agent.when_idle()
        assert [receipt.state for receipt in receipts] == ["discarded"] * 2
        assert outcomes == ["canceled"] * 2

    @pytest.mark.spec("04-C18")
    async def test_r27_a_prompt_sent_after_the_cancel_is_new_intent(self, world: World):
        agent = await world.agent([Hang()], says("Again."))
        world.send(agent)
        await world.rest()
        agent.cancel()
        again = agent.steer("again")
        await agent.when_idle()
        assert [reason["kind"] for reason in reasons_of(agent)] == ["aborted", "completed"]
        assert texts_of(agent, "user/message") == ["hi", "again"]
        assert (again.target, again.turn) == ("next-turn", 2)
        signal = world.model.requests[1].signal
        assert signal is not None
        assert not signal.aborted

    @pytest.mark.spec("04-C18")
    async def test_r27_a_dropped_turn_gives_way_to_the_next_prompt(self, world: World):
        agent = await world.agent(says("Hello."))
        world.send(agent, "dropped")
        agent.cancel()
        await world.turn(agent, "kept")
        assert texts_of(agent, "user/message") == ["kept"]
        assert world.news.count("agent/status running") == 1

    @pytest.mark.spec("04-C19")
    async def test_r27_a_second_cancel_takes_it_back(self, world: World):
        agent = await world.agent([Hang()])
        world.send(agent)
        await world.rest()
        agent.cancel()
        again = world.send(agent, "again")
        agent.cancel()
        await agent.when_idle()
        assert again.state == "discarded"
        assert agent.session.last_turn == 1

    async def test_r27_a_cancel_from_an_insertion_listener_cannot_reclassify_it(self, world: World):
        agent = await world.agent([Hang()])
        world.send(agent)
        await world.rest()
        agent.cancel()
        listener = world.root.on(INBOX_INSERTED, lambda inserted: inserted.agent.cancel())
        again = world.send(agent, "again")
        listener()
        await agent.when_idle()
        assert again.state == "discarded"
        assert agent.session.last_turn == 1

    @pytest.mark.spec("04-C20")
    async def test_r26_the_first_cause_stands(self, world: World):
        agent = await world.agent([Hang()])
        world.send(agent)
        await world.rest()
        agent.cancel({"kind": "user"})
        agent.cancel("budget")
        await agent.when_idle()
        assert reasons_of(agent) == [USER]

    @pytest.mark.spec("04-C21", "04-C25")
    @pytest.mark.parametrize(
        ("cause", "logged"),
        [
            ("budget", {"kind": "hook", "reason": "budget"}),
            ({"kind": "parent", "traceback": object()}, {"kind": "parent"}),
            ({"kind": "hook", "reason": "stop", "more": 1}, {"kind": "hook", "reason": "stop"}),
            (CancelCause("user", "extra"), {"kind": "user"}),
        ],
    )
    async def test_only_declared_facts_of_a_cause_are_logged(
        self, world: World, cause: Any, logged: object
    ):
        agent = await world.agent([Hang()])
        world.send(agent)
        await world.rest()
        agent.cancel(cause)
        await agent.when_idle()
        assert reasons_of(agent) == [{"kind": "aborted", "reason": logged}]

    @pytest.mark.parametrize("cause", [7, {"kind": "hook"}, {"kind": "boredom"}, {}])
    async def test_anything_else_is_no_cause(self, world: World, cause: Any):
        agent = await world.agent()
        with pytest.raises(TypeError, match="not a cancel cause"):
            agent.cancel(cause)

    @pytest.mark.spec("04-C23")
    async def test_an_error_after_the_cancel_is_its_consequence(self, world: World):
        async def fail(_pending: object) -> None:
            try:
                await anyio.sleep_forever()
            finally:
                raise ValueError("torn off")

        world.root.on(PRE_STEP, fail)
        agent = await _cancelled(world)
        assert reasons_of(agent) == [USER]
        assert world.failures == []

    @pytest.mark.spec("04-C24")
    async def test_a_cancel_after_the_error_changes_nothing(self, world: World):
        def cancel(failed: Any) -> None:
            failed.agent.cancel()

        world.root.on(ERROR, cancel)
        agent = await world.agent(fails("SERVER"))
        await world.turn(agent)
        assert reasons_of(agent)[0]["kind"] == "error"

    async def test_a_meddling_listener_counts_as_a_hook(self, world: World):
        async def meddle(pending: Any) -> None:
            pending.signal.trigger("because")

        world.root.on(PRE_STEP, meddle)
        agent = await world.agent()
        await world.turn(agent)
        assert reasons_of(agent)[0]["reason"] == {"kind": "hook", "reason": "because"}

    async def test_an_aborted_step_keeps_its_steering_for_later(self, world: World):
        agent = await world.agent(partly("Half", Hang()), says("Now."))
        world.send(agent)
        await world.rest()
        steered = agent.steer("left")
        agent.cancel(keep_inbox=True)
        await agent.when_idle()
        assert steered.state == "pending"
        agent.wake()
        await agent.when_idle()
        assert texts_of(agent, "user/message") == ["hi", "left"]
        assert events_of(agent, "steering/message") == []


async def _cancelled(world: World, *replies: Any) -> Agent:
    """Run a prompt until nothing moves, cancel it, and wait for rest."""
    agent = await world.agent(*replies)
    world.send(agent)
    await world.rest()
    assert agent.status is AgentStatus.RUNNING
    agent.cancel()
    await agent.when_idle()
    return agent
