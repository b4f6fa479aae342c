"""The generated event streams are what their encoder says."""

from hypothesis import given
from hypothesis import strategies as st

from harness.testing import text_reply
from harness.testing.strategies import sliced_replies, slicings, sse_streams


@given(st.data(), st.binary(max_size=20))
def test_a_slicing_joined_is_the_bytes(data, stream):
    assert b"".join(data.draw(slicings(stream))) == stream


@given(st.data(), st.lists(st.sampled_from(["a", "b\nc", "{}"]), max_size=4))
def test_every_payload_stands_in_the_bytes(data, payloads):
    stream = data.draw(sse_streams(payloads))
    whole = b"".join(stream.pieces)
    assert all(line.encode() in whole for payload in payloads for line in payload.split("\n"))
    assert stream.payloads == tuple(payloads)


@given(st.data())
def test_a_sliced_reply_has_the_same_body(data):
    reply = text_reply("hello")
    assert data.draw(sliced_replies(reply)).body == reply.body
