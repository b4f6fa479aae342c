"""Check the inbox: its lists, and their journal."""

# ruff: noqa: ANN401, D102  # a name is the description; a listener decides what its case is about

from math import inf
from typing import Any

import pytest

from harness.agent.agent import Agent
from harness.agent.contract.shapes import (
    ONE_STEP,
)
from harness.agent.contract.stage import LoopStage
from harness.agent.contract.world import (
    World,
    events_of,
    reasons_of,
    texts_of,
    types_of,
)
from harness.agent.errors import (
    DuplicatePendingMessage,
)
from harness.agent.events import INBOX_DISCARDED
from harness.agent.types import AgentStatus, InboxTarget
from harness.llm import create_user_message
from harness.session import SESSION_EVENT, SESSION_VALIDATE, SessionEvent
from harness.testing.model import Hang, says

TURN, STEP = InboxTarget.NEXT_TURN, InboxTarget.NEXT_STEP


class InboxCases(LoopStage):
    """Hold what changes of the lists mean."""

    @pytest.mark.spec("04-M10")
    @pytest.mark.parametrize(
        ("start", "count", "left"),
        [
            (0, 1, "xbcd"), (1, 2, "axd"), (-1, 1, "abcx"), (-2, inf, "abx"), (-9, 1, "xbcd"),
            (9, 1, "abcdx"), (inf, 1, "abcdx"), (2, -5, "abxcd"), (-inf, inf, "x"),
        ],
    )  # fmt: skip
    async def test_a_splice_counts_as_lists_do(
        self, world: World, start: float, count: float, left: str
    ):
        agent = await world.agent()
        letters = {letter: create_user_message(letter) for letter in "abcdx"}
        agent.inbox.append(TURN, *(letters[letter] for letter in "abcd"))
        removed = agent.inbox.splice(TURN, start, count, letters["x"])
        assert _texts(agent) == left
        assert {message.text for message in removed} == set("abcd") - set(left)
        assert agent.status is AgentStatus.IDLE

    @pytest.mark.spec("04-M10")
    async def test_messages_are_replaced_and_removed_by_id(self, world: World):
        agent = await world.agent()
        one, two, three = (create_user_message(text) for text in "123")
        agent.inbox.append(TURN, one, two)
        agent.inbox.prepend(TURN, three)
        assert _texts(agent) == "312"
        agent.inbox.replace(one.id, create_user_message("x"))
        agent.inbox.replace(two.id, create_user_message("y", message_id=two.id))
        assert _texts(agent) == "3xy"
        for refused in (three, create_user_message("z", message_id=three.id)):
            with pytest.raises(DuplicatePendingMessage):
                agent.inbox.replace(two.id, refused)
            with pytest.raises(DuplicatePendingMessage):
                agent.inbox.append(STEP, refused)
            with pytest.raises(DuplicatePendingMessage):
                agent.inbox.splice(TURN, 0, 0, refused)
        agent.inbox.splice(TURN, 0, 1, three)
        assert agent.inbox.remove(three.id) is three
        for unknown in (three.id, "unknown"):
            with pytest.raises(KeyError):
                agent.inbox.remove(unknown)
            with pytest.raises(KeyError):
                agent.inbox.replace(unknown, one)
        assert _texts(agent) == "xy"

    async def test_an_empty_splice_says_nothing(self, world: World):
        agent = await world.agent()
        assert agent.inbox.splice(TURN, 0, 5) == ()
        assert "agent/inbox/inserted" not in world.news
        assert not agent.inbox.has_pending

    async def test_the_next_step_is_cleared_before_the_next_turn(self, world: World):
        discarded: list[tuple[str, str]] = []
        world.root.on(
            INBOX_DISCARDED, lambda told: discarded.append((told.message.text, told.outcome))
        )
        agent = await world.agent()
        agent.inbox.append(TURN, create_user_message("turn"))
        agent.inbox.append(STEP, create_user_message("step"))
        assert [entry.message.text for entry in agent.inbox.snapshot(STEP)] == ["step"]
        agent.inbox.clear()
        assert discarded == [("step", "cleared"), ("turn", "cleared")]

    async def test_a_removed_message_settles_its_receipt(self, world: World):
        agent = await world.agent([Hang()])
        world.send(agent)
        await world.rest()
        receipt = world.send(agent, "never mind")
        agent.inbox.remove(receipt.message_id)
        assert receipt.state == "discarded"
        agent.cancel()
        await agent.when_idle()

    async def test_a_message_in_the_queue_for_a_step_is_a_prompt_to_the_next_turn(
        self, world: World
    ):
        agent = await world.agent(says("Both."))
        agent.inbox.append(STEP, create_user_message("first"))
        await world.turn(agent, "second")
        assert texts_of(agent, "user/message") == ["first", "second"]


class JournalCases(LoopStage):
    """Hold that the log knows what is queued while a turn is open."""

    @pytest.mark.spec("04-M7")
    async def test_queued_messages_are_journaled_inside_the_turn(self, world: World):
        agent = await world.agent([Hang()], says("Later."))
        world.send(agent)
        await world.rest()
        receipt = world.send(agent, "later")
        assert receipt.durable
        (splice,) = events_of(agent, "agent/inbox/spliced")
        assert splice.data["target"] == "next-turn"
        assert splice.data["start"] == 0
        assert [message["id"] for message in splice.data["inserted"]] == [receipt.message_id]
        agent.cancel(keep_inbox=True)
        agent.wake()
        await agent.when_idle()
        claimed = events_of(agent, "agent/inbox/spliced")[1].data
        assert (claimed["removedCount"], claimed["outcome"]) == (1, "claimed")
        assert types_of(agent)[-6] == "agent/inbox/spliced"

    async def test_the_journal_names_the_run_that_changed(self, world: World):
        agent = await world.agent([Hang()])
        world.send(agent)
        await world.rest()
        receipts = [world.send(agent, text) for text in "abc"]
        agent.inbox.replace(receipts[1].message_id, create_user_message("x"))
        splice = events_of(agent, "agent/inbox/spliced")[-1].data
        assert (splice["start"], splice["removedCount"]) == (1, 1)
        assert [message["content"][0]["text"] for message in splice["inserted"]] == ["x"]
        agent.cancel()
        await agent.when_idle()

    async def test_a_message_taken_up_at_once_is_not_journaled(self, world: World):
        agent = await world.agent(says("Hello."))
        receipt = world.send(agent)
        assert not receipt.durable
        await agent.when_idle()
        assert receipt.durable
        assert types_of(agent) == ONE_STEP

    async def test_debt_is_journaled_when_a_turn_opens(self, world: World):
        await world.mount(intake="single")
        agent = await world.agent([Hang()], says("Two."))
        world.send(agent, "one")
        second = world.send(agent, "two")
        await world.rest()
        assert second.durable
        agent.cancel(keep_inbox=True)
        agent.wake()
        await agent.when_idle()
        assert second.turn == 2

    async def test_a_journal_may_be_turned_off(self, world: World):
        await world.mount(durable_inbox=False)
        agent = await world.agent([Hang()])
        world.send(agent)
        await world.rest()
        world.send(agent, "later")
        agent.cancel()
        await agent.when_idle()
        assert events_of(agent, "agent/inbox/spliced") == []

    async def test_a_change_that_the_journal_refuses_does_not_happen(self, world: World):
        agent = await world.agent([Hang()])
        world.send(agent)
        await world.rest()
        kept = world.send(agent, "kept")
        listener = world.root.on(SESSION_VALIDATE, _refusing)
        with pytest.raises(ValueError, match="no journal"):
            agent.send("lost")
        with pytest.raises(ValueError, match="no journal"):
            agent.inbox.remove(kept.message_id)
        assert _texts(agent) == "kept"
        agent.cancel()
        assert [failed.where for failed in world.failures] == ["inbox"]
        await agent.when_idle()
        assert kept.state == "pending"
        assert reasons_of(agent)[0]["kind"] == "aborted"
        listener()
        agent.cancel()
        assert kept.state == "discarded"

    async def test_a_refused_delivery_to_a_stopping_agent_wakes_nobody(self, world: World):
        agent = await world.agent([Hang()])
        world.send(agent)
        await world.rest()
        agent.cancel()
        world.root.on(SESSION_VALIDATE, _refusing)
        with pytest.raises(ValueError, match="no journal"):
            agent.send("lost")
        await agent.when_idle()
        assert agent.session.last_turn == 1

    async def test_prompts_that_cannot_be_claimed_wait(self, world: World):
        await world.mount(intake="single")
        agent = await world.agent([Hang()])
        world.send(agent)
        await world.rest()
        waiting = world.send(agent, "waiting")
        agent.cancel(keep_inbox=True)
        await agent.when_idle()
        world.root.on(SESSION_VALIDATE, _refusing)
        agent.wake()
        await agent.when_idle()
        assert (agent.status, waiting.state) == (AgentStatus.IDLE, "pending")
        assert reasons_of(agent)[1]["message"] == "no journal"

    async def test_what_an_observer_queues_is_journaled_behind_the_event(self, world: World):
        def queue(_session: object, event: Any) -> None:
            if event.type == "agent/inbox/spliced" and len(queued) < 3:
                queued.append(world.send(agent, f"echo {len(queued)}"))

        queued: list[Any] = []
        world.root.on(SESSION_EVENT, queue)
        agent = await world.agent([Hang()])
        world.send(agent)
        await world.rest()
        world.send(agent, "first")
        assert _texts(agent, " ") == "first echo 0 echo 1 echo 2"
        assert all(receipt.durable for receipt in queued)
        agent.cancel()
        await agent.when_idle()

    async def test_a_journal_entry_refused_behind_an_event_is_reported(self, world: World):
        def queue(_session: object, event: Any) -> None:
            if event.type == "step/start":
                world.send(agent, "queued")

        world.root.on(SESSION_EVENT, queue)
        listener = world.root.on(SESSION_VALIDATE, _refusing)
        agent = await world.agent([Hang()], [Hang()])
        world.send(agent)
        await world.rest()
        assert [failed.where for failed in world.failures] == ["inbox"]
        listener()
        agent.cancel()
        await agent.when_idle()
        assert len(events_of(agent, "agent/inbox/spliced")) == 0


def _texts(agent: Agent, separator: str = "") -> str:
    return separator.join([entry.message.text for entry in agent.inbox.snapshot()])


def _refusing(_session: object, event: SessionEvent) -> None:
    if event.type == "agent/inbox/spliced":
        raise ValueError("no journal")
