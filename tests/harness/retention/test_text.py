"""Bounded text: any chunking gives the same result, and every missing byte is counted."""

import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.retention import Exact, InvalidBudgetError, Nothing, TextRetainer
from harness.testing.strategies import slicings

modes = st.sampled_from(["head", "tail", "headTail"])
streams = st.binary(max_size=40) | st.text(st.sampled_from("aé€😀"), max_size=20).map(str.encode)


def retained(pieces, mode, budget, head_bytes=None):
    retainer = TextRetainer(mode, budget, head_bytes=head_bytes)
    for piece in pieces:
        retainer.feed(piece)
    return retainer.result()


@given(st.data(), streams, modes, st.integers(0, 30), st.integers(0, 30) | st.none())
@pytest.mark.spec("07-12")
def test_any_chunking_of_any_bytes_gives_the_same_result(data, stream, mode, budget, head):
    head = None if head is None or mode != "headTail" else min(head, budget)
    pieces = data.draw(slicings(stream))
    single = [stream[index : index + 1] for index in range(len(stream))]
    whole = retained([stream], mode, budget, head)
    assert retained(pieces, mode, budget, head) == whole == retained(single, mode, budget, head)


@given(st.text(st.sampled_from("aé€😀"), max_size=20), modes, st.integers(0, 30))
@pytest.mark.spec("07-14")
def test_what_is_kept_and_what_is_counted_add_up(text, mode, budget):
    data = text.encode()
    result = retained([data], mode, budget)
    kept = len(result.text.encode())
    missing = result.omitted.count if isinstance(result.omitted, Exact) else 0
    assert kept + missing == len(data) == result.total_bytes
    assert kept <= budget
    assert "\ufffd" not in result.text
    assert text.startswith(result.head)
    assert text.endswith(result.tail)
    assert result.truncated is (len(data) > budget)


@given(streams, modes)
@pytest.mark.spec("07-13")
def test_a_stream_at_its_budget_is_whole(stream, mode):
    result = retained([stream], mode, len(stream))
    assert result.text == stream.decode("utf-8", "replace") == result.render()
    assert (result.omitted, result.truncated) == (Nothing(), False)


@pytest.mark.spec("07-14")
@pytest.mark.parametrize(("mode", "kept"), [("head", "ab"), ("tail", "cd"), ("headTail", "abcd")])
def test_an_emoji_on_the_cut_is_left_out_and_counted(mode, kept):
    result = retained(["ab😀😀cd".encode()], mode, 4 if mode != "headTail" else 8)
    assert result.text == kept
    assert result.omitted == Exact(12 - len(kept))


@pytest.mark.spec("07-15")
def test_a_budget_of_nothing_keeps_nothing_and_counts_all():
    for mode in ("head", "tail", "headTail"):
        result = retained([b"abc", b"de"], mode, 0)
        assert (result.text, result.omitted) == ("", Exact(5))
        assert result.render() == "[5 bytes omitted]"


@pytest.mark.spec("07-15")
@pytest.mark.parametrize("budget", [-1, 1.5, True, "1", None])
def test_a_budget_that_is_no_count_is_refused(budget):
    with pytest.raises(InvalidBudgetError, match="max_bytes must be a non-negative integer"):
        TextRetainer("tail", budget)


def test_the_head_share_has_its_own_limit():
    assert retained([b"abcdefgh"], "headTail", 4, 3).render() == "abc\n[4 bytes omitted]\nh"
    assert retained([b"abcdefgh"], "headTail", 4).head == "ab"
    with pytest.raises(InvalidBudgetError, match="head_bytes must be at most max_bytes"):
        TextRetainer("headTail", 4, head_bytes=5)
    with pytest.raises(InvalidBudgetError, match="head_bytes"):
        TextRetainer("headTail", 4, head_bytes=-1)


def test_a_result_can_be_asked_for_while_more_comes():
    retainer = TextRetainer("tail", 3)
    retainer.feed(b"ab")
    assert retainer.result().text == "ab"
    retainer.feed(b"")
    retainer.feed(b"cd")
    assert retainer.result().text == "bcd"
    assert retainer.overflowed


@given(st.data(), streams, modes, st.integers(0, 30))
def test_the_spill_gets_every_byte_once_or_nothing_at_all(data, stream, mode, budget):
    spilled = []
    retainer = TextRetainer(mode, budget, spill=spilled.append)
    for piece in data.draw(slicings(stream)):
        retainer.feed(piece)
    assert b"".join(spilled) == (stream if len(stream) > budget else b"")


@pytest.mark.spec("07-16")
@pytest.mark.parametrize("mode", ["head", "tail", "headTail"])
def test_a_gibibyte_takes_no_more_memory_than_the_budget(mode):
    retainer = TextRetainer(mode, 64 * 1024)
    chunk = b"x" * (64 * 1024)
    retainer.feed(chunk)
    tracemalloc.start()
    try:
        for _ in range(16 * 1024):
            retainer.feed(chunk)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 1024 * 1024
    assert retainer.total_bytes == 1024 * 1024 * 1024 + 64 * 1024


def test_many_small_pieces_take_no_more_memory_than_the_budget():
    retainer = TextRetainer("tail", 64 * 1024)
    tracemalloc.start()
    try:
        for _ in range(200_000):
            retainer.feed(b"ab")
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 256 * 1024
