"""How a session begins with a history: what a seed may be, and where live history begins."""

from __future__ import annotations

import gc

import pytest
from hypothesis import given

from harness.session import (
    END_SEED,
    Replace,
    Session,
    SessionEvent,
    SessionEventError,
    SessionHeader,
    SessionId,
    TurnEnclosureError,
)
from harness.session.testing import LogWriter, balanced_logs
from harness.wire import FrozenDict


@pytest.fixture
def events(log):
    log.turn()
    log.turn()
    return log.events


@pytest.mark.spec("03-34")
def test_an_empty_seed_is_one_marker():
    session = Session.create("s", seed=[])
    assert [(event.type, event.data) for event in session.events] == [(END_SEED, {})]
    assert session.first_live_seq == 0
    assert Session.create("s").events == ()


@pytest.mark.spec("03-35")
async def test_a_seed_is_followed_by_one_marker_and_is_not_published(live, events):
    session = live.store.create("s", seed=events)
    assert session.events[:-1] == events
    assert session.events[-1].type == END_SEED
    assert session.first_live_seq == len(events)
    assert live.heard == []
    LogWriter(session).turn()
    assert session.last_turn == 3


@pytest.mark.spec("03-36")
def test_a_seed_that_ends_with_the_marker_gets_no_other(events):
    once = Session.create("s", seed=events)
    twice = Session.create("s", seed=once.events)
    assert twice.events == once.events
    assert twice.first_live_seq == len(events)
    LogWriter(twice).turn()
    third = Session.create("s", seed=twice.events)
    assert third.first_live_seq == twice.seq
    assert [event.type for event in third.events].count(END_SEED) == 2


def changed(events, index: int, **changes: object):
    made = list(events)
    made[index] = made[index]._replace(**changes)
    return made


@pytest.mark.spec("03-37")
@pytest.mark.parametrize(
    ("index", "changes"),
    [
        (2, {"seq": 5}),
        (1, {"seq": True}),
        (2, {"seq": 2.0}),
        (2, {"time": 1.5}),
        (2, {"time": True}),
        (2, {"type": "unknown/type"}),
        (2, {"type": ""}),
        (2, {"type": None}),
        (2, {"data": None}),
        (2, {"data": {"turn": float("nan")}}),
        (1, {"surface_op": None}),
        (1, {"surface_op": "prepend"}),
        (1, {"surface_op": {"op": "replace", "start": 0}}),
        (2, {"surface_op": "append"}),
        (4, {"surface_op": "append"}),
        (4, {"source_event_seqs": (3,)}),
        (2, {"source_event_seqs": ()}),
        (1, {"source_event_seqs": (1,)}),
        (1, {"source_event_seqs": [0, 0]}),
        (1, {"source_event_seqs": (0, 0)}),
        (1, {"source_event_seqs": "0"}),
        (1, {"data": FrozenDict(id="")}),
        (0, {"data": FrozenDict(turn=2)}),
    ],
    ids=repr,
)
def test_a_wrong_seed_event_is_named_by_its_index(events, index, changes):
    with pytest.raises(SessionEventError, match=f"seed event {index}: ") as caught:
        Session.create("s", seed=changed(events, index, **changes))
    assert caught.value.index == index


@pytest.mark.spec("03-37")
def test_a_gap_in_a_seed_is_named(events):
    with pytest.raises(SessionEventError, match="seed event 3: expected seq 3, found 4"):
        Session.create("s", seed=[*events[:3], *events[4:]])
    with pytest.raises(SessionEventError, match="seed event 0: expected a session event"):
        Session.create("s", seed=[tuple(events[0])])  # pyright: ignore[reportArgumentType] - wrong on purpose


@pytest.mark.spec("03-37")
def test_a_marker_inside_a_turn_is_refused(events):
    marker = SessionEvent(END_SEED, 1, 0, FrozenDict())
    with pytest.raises(TurnEnclosureError, match="seed event 1: session/end-seed inside a turn"):
        Session.create("s", seed=[events[0], marker], allow_open_turn=True)


def test_a_seed_may_end_inside_a_turn_only_when_asked_for(events):
    cut = events[:4]
    with pytest.raises(TurnEnclosureError, match=r"inside turn 1.*interrupted_turn_closers"):
        Session.create("s", seed=cut)
    session = Session.create("s", seed=cut, allow_open_turn=True)
    assert (session.open_turn, session.open_step) == (1, 1)


@pytest.mark.parametrize("is_on", [True, False])
def test_planting_leaves_the_collector_as_it_was(events, is_on):
    before = gc.isenabled()
    (gc.enable if is_on else gc.disable)()
    try:
        Session.create("s", seed=events)
        with pytest.raises(SessionEventError):
            Session.create("s", seed=events[1:])
        assert gc.isenabled() == is_on
    finally:
        (gc.enable if before else gc.disable)()


@pytest.mark.spec("03-38")
def test_a_seed_is_copied(log, events):
    seed = list(events)
    child = Session.create("child", seed=seed)
    log.turn()
    seed.clear()
    assert child.events[:-1] == events
    assert child.derive_messages() == Session.create("s", seed=events).derive_messages()


@pytest.mark.spec("03-39")
@given(balanced_logs())
def test_restoring_freezes_and_equals_a_session_made_from_frozen_events(log):
    header = SessionHeader(id=SessionId("s"), created_at=1)
    raw = [
        event._replace(
            data=dict(event.data),
            source_event_seqs=event.source_event_seqs and list(event.source_event_seqs),
            surface_op={"op": "replace", **event.surface_op._asdict()}
            if isinstance(event.surface_op, Replace)
            else event.surface_op,
        )
        for event in log.events
    ]
    restored = Session.from_restore("s", raw, header, now_ms=lambda: 1)
    created = Session.create("s", log.events, header, now_ms=lambda: 1)
    assert restored.events == created.events
    assert all(type(event.data) is FrozenDict for event in restored.events)
    assert [type(e.source_event_seqs) for e in restored.events] == [
        type(e.source_event_seqs) for e in created.events
    ]
    assert restored.surface.nodes == created.surface.nodes
    assert restored.derive_messages() == created.derive_messages()
    assert restored.header is header
