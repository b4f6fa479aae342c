"""A fork begins with a copy of another session's history, cut outside a turn."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.session import (
    END_SEED,
    Session,
    SessionForkError,
    SessionStore,
    TurnEnclosureError,
    balanced_prefix,
    event_from_json,
)
from harness.session.testing import LogWriter, balanced_logs
from harness.wire import FrozenDict
from vendor_shims.testing import kernel


@pytest.mark.spec("03-92")
async def test_a_fork_copies_a_balanced_log(live):
    log = LogWriter(live.store.create("parent", meta={"cwd": "/w", "delegation_depth": 1}))
    log.turn("a", "b")
    child = live.store.fork("parent")
    assert child.events[:-1] == log.events
    assert child.events[-1].type == END_SEED
    assert child.derive_messages() == log.session.derive_messages()
    header = child.header
    assert (header.parent_session, header.seed_length, header.cwd) == (
        "parent",
        len(log.events),
        "/w",
    )
    assert header.delegation_depth == 0
    assert live.store.get(child.id) is child
    log.turn("c")
    assert child.seq == header.seed_length + 1
    grandchild = live.store.fork(child, child_id="grandchild")
    assert grandchild.id == "grandchild"
    assert grandchild.events == child.events
    assert grandchild.header.parent_session == child.id


@pytest.mark.spec("03-92")
async def test_a_fork_may_stop_at_the_end_of_an_earlier_turn(live):
    log = live.log("parent")
    log.turn("a")
    boundary = log.session.seq - 1
    log.turn("b")
    child = live.store.fork(log.session, boundary)
    assert child.events[:-1] == log.events[: boundary + 1]
    assert child.last_turn == 1


@pytest.mark.spec("03-93")
async def test_a_fork_that_cannot_be_made_says_why(live):
    log = live.log("parent")
    log.turn()
    log.begin_turn()

    def code(*arguments: object) -> str:
        with pytest.raises(SessionForkError) as caught:
            live.store.fork(*arguments)
        return caught.value.code

    assert code("parent") == "OPEN_TURN"
    assert code("parent", 1) == "OPEN_TURN"
    for boundary in (log.session.seq, -1, 1.5, True, "1"):
        assert code("parent", boundary) == "INVALID_BOUNDARY"
    assert code("nobody") == "SESSION_NOT_FOUND"
    assert code(Session("nobody")) == "SESSION_NOT_LIVE"
    assert code(Session("parent")) == "SESSION_NOT_LIVE"
    log.end_turn()
    assert code("parent", None, "parent") == "SESSION_ALREADY_EXISTS"
    assert [session.id for session in live.store.list()] == ["parent"]


@pytest.mark.spec("03-94")
async def test_a_fork_of_an_empty_session_is_empty(live):
    live.store.create("parent")
    child = live.store.fork("parent")
    assert [event.type for event in child.events] == [END_SEED]
    assert child.header.seed_length == 0
    with pytest.raises(SessionForkError) as caught:
        live.store.fork("parent", 0)
    assert caught.value.code == "INVALID_BOUNDARY"


async def test_a_fork_of_an_imported_prefix_stays_imported(live):
    title = {"type": "session/title", "seq": 0, "time": 1, "data": {"title": "t"}}
    parent = live.store.create(
        "parent",
        seed=[event_from_json(title)],
        meta={"imported_from": {"file": "f", "version": 0}},
    )
    child = live.store.fork(parent, 0)
    assert child.header.imported_from == {"file": "f", "version": 0}
    assert type(child.header.imported_from) is FrozenDict
    assert child.events[0].type == "session/title"
    with pytest.raises(TurnEnclosureError):
        LogWriter(child).note()


def test_the_balanced_prefix_ends_outside_a_turn(log):
    assert balanced_prefix([]) == []
    log.turn()
    whole = log.events
    log.begin_turn()
    log.user()
    assert balanced_prefix(log.events) == whole
    seeded = Session.create("s", whole).events
    assert balanced_prefix(seeded) == seeded
    assert balanced_prefix(whole[:4]) == ()


@pytest.mark.spec("03-P25")
@given(balanced_logs(), st.data())
def test_every_boundary_is_accepted_exactly_outside_a_turn(log, data):
    open_turns: set[int] = set()
    is_open = False
    for event in log.events:
        is_open = event.type == "turn/start" or (is_open and event.type != "turn/end")
        if is_open:
            open_turns.add(event.seq)
    boundaries = [None, *range(log.session.seq)]
    chosen = data.draw(st.lists(st.sampled_from(boundaries), max_size=8))
    asyncio.run(fork_all(log, chosen, open_turns))


async def fork_all(log: LogWriter, boundaries: list[int | None], open_turns: set[int]) -> None:
    before = log.events
    async with kernel() as made:
        made.root.plugin(SessionStore)
        await made.settle()
        store: SessionStore = made.root.require("sessions")
        store.enter(log.session)
        for boundary in boundaries:
            if boundary in open_turns:
                with pytest.raises(SessionForkError) as caught:
                    store.fork(log.session, boundary)
                assert caught.value.code == "OPEN_TURN"
                continue
            child = store.fork(log.session, boundary)
            prefix = before if boundary is None else before[: boundary + 1]
            assert child.events[:-1] == prefix
            again = Session.create("again", prefix)
            assert child.derive_messages() == again.derive_messages()
            LogWriter(child).turn()
    assert log.events is before
