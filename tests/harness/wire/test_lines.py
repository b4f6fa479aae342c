"""Byte-exact line framing: the same lines for any slicing, bounded memory, linear work."""

import tracemalloc
from collections import deque
from itertools import count

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.testing.strategies import slicings
from harness.wire import LineFramer, LineTooLongError

byte_soup = st.lists(
    st.sampled_from([b"\n", b"\r", b"\n\n", b"a", b"\xe2\x80\xa8", b"\0", b"\xff", b"long" * 5]),
    max_size=30,
).map(b"".join)


def lines_of(pieces, max_bytes):
    """Return all lines, the unfinished last one, and whether the framer refused."""
    framer = LineFramer(max_bytes)
    lines = []
    try:
        for piece in pieces:
            lines += framer.feed(piece)
        return lines, framer.finish(), False
    except LineTooLongError:
        return lines, None, True


@given(st.data(), byte_soup, st.integers(1, 40))
def test_any_slicing_gives_the_same_lines_and_the_same_refusal(data, stream, max_bytes):
    pieces = data.draw(slicings(stream))
    assert lines_of(pieces, max_bytes) == lines_of([stream], max_bytes)
    *whole, tail = stream.split(b"\n")
    lines, last, refused = lines_of(pieces, max_bytes)
    if refused:
        assert lines == whole[: len(lines)]
        assert len([*whole, tail][len(lines)]) > max_bytes
    else:
        assert (lines, last or b"") == (whole, tail)


def test_only_a_newline_ends_a_line():
    framer = LineFramer(100)
    assert framer.feed("a\r\nb\u2028\x0b\x0c\x85c\nd".encode()) == [
        b"a\r",
        "b\u2028\x0b\x0c\x85c".encode(),
    ]
    assert framer.pending_bytes == 1
    assert framer.finish() == b"d"
    assert framer.finish() is None


def test_a_line_at_the_limit_passes_and_one_byte_more_does_not():
    assert LineFramer(4).feed(b"1234\n") == [b"1234"]
    with pytest.raises(LineTooLongError, match="line 1 is longer than 4 bytes"):
        LineFramer(4).feed(b"12345\n")


def test_lines_before_the_refused_one_are_handed_out_and_the_refusal_is_final():
    framer = LineFramer(4)
    assert framer.feed(b"one\ntwo\n12345\nsix\n") == [b"one", b"two"]
    for _ in range(2):
        with pytest.raises(LineTooLongError, match="line 3"):
            framer.feed(b"x\n")
    with pytest.raises(LineTooLongError):
        framer.finish()


def test_a_limit_below_one_byte_is_refused():
    with pytest.raises(ValueError, match="positive"):
        LineFramer(0)


def test_a_line_without_end_takes_bounded_memory():
    framer = LineFramer(1_000_000)
    piece = b"x" * 4096
    tracemalloc.start()
    try:
        with pytest.raises(LineTooLongError):
            deque((framer.feed(bytes(piece)) for _ in count()), maxlen=1)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 2_000_000
    assert framer.pending_bytes == 0


def test_a_large_line_in_single_bytes_is_put_together_once():
    framer = LineFramer(300_000)
    line = b"x" * 200_000
    for index in range(len(line)):
        assert framer.feed(line[index : index + 1]) == []
    assert framer.feed(b"\n") == [line]
