"""What waits until an append has been published: appends of listeners, detaches, their errors."""

from __future__ import annotations

import pytest

from harness.errors import HarnessError
from harness.session import SESSION_EVENT, SESSION_VALIDATE, TURN_START


def test_a_callback_runs_at_once_when_nothing_is_published(log):
    done: list[int] = []
    log.session.after_publication(lambda: done.append(log.session.seq))
    assert done == [0]
    assert not log.session.is_publishing


async def test_what_a_listener_defers_runs_in_order_after_the_append(live):
    log = live.log()
    order: list[object] = []

    def defer(session, event):
        if event.type == TURN_START:
            assert session.is_publishing
            session.after_publication(lambda: order.append(log.note().seq))
            session.after_publication(lambda: order.append("last"))

    live.root.on(SESSION_EVENT, defer)
    live.root.on(SESSION_EVENT, lambda _session, event: order.append(event.type))
    log.begin_turn()
    assert order == [TURN_START, "todo/write", 1, "last"]


async def test_deferred_appends_do_not_nest(live):
    log = live.log()
    depths: list[int] = []
    depth = 0

    def again(session, event):
        if session.seq < 2_000:
            session.after_publication(append)

    def append():
        nonlocal depth
        depth += 1
        depths.append(depth)
        log.note()
        depth -= 1

    live.root.on(SESSION_EVENT, again)
    log.begin_turn()
    assert log.session.seq == 2_000
    assert set(depths) == {1}


async def test_an_error_of_a_deferred_callback_is_reported_and_the_append_stands(live):
    log = live.log()
    done: list[str] = []

    def defer(session, event):
        session.after_publication(lambda: 1 / 0)
        session.after_publication(lambda: done.append(event.type))

    live.root.on(SESSION_EVENT, defer)
    assert log.begin_turn().seq == 0
    assert done == [TURN_START]
    (line,) = live.errors()
    assert "ZeroDivisionError" in line
    assert log.session.id in line


async def test_what_was_deferred_runs_after_a_veto_too(live):
    log = live.log()
    done: list[int] = []

    def veto(session, event):
        session.after_publication(lambda: done.append(session.seq))
        raise HarnessError("no")

    live.root.on(SESSION_VALIDATE, veto)
    with pytest.raises(HarnessError, match="no"):
        log.begin_turn()
    assert done == [0]


async def test_nothing_deferred_comes_between_the_events_of_a_one_shot_turn(live):
    log = live.log()

    def defer(session, event):
        if event.type == TURN_START and event.data["turn"] == 1:
            session.after_publication(log.begin_turn)

    live.root.on(SESSION_EVENT, defer)
    with log.session.enclosed({"kind": "annotation"}):
        log.note()
        log.note()
    kinds = [event.type for event in log.events]
    assert kinds == [TURN_START, "todo/write", "todo/write", "turn/end", TURN_START]
    assert log.session.open_turn == 2


async def test_a_session_entered_inside_a_one_shot_turn_still_runs_what_is_deferred(live):
    session = live.store.prepare("s")
    done: list[str] = []
    live.root.on(
        SESSION_EVENT,
        lambda session, event: session.after_publication(lambda: done.append(event.type)),
    )
    with session.enclosed({"kind": "annotation"}):
        live.store.enter(session)
        session.append("todo/write", {})
        assert done == []
    assert done == ["todo/write", "turn/end"]
