"""Receipts, options, folds and descriptors on their own."""

from types import SimpleNamespace

import pytest

from harness import agent as package
from harness.agent import (
    AgentOptions,
    EnqueueReceipt,
    InboxTarget,
    MessageId,
    fold_consumed_work,
    fold_turns,
)
from harness.session import Session
from vendor_shims.cordis import Event


async def nothing() -> None:
    """Be a flush that has nothing to do."""


def test_a_receipt_settles_once() -> None:
    receipt = EnqueueReceipt(MessageId("m"), InboxTarget.NEXT_TURN, nothing)
    receipt.claim(3)
    receipt.enter(3, 7)
    receipt.discard()
    receipt.reject("late")
    assert (receipt.state, receipt.seq, receipt.turn) == ("entered", 7, 3)


async def test_a_receipt_waits_for_its_flush() -> None:
    async def fail() -> None:
        raise OSError("disk full")

    receipt = EnqueueReceipt(MessageId("m"), "log", fail)
    receipt.enter(1, 1)
    with pytest.raises(OSError, match="disk full"):
        await receipt.flushed()
    assert receipt.durable


def test_an_output_ceiling_is_a_positive_integer() -> None:
    assert AgentOptions(max_tokens=1).max_tokens == 1
    with pytest.raises(ValueError, match="max_tokens"):
        AgentOptions(max_tokens=0)


def test_a_log_may_begin_outside_a_turn() -> None:
    session = Session.create("session-a", [])
    assert fold_turns(session.events) == []
    session.append("turn/start", {"turn": 1, "trigger": {"kind": "message"}})
    (turn,) = fold_turns(session.events)
    assert (turn.number, turn.end, turn.n_steps) == (1, None, 0)
    assert fold_consumed_work(session.events) == (None, False)


def test_every_event_is_scoped_to_its_agent(make_agent) -> None:
    agent = make_agent("session-a")

    payload = SimpleNamespace(agent=agent)
    events = [value for value in vars(package).values() if isinstance(value, Event)]
    assert len(events) == 17
    for event in events:
        subject = agent if event in ("agent/created", "agent/disposed") else payload
        assert event.scoped(subject) is agent
        assert event.doc
