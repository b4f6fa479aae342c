"""Packing of deltas: which runs pack, and that nothing is changed by it."""

import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.session import Session, SessionEvent, event_to_json
from harness.session.testing import LogWriter, balanced_logs
from harness.session_persistence import (
    MalformedRecordError,
    decode_storage_record,
    encode_lines,
    pack_chunk_runs,
)
from harness.wire import FrozenDict, dumps, loads

NO_LIMIT = 2**40


def delta(
    seq: int, fields: dict[str, Any], *, time: int | None = None, **where: Any
) -> SessionEvent:
    data = {"turn": 1, "step": 1, "chunk": FrozenDict(fields)} | where
    return SessionEvent("assistant/chunk", seq, seq * 3 if time is None else time, FrozenDict(data))


def text(seq: int, value: str = "a", **more: Any) -> SessionEvent:
    return delta(seq, {"type": "text-delta", "index": 0, "text": value}, **more)


def call(seq: int, **fields: Any) -> SessionEvent:
    chunk = {"type": "tool-call-delta", "index": 1, "id": "c1", **fields, "argumentsDelta": "{"}
    return delta(seq, chunk)


def round_trip(events: list[SessionEvent]) -> list[SessionEvent]:
    lines = encode_lines(events, pack_chunks=True, max_line_bytes=NO_LIMIT).split(b"\n")
    assert lines.pop() == b""
    return [event for line in lines for event in decode_storage_record(loads(line))]


@pytest.mark.spec("05-43", "03-76")
def test_three_deltas_pack_and_two_do_not():
    two = [text(0), text(1)]
    assert pack_chunk_runs(two) == [event_to_json(event) for event in two]
    assert round_trip(two) == two
    three = [text(5, "He"), text(6, "llo", time=30), text(7, " there", time=39)]
    (row,) = pack_chunk_runs(three)
    assert round_trip(three) == three
    assert row == {
        "type": "text-chunks",
        "seq0": 5,
        "time0": 15,
        "data": {"turn": 1, "step": 1, "index": 0, "dt": [15, 9], "texts": ["He", "llo", " there"]},
    }


@pytest.mark.spec("05-43", "03-77")
def test_tool_call_rows_carry_id_and_name_and_a_name_change_splits_them():
    named = [call(seq, name="bash") for seq in range(3)]
    (row,) = pack_chunk_runs(named)
    assert row["type"] == "tool-call-chunks"
    assert row["data"] == {
        "turn": 1,
        "step": 1,
        "index": 1,
        "dt": [3, 3],
        "id": "c1",
        "name": "bash",
        "args": ["{", "{", "{"],
    }
    nameless = [call(seq) for seq in range(3, 6)]
    assert [row["data"].get("name") for row in pack_chunk_runs([*named, *nameless])] == [
        "bash",
        None,
    ]
    other = [call(seq, name="read") for seq in range(3, 6)]
    assert len(pack_chunk_runs([*named, *other])) == 2
    elsewhere = [call(seq, name="bash", id="c2") for seq in range(3, 6)]
    assert [row["data"]["id"] for row in pack_chunk_runs([*named, *elsewhere])] == ["c1", "c2"]
    for other_run in (nameless, other, elsewhere):
        assert round_trip([*named, *other_run]) == [*named, *other_run]


@pytest.mark.spec("05-43", "03-77")
@pytest.mark.parametrize(
    "odd",
    [
        delta(1, {"type": "text-delta", "index": 0, "text": "b", "extra": 1}),
        delta(1, {"type": "text-delta", "index": 0, "text": "b"}, extra=1),
        delta(1, {"index": 0, "type": "text-delta", "text": "b"}),
        delta(1, {"type": "text-delta", "index": 1, "text": "b"}),
        delta(1, {"type": "text-delta", "index": True, "text": "b"}),
        delta(1, {"type": "text-delta", "index": 0, "text": 7}),
        delta(1, {"type": "reasoning-delta", "index": 0, "text": "b"}),
        delta(1, {"type": "other-delta", "index": 0, "text": "b"}),
        delta(1, {"type": "text-delta", "index": 0, "id": "c", "argumentsDelta": "b"}),
        delta(1, {"type": "tool-call-delta", "index": 0, "id": 3, "argumentsDelta": "b"}),
        delta(1, {"type": "finish", "reason": FrozenDict(kind="stop")}),
        text(1, turn=2),
        text(1, step=2),
        text(1, turn=1.0),
        text(1, chunk=("x",)),
        text(1, time=1.5),
        text(1, time=2**60),
        text(3),
        text(1)._replace(ignorable=True),
        text(1)._replace(source_event_seqs=()),
        text(1)._replace(surface_op="append"),
        SessionEvent("turn/start", 1, 3, FrozenDict(turn=1)),
    ],
)
def test_an_event_of_another_shape_ends_the_run(odd: SessionEvent):
    events = [text(0), odd, text(2)]
    assert pack_chunk_runs(events) == [event_to_json(event) for event in events]


@pytest.mark.spec("03-78")
@pytest.mark.parametrize(
    "odd",
    [
        delta(1, {"type": "text-delta", "index": 0, "text": "b", "extra": FrozenDict(deep=(1,))}),
        delta(1, {"type": "text-delta", "index": 0, "text": "b"}, extra=None),
    ],
)
def test_a_delta_that_carries_more_keeps_it(odd: SessionEvent):
    events = [text(0), odd, text(2), text(3), text(4)]
    assert pack_chunk_runs(events)[1] == event_to_json(odd)
    assert round_trip(events) == events


@pytest.mark.spec("03-79")
def test_gaps_may_be_negative_and_texts_stay_apart():
    events = [text(0, " ", time=9), text(1, "", time=4), text(2, "\n", time=4)]
    assert round_trip(events) == events


def test_a_flush_boundary_splits_a_run():
    events = [text(seq) for seq in range(8)]
    rows = pack_chunk_runs(events[:4]) + pack_chunk_runs(events[4:])
    assert [row["seq0"] for row in rows] == [0, 4]
    assert [e for row in rows for e in decode_storage_record(row)] == events


CHUNKS = st.one_of(
    st.fixed_dictionaries(
        {"type": st.just("text-delta"), "index": st.integers(0, 1), "text": st.text(max_size=3)}
    ),
    st.fixed_dictionaries(
        {"type": st.just("reasoning-delta"), "index": st.just(0), "text": st.text(max_size=3)}
    ),
    st.fixed_dictionaries(
        {
            "type": st.just("tool-call-delta"),
            "index": st.just(1),
            "id": st.sampled_from(["c1", "c2"]),
            "argumentsDelta": st.text(max_size=3),
        }
    ),
    st.fixed_dictionaries({"type": st.just("usage"), "usage": st.just({"inputTokens": 1})}),
)


@pytest.mark.spec("05-44", "03-P11")
@given(st.lists(CHUNKS, max_size=30), st.randoms(use_true_random=False))
def test_packing_is_invisible(chunks: list[dict[str, Any]], rng: random.Random):
    events = [
        text(seq, chunk=FrozenDict(c), time=rng.randint(-5, 5)) for seq, c in enumerate(chunks)
    ]
    cut = rng.randint(0, len(events))
    assert round_trip(events[:cut]) + round_trip(events[cut:]) == events


GOOD = {
    "type": "text-chunks",
    "seq0": 5,
    "time0": 10,
    "data": {"turn": 1, "step": 1, "index": 0, "dt": [1], "texts": ["a", "b"]},
}
CALL = {
    "type": "tool-call-chunks",
    "seq0": 5,
    "time0": 10,
    "data": {"turn": 1, "step": 1, "index": 0, "dt": [], "id": "c", "args": ["b"]},
}


def changed(row: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return row | {"data": row["data"] | fields}


@pytest.mark.spec("05-45", "03-80", "03-P11")
@pytest.mark.parametrize(
    "row",
    [
        GOOD | {"extra": 1},
        {key: value for key, value in GOOD.items() if key != "time0"},
        GOOD | {"data": []},
        GOOD | {"seq0": -1},
        GOOD | {"seq0": True},
        GOOD | {"seq0": 2**53},
        GOOD | {"seq0": 5.0},
        GOOD | {"time0": False},
        GOOD | {"time0": 1.0},
        GOOD | {"time0": 2**53 - 1},
        changed(GOOD, dt=[]),
        changed(GOOD, dt=[1, 1]),
        changed(GOOD, dt=[0.5]),
        changed(GOOD, dt="1"),
        changed(GOOD, texts=["a", 1]),
        changed(GOOD, texts=[], dt=[]),
        changed(GOOD, texts={"a": 1, "b": 2}),
        changed(GOOD, extra=1),
        changed(GOOD, id="c"),
        changed(GOOD, index="0"),
        changed(CALL, id=None),
        changed(CALL, name=4),
        changed(CALL, texts=["x"]),
        {**CALL, "data": {k: v for k, v in CALL["data"].items() if k != "id"}},
        "turn/end",
        ["turn/end"],
        {"type": "turn/end"},
        {"type": "turn/end", "seq": 0, "time": 0, "data": 3},
        {"type": "turn/end", "seq": 0, "time": 0, "data": {}, "other": 1},
        {"type": "turn/end", "seq": 0, "time": 0, "data": {}, "ignorable": False},
    ],
)
def test_malformed_records_are_refused(row: object):
    with pytest.raises(MalformedRecordError):
        decode_storage_record(row)


@pytest.mark.spec("03-P11")
@given(balanced_logs(), st.randoms(use_true_random=False))
def test_a_log_is_read_as_it_was_written_however_it_was_cut(log: LogWriter, rng: random.Random):
    batches: list[list[SessionEvent]] = [[]]
    for event in log.events:
        if rng.random() < 0.3:
            batches.append([])
        batches[-1].append(event)
    read = [event for batch in batches for event in round_trip(batch)]
    assert tuple(read) == log.events
    assert Session.create("s", read).derive_messages() == log.session.derive_messages()


@pytest.mark.spec("03-81")
def test_a_record_of_an_unknown_type_is_an_event():
    record = {"type": "future/type", "seq": 3, "time": 9, "data": {"x": [1]}, "ignorable": True}
    written = dumps(record)
    (event,) = decode_storage_record(record)
    assert event == SessionEvent("future/type", 3, 9, FrozenDict(x=(1,)), ignorable=True)
    assert dumps(event_to_json(event)) == written


def test_well_formed_rows_are_read():
    assert len(decode_storage_record(GOOD)) == 2
    assert "name" not in decode_storage_record(CALL)[0].data["chunk"]
    assert decode_storage_record(changed(CALL, name="bash"))[0].data["chunk"]["name"] == "bash"


@pytest.mark.parametrize("depth", [600, 5000])
def test_deeply_nested_data_is_frozen_as_the_encoder_needs_it(depth: int):
    value: Any = []
    for _ in range(depth):
        value = [value]
    record = {"type": "x", "seq": 0, "time": 0, "data": {"deep": value}}
    written = dumps(record)
    (event,) = decode_storage_record(record)
    levels = [event.data["deep"]]
    while levels[-1]:
        levels += levels[-1]
    assert len(levels) == depth + 1
    assert all(isinstance(level, tuple) for level in levels)
    assert tuple not in {type(level) for level in levels[300:]}  # the encoder overruns on those
    assert dumps(event_to_json(event)) == written
