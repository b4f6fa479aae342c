"""What an append keeps, what it refuses, and who hears of it."""

from __future__ import annotations

import itertools
import json

import pytest

from harness.session import (
    ASSISTANT_CHUNK,
    TURN_START,
    USER_MESSAGE,
    MessageShapeError,
    Session,
    SessionEventError,
    SurfaceError,
    event_from_json,
    event_to_json,
)
from harness.wire import FrozenDict, dumps, json_equal, loads

NOTE = "todo/write"


def state(session: Session) -> tuple[object, ...]:
    return (
        session.events,
        session.seq,
        session.surface.nodes,
        session.surface.replace_generation,
        session.open_turn,
        session.open_step,
        session.last_turn,
        session.derive_messages(),
        session.request_header(),
        session.request_context(),
    )


@pytest.mark.spec("03-1")
def test_the_first_event_has_seq_0_and_is_the_log():
    session = Session("s", now_ms=lambda: 7)
    event = session.append(TURN_START, {"turn": 1, "trigger": {"kind": "message"}})
    assert (event.type, event.seq, event.time) == (TURN_START, 0, 7)
    assert session.events == (event,)
    assert session.events[0] is event is session.event(0)
    assert (session.seq, session.open_turn, session.last_turn) == (1, 1, 1)
    assert session.events_from(0) == [event]


@pytest.mark.spec("03-2")
def test_a_surface_event_without_a_marker_is_refused(log):
    log.begin_turn()
    before = state(log.session)
    data = {"id": "u", "role": "user", "content": [], "source": {"kind": "user"}}
    with pytest.raises(SurfaceError, match="user/message"):
        log.session.append(USER_MESSAGE, data)
    assert state(log.session) == before


@pytest.mark.spec("03-3")
@pytest.mark.parametrize("marker", [{"surface_op": "append"}, {"source_event_seqs": [0]}])
def test_a_log_only_event_takes_no_marker(log, marker):
    log.begin_turn()
    log.begin_step()
    before = state(log.session)
    chunk = {"turn": 1, "step": 1, "chunk": {}}
    for kind, data in ((ASSISTANT_CHUNK, chunk), ("step/end", {"turn": 1, "step": 1})):
        with pytest.raises(SurfaceError, match="log-only"):
            log.session.append(kind, data, **marker)
    assert state(log.session) == before


def _cycle() -> dict[str, object]:
    data: dict[str, object] = {}
    data["self"] = data
    return data


@pytest.mark.spec("03-4")
@pytest.mark.parametrize(
    "data",
    [
        {"x": float("nan")},
        {"x": float("inf")},
        {"x": [-0.0]},
        {"x": b""},
        {"x": {1}},
        {"x": 2**60},
        {1: "x"},
        _cycle(),
        [],
        None,
    ],
    ids=repr,
)
def test_data_that_is_no_lossless_json_object_is_refused(log, data):
    log.begin_turn()
    before = state(log.session)
    with pytest.raises(SessionEventError, match=NOTE):
        log.session.append(NOTE, data)
    assert state(log.session) == before
    assert log.note().seq == 1


@pytest.mark.spec("03-4")
def test_a_lone_surrogate_survives_the_stored_form(log):
    log.begin_turn()
    event = log.append(NOTE, text="a\ud800b")
    assert event_from_json(loads(dumps(event_to_json(event)))) == event


@pytest.mark.spec("03-5", "03-6")
def test_data_is_a_deeply_frozen_copy(log):
    log.begin_turn()
    source = {"x": (1, [2]), "y": {"z": 1}}
    event = log.session.append(NOTE, source)
    source["x"][1].append(3)
    source["y"]["z"] = 2
    assert json_equal(event.data, {"x": [1, [2]], "y": {"z": 1}})
    assert json.loads(dumps(event_to_json(event)))["data"]["x"] == [1, [2]]
    for change in (
        lambda: event.data.__setitem__("x", 1),
        lambda: event.data["y"].update(z=1),
        lambda: event.data["x"].append(1),
        lambda: setattr(event, "seq", 9),
    ):
        with pytest.raises((TypeError, AttributeError)):
            change()


@pytest.mark.spec("03-7")
def test_a_computed_member_is_read_once(log):
    class Counting(dict[str, object]):
        n_reads = 0

        def __getitem__(self, key: str) -> object:
            self.n_reads += 1
            return self.n_reads

    log.begin_turn()
    source = Counting(x=0)
    assert log.session.append(NOTE, source).data == {"x": 1}
    assert source.n_reads == 1


def test_data_that_appends_while_it_is_read_cannot_spoil_the_order(log):
    class Appending(dict[str, object]):
        def __getitem__(self, key: str) -> object:
            return log.note().seq

    log.begin_turn()
    event = log.session.append(NOTE, Appending(x=0))
    assert (event.seq, event.data) == (2, {"x": 1})
    assert [one.seq for one in log.events] == [0, 1, 2]


@pytest.mark.spec("03-8")
def test_any_nesting_is_kept_and_can_be_written(log):
    deep: object = 1
    for _ in range(100_000):
        deep = [deep]
    log.begin_turn()
    event = log.session.append(NOTE, {"x": deep})
    assert dumps(event.data) == b'{"x":' + b"[" * 100_000 + b"1" + b"]" * 100_000 + b"}"


@pytest.mark.spec("03-8")
def test_a_message_nested_too_deeply_to_be_derived_is_refused(log):
    block: object = {"type": "text", "text": "x"}
    for _ in range(2_000):
        block = {"type": "tool-result", "toolCallId": "c", "content": [block]}
    data = {"id": "u", "role": "user", "content": [block], "source": {"kind": "user"}}
    log.begin_turn()
    before = state(log.session)
    with pytest.raises(MessageShapeError, match="malformed"):
        log.session.append(USER_MESSAGE, data, surface_op="append")
    assert state(log.session) == before


@pytest.mark.spec("03-9")
def test_a_snapshot_of_the_events_never_grows(log):
    log.begin_turn()
    before = log.events
    assert log.events is before
    log.note()
    assert len(before) == 1
    assert log.events[:1] == before


@pytest.mark.parametrize("kind", ["", None, 5, [], "unknown/type"])
def test_a_type_that_is_no_known_name_is_refused(log, kind):
    log.begin_turn()
    before = state(log.session)
    with pytest.raises(SessionEventError, match="type"):
        log.session.append(kind, {})
    assert state(log.session) == before


@pytest.mark.parametrize("kind", ["", None, 5])
def test_even_an_ignorable_event_needs_a_name(log, kind):
    log.begin_turn()
    with pytest.raises(SessionEventError, match="non-empty string"):
        log.session.append(kind, {}, ignorable=True)


def test_an_unknown_type_may_be_ignorable(log):
    log.begin_turn()
    event = log.session.append("unknown/type", {}, ignorable=True)
    assert event_to_json(event)["ignorable"] is True


@pytest.mark.spec("03-15")
def test_the_stored_envelope_is_read_strictly():
    stored = {"type": NOTE, "seq": 0, "time": 1, "data": {}}
    assert event_from_json({**stored, "ignorable": True}).ignorable
    for wrong in (
        {"ignorable": False},
        {"ignorable": 1},
        {"extra": 1},
        {"type": ""},
        {"type": 1},
        {"seq": -1},
        {"seq": 0.0},
        {"seq": True},
        {"seq": 2**53},
        {"time": 1.5},
        {"time": True},
        {"time": -(2**53)},
        {"data": []},
        {"data": None},
        {"surfaceOp": None},
        {"surfaceOp": "prepend"},
        {"sourceEventSeqs": None},
    ):
        with pytest.raises(SessionEventError):
            event_from_json({**stored, **wrong})
    for member in stored:
        with pytest.raises(SessionEventError):
            event_from_json({key: value for key, value in stored.items() if key != member})
    for value in (None, [], "x"):
        with pytest.raises(SessionEventError, match="event object"):
            event_from_json(value)


def test_the_stored_form_of_every_marker_reads_back(log):
    log.begin_turn()
    first = log.user("a")
    second = log.user("b", replacing=[first.seq])
    for event in (first, second, log.note()):
        assert event_from_json(loads(dumps(event_to_json(event)))) == event
    data = event_to_json(second)["data"]
    assert event_from_json(event_to_json(second), freeze=False).data is data


@pytest.mark.spec("03-16")
def test_the_clock_may_step_back():
    times = itertools.chain([10, 5], itertools.repeat(5))
    session = Session("s", now_ms=lambda: next(times))
    first = session.append(TURN_START, {"turn": 1})
    assert (session.header.created_at, first.time) == (10, 5)


def test_the_wall_clock_counts_milliseconds():
    session = Session("s")
    assert session.append(TURN_START, {"turn": 1}).time >= session.header.created_at > 1.6e12


def test_frozen_data_is_taken_as_it_is(log):
    log.begin_turn()
    data = FrozenDict(todos=())
    assert log.session.append(NOTE, data).data is data
    stored = {"type": NOTE, "seq": 0, "time": 0, "data": data}
    assert event_from_json(stored).data is data


@pytest.mark.parametrize("chunk", [{}, {"chunk": None}, {"chunk": "x"}, {"chunk": []}], ids=repr)
def test_a_chunk_event_carries_a_chunk(log, chunk):
    log.begin_turn()
    log.begin_step()
    with pytest.raises(MessageShapeError, match="chunk"):
        log.session.append(ASSISTANT_CHUNK, {"turn": 1, "step": 1, **chunk})
