import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.llm import (
    Finish,
    FinishReason,
    StreamChunk,
    TextDelta,
    ToolCallDelta,
    expand_assistant_stream,
    pack_assistant_stream,
)
from harness.llm.testing import chunk_streams, malformed_chunk_streams
from harness.wire import dumps, loads

LITERALS = [
    {"type": "text-chunks", "time0": 1760000000000, "index": 1, "dt": [14, -9],
     "texts": ["Hel", "lo", " world"]},
    {"type": "reasoning-chunks", "time0": 1760000000000, "index": 0, "dt": [7],
     "texts": ["Let me", " see"]},
    {"type": "tool-call-chunks", "time0": 1760000000100, "index": 2, "dt": [5], "id": "call_7",
     "name": "read", "args": ['{"a"', ":1}"]},
    {"type": "tool-call-chunks", "time0": 5, "index": 2, "dt": [], "id": "call_7", "args": [""]},
    {"type": "chunk", "time": 1760000000200,
     "chunk": {"type": "finish", "reason": {"kind": "stop"}}},
]  # fmt: skip


@pytest.mark.parametrize("record", LITERALS)
def test_canonical_records_survive_expanding_and_packing(record: dict) -> None:
    assert pack_assistant_stream(expand_assistant_stream([record])) == [record]


@pytest.mark.spec("02-58")
@given(chunk_streams() | malformed_chunk_streams(), st.data())
def test_expanding_gives_back_every_chunk_and_time(
    chunks: list[StreamChunk], data: st.DataObject
) -> None:
    times = data.draw(
        st.lists(st.integers(-(2**50), 2**50), min_size=len(chunks), max_size=len(chunks))
    )
    timed = list(zip(times, chunks, strict=True))
    records = pack_assistant_stream(timed)
    assert list(expand_assistant_stream(loads(dumps(records)))) == timed


@pytest.mark.spec("02-59", "02-61")
def test_calls_without_an_id_stay_plain_and_a_lost_name_starts_a_record() -> None:
    chunks = [
        ToolCallDelta(0, "", "n", "{"),
        ToolCallDelta(0, "c", "", "{"),
        ToolCallDelta(0, "c", "n", "1"),
        ToolCallDelta(0, "c", "n", "2"),
        ToolCallDelta(0, "c", None, "3"),
    ]
    records = pack_assistant_stream((5, chunk) for chunk in chunks)
    kinds = [record["type"] for record in records]
    assert kinds == ["chunk", "chunk", "tool-call-chunks", "tool-call-chunks"]
    assert "name" not in records[-1]


def test_another_block_and_an_unsafe_gap_start_a_record() -> None:
    timed: list[tuple[int, StreamChunk]] = [
        (0, TextDelta(0, "a")),
        (0, TextDelta(1, "b")),
        (-(2**53) + 1, TextDelta(1, "c")),
        (2**53 - 1, TextDelta(1, "d")),
        (1, Finish(FinishReason.STOP)),
        (1, TextDelta(1, "e")),
    ]
    records = pack_assistant_stream(timed)
    assert [r.get("texts") for r in records] == [["a"], ["b", "c"], ["d"], None, ["e"]]
    assert list(expand_assistant_stream(records)) == timed


@pytest.mark.spec("02-60", "02-62")
@pytest.mark.parametrize(
    "change",
    [
        {"dt": [14, 9, 1]},
        {"dt": []},
        {"extra": 1},
        {"texts": [], "dt": []},
        {"texts": "abc"},
        {"texts": [1, 2, 3]},
        {"index": -1},
        {"index": True},
        {"time0": 1.5},
        {"time0": 2**53 - 1},
        {"dt": [1, "2"]},
        {"type": "noise"},
    ],
)
def test_a_record_that_is_not_exact_is_refused(change: dict) -> None:
    with pytest.raises(ValueError, match="stream record"):
        list(expand_assistant_stream([{**LITERALS[0], **change}]))


@pytest.mark.parametrize("change", [{"id": ""}, {"id": 3}, {"name": ""}])
def test_a_call_record_needs_its_id(change: dict) -> None:
    with pytest.raises(ValueError, match="stream record"):
        list(expand_assistant_stream([{**LITERALS[2], **change}]))
