"""Text that can be encoded: surrogates, NUL, cut characters, byte budgets."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.testing.strategies import slicings
from harness.wire import (
    SurrogateJoiner,
    UnencodableTextError,
    Utf8Decoder,
    has_lone_surrogate,
    replace_surrogates,
    require_encodable,
    sanitize_text,
    truncate_utf8,
    truncate_utf8_tail,
    utf8_head,
    utf8_tail,
)

pieces_with_halves = st.text(
    st.sampled_from("aé€😀\0") | st.characters(categories=("Cs",)), max_size=20
)


def units_of(text):
    """Split astral characters into the surrogates that some peers send."""
    data = text.encode("utf-16-be", "surrogatepass")
    pairs = zip(data[::2], data[1::2], strict=True)
    return "".join(chr(high << 8 | low) for high, low in pairs)


def healed(text):
    """Join pairs and replace the rest, one code unit at a time."""
    out, index = "", 0
    while index < len(text):
        here, after = text[index], text[index + 1 : index + 2]
        if "\ud800" <= here <= "\udbff" and "\udc00" <= after <= "\udfff":
            out += chr(0x10000 + ((ord(here) - 0xD800) << 10) + ord(after) - 0xDC00)
            index += 2
            continue
        out += "\ufffd" if "\ud800" <= here <= "\udfff" else here
        index += 1
    return out


@given(pieces_with_halves)
def test_pairs_are_joined_and_lone_surrogates_replaced(text):
    assert replace_surrogates(text) == healed(text)
    assert not has_lone_surrogate(replace_surrogates(text))
    assert "\0" not in sanitize_text(text)
    assert sanitize_text(text) == healed(text).replace("\0", "\ufffd")


@given(st.data(), pieces_with_halves)
def test_a_character_cut_over_two_deltas_is_joined_again(data, text):
    units = units_of(text)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(units)), max_size=6)))
    joiner = SurrogateJoiner()
    out = [joiner.feed(units[a:b]) for a, b in zip([0, *cuts], [*cuts, len(units)], strict=True)]
    assert not any(map(has_lone_surrogate, out))
    assert "".join(out) + joiner.finish() == replace_surrogates(units)
    assert joiner.finish() == ""


def test_text_without_an_utf8_form_is_refused_by_name():
    assert require_encodable("é😀", "content") == "é😀"
    with pytest.raises(UnencodableTextError, match=r"content holds .*U\+D83D.* character 1") as hit:
        require_encodable("a\ud83d", "content")
    assert isinstance(hit.value, ValueError)


@given(st.data(), st.binary(max_size=30) | st.text(max_size=20).map(str.encode))
def test_any_slicing_of_utf8_gives_the_same_text(data, stream):
    decoder = Utf8Decoder()
    text = "".join(map(decoder.feed, data.draw(slicings(stream)))) + decoder.finish()
    assert text == stream.decode("utf-8", "replace")


@given(st.text(max_size=30), st.integers(-2, 60))
@pytest.mark.spec("07-14")
def test_truncation_never_splits_a_character_and_never_wastes_room_for_one(text, budget):
    data = text.encode()
    for keep, cut in ((truncate_utf8, utf8_head), (truncate_utf8_tail, utf8_tail)):
        kept = keep(text, budget)
        assert cut(data, budget) == kept.encode()
        assert text.startswith(kept) if keep is truncate_utf8 else text.endswith(kept)
        assert len(kept.encode()) <= max(0, budget)
        if kept != text:
            missing = text[len(kept)] if keep is truncate_utf8 else text[-len(kept) - 1]
            assert len(kept.encode()) + len(missing.encode()) > budget


@given(st.binary(max_size=30), st.integers(0, 40))
def test_cutting_any_bytes_loses_at_most_three_more_than_the_budget_says(data, budget):
    head, tail = utf8_head(data, budget), utf8_tail(data, budget)
    assert data.startswith(head)
    assert data.endswith(tail)
    for kept in (head, tail):
        assert min(len(data), budget) - 3 <= len(kept) <= budget


def test_lone_surrogates_survive_truncation():
    assert truncate_utf8("\ud800\ud800", 5) == "\ud800"
    assert truncate_utf8_tail("\ud800a\ud800", 4) == "a\ud800"
