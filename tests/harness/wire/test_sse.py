"""Server-sent events from raw bytes: the same events for any slicing."""

import tracemalloc
from collections import deque
from itertools import count

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.testing.strategies import slicings, sse_streams
from harness.wire import SseDecoder, SseEvent, SseEventTooLargeError

payload_text = (
    st.text(st.sampled_from('{}":,é\u2028\n\x85a ') | st.characters(codec="utf-8"), max_size=12)
    .map(lambda text: text.replace("\r", "").strip())
    .filter(bool)
)
byte_soup = st.lists(
    st.sampled_from(
        [
            b"data: x",
            b"data:",
            b"data",
            b"data:  y",
            b"\n",
            b"\r",
            b"\r\n",
            b"\n\n",
            b": c",
            b"event: e",
            b"id: 1",
            b"id: \0",
            b"retry: 5",
            b"\xef\xbb\xbf",
            b"\xff",
            b"\xc3\xa9",
            b"data: " + b"z" * 30,
        ]
    ),
    max_size=25,
).map(b"".join)


def decoded(pieces, max_bytes=16 * 1024 * 1024):
    """Return events, comments, retry and whether the decoder refused."""
    decoder = SseDecoder(max_bytes)
    events = []
    try:
        for piece in pieces:
            events += decoder.feed(piece)
        decoder.feed(b"")
    except SseEventTooLargeError:
        return events, None, True
    return events, (decoder.comments, decoder.retry_ms, decoder.has_partial), False


def payloads(*pieces):
    return [event.data for event in decoded(pieces)[0]]


@given(st.data(), byte_soup, st.integers(1, 60))
@pytest.mark.spec("02-137")
def test_any_slicing_gives_the_same_events_and_the_same_refusal(data, stream, max_bytes):
    pieces = data.draw(slicings(stream))
    single = [stream[index : index + 1] for index in range(len(stream))]
    assert decoded(pieces) == decoded([stream]) == decoded(single)
    assert decoded(pieces, max_bytes) == decoded([stream], max_bytes) == decoded(single, max_bytes)


@given(st.data(), byte_soup, st.integers(1, 60))
def test_the_data_alone_is_that_of_the_whole_events(data, stream, max_bytes):
    whole, alone = SseDecoder(max_bytes), SseDecoder(max_bytes)
    for piece in data.draw(slicings(stream)):
        try:
            events = whole.feed(piece)
        except SseEventTooLargeError:
            with pytest.raises(SseEventTooLargeError):
                alone.feed_data(piece)
            break
        texts = [text.decode("utf-8", "replace") for text in alone.feed_data(piece)]
        assert texts == [event.data for event in events]
        assert (alone.comments, alone.has_partial) == (whole.comments, whole.has_partial)


def test_events_that_come_whole_are_told_from_parts_of_one():
    decoder = SseDecoder()
    pieces = [b"data: a\n\n", b"data: b\n\n", b"data: c\r\n\r\n", b"data: d\n", b"data: e\n\n"]
    assert [decoder.feed_data(piece) for piece in pieces] == [[b"a"], [b"b"], [b"c"], [], [b"d\ne"]]
    assert decoder.feed_data(b"event: x\n") == []
    assert decoder.feed_data(b"data: f\n\n") == [b"f"]
    assert decoder.feed_data(b"data: \xff\n\n") == [b"\xff"]


@given(st.data(), st.lists(payload_text, max_size=6))
@pytest.mark.spec("02-137", "02-138")
def test_every_way_of_writing_payloads_is_read_back(data, texts):
    stream = data.draw(sse_streams(texts))
    assert payloads(*stream.pieces) == list(stream.payloads)


@pytest.mark.spec("02-138")
@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
def test_every_line_end_counts(end):
    assert payloads(end.join([b"data: a", b"", b"data: b", b"", b""])) == ["a", "b"]


def test_a_cr_at_the_end_of_a_read_dispatches_at_once_and_its_lf_is_no_line():
    decoder = SseDecoder()
    assert decoder.feed(b"data: a\r\n\r") == [SseEvent("a")]
    assert decoder.feed(b"") == []
    assert decoder.feed(b"\ndata: b\n\n") == [SseEvent("b")]


@pytest.mark.spec("02-139")
def test_data_lines_of_one_event_are_joined_by_newlines():
    assert payloads(b'data: {"a":\ndata: 1\ndata:}\n\n') == ['{"a":\n1\n}']


@pytest.mark.spec("02-140")
@pytest.mark.parametrize("cut", [0, 1, 2, 3, 4])
def test_a_byte_order_mark_is_dropped_once(cut):
    stream = b"\xef\xbb\xbfdata: a\n\n\xef\xbb\xbfdata: b\n\ndata: c\n\n"
    assert payloads(stream[:cut], stream[cut:]) == ["a", "c"]


def test_a_piece_of_a_byte_order_mark_is_not_lost():
    assert payloads(b"\xef\xbb", b"data: a\n\ndata: b\n\n") == ["b"]
    decoder = SseDecoder()
    decoder.feed(b"\xef")
    assert decoder.has_partial


@pytest.mark.spec("02-143")
def test_comments_other_fields_and_empty_data_dispatch_nothing():
    decoder = SseDecoder()
    stream = b": one\n:\n\nid: 1\n\n\nretry: 250\nretry: x\nwhat: ever\n\ndata:\n\ndata\n\n"
    assert decoder.feed(stream) == []
    assert (decoder.comments, decoder.retry_ms, decoder.has_partial) == (2, 250, False)


def test_one_leading_space_is_removed_and_no_more():
    assert payloads(b"data:x\n\ndata: x\n\ndata:  x\n\n") == ["x", "x", " x"]


def test_event_type_holds_for_one_event_and_id_until_the_next_id():
    stream = b"event: ping\nid: 1\ndata: a\n\ndata: b\n\nid: x\0y\ndata: c\n\nid\ndata: d\n\n"
    assert decoded([stream])[0] == [
        SseEvent("a", "ping", "1"),
        SseEvent("b", "message", "1"),
        SseEvent("c", "message", "1"),
        SseEvent("d", "message", ""),
    ]


@pytest.mark.parametrize("cut", range(12))
def test_bytes_that_are_no_utf8_become_replacement_characters(cut):
    stream = b"data: \xff\xe2\x82\xac\xe2\n\n"
    assert payloads(stream[:cut], stream[cut:]) == ["\ufffd€\ufffd"]


def test_separators_of_text_do_not_end_a_line():
    assert payloads("data: a\u2028b\u2029c\x85d\x0be\x1cf\n\n".encode()) == [
        "a\u2028b\u2029c\x85d\x0be\x1cf"
    ]


def test_an_event_that_the_end_cuts_is_seen_as_partial():
    for stream in (b"data: [DONE]", b"data: [DONE]\n", b"x"):
        events, seen, _ = decoded([stream])
        assert (events, seen) == ([], (0, None, True))


def test_events_before_the_refused_one_are_handed_out_and_the_refusal_is_final():
    decoder = SseDecoder(max_bytes=10)
    assert decoder.feed(b"data: a\n\ndata: 12345678901\n\ndata: c\n\n") == [SseEvent("a")]
    for _ in range(2):
        with pytest.raises(SseEventTooLargeError, match="larger than 10 bytes"):
            decoder.feed(b"\n")


def test_many_small_data_lines_cannot_add_up_without_limit():
    decoder = SseDecoder(max_bytes=100)
    with pytest.raises(SseEventTooLargeError):
        deque((decoder.feed(b"data: 12345\n") for _ in range(1_000)), maxlen=1)


def test_comments_without_a_blank_line_can_go_on_for_ever():
    decoder = SseDecoder(max_bytes=100)
    for _ in range(1_000):
        assert decoder.feed(b": keep-alive\n") == []
    assert decoder.comments == 1_000
    assert decoder.feed(b"data: x\n\n") == [SseEvent("x")]


@pytest.mark.parametrize("piece", [b"x" * 4096, b"data: " + b"y" * 4090 + b"\n"])
def test_an_event_without_end_takes_bounded_memory(piece):
    decoder = SseDecoder(max_bytes=1_000_000)
    tracemalloc.start()
    try:
        with pytest.raises(SseEventTooLargeError):
            deque((decoder.feed(bytes(piece)) for _ in count()), maxlen=1)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 2_500_000


def test_a_large_event_in_single_bytes_is_put_together_once():
    decoder = SseDecoder()
    text = "x" * 200_000
    data = b"data: " + text.encode() + b"\n"
    for index in range(len(data)):
        assert decoder.feed(data[index : index + 1]) == []
    assert decoder.feed(b"\n") == [SseEvent(text)]
