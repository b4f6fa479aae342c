"""Decoding, encoding and display rules shared by all backends."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.fs import (
    FsArgumentError,
    FsError,
    TextDecoder,
    decode_text,
    encode_text,
    printable,
    refuse_binary,
)


@given(st.text(alphabet=st.characters(codec="utf-8", exclude_characters="\0")), st.data())
def test_any_slicing_decodes_to_the_same_text(text: str, data: st.DataObject) -> None:
    encoded = text.encode()
    cuts = sorted(data.draw(st.lists(st.integers(min(3, len(encoded)), len(encoded)), max_size=5)))
    decoder = TextDecoder("f")
    pieces = [
        encoded[start:stop] for start, stop in zip([0, *cuts], [*cuts, len(encoded)], strict=True)
    ]
    decoded = [decoder.decode(piece, final=False) for piece in pieces]
    decoded.append(decoder.decode(b"", final=True))
    assert "".join(decoded) == text.removeprefix("\ufeff")
    assert decoder.has_bom == text.startswith("\ufeff")


@given(st.binary(max_size=40), st.integers(0, 40))
def test_bad_bytes_are_reported_at_their_place(data: bytes, cut: int) -> None:
    decoder = TextDecoder("f")
    cut = max(cut, 3)
    if b"\0" in data:
        return
    try:
        data.removeprefix(b"\xef\xbb\xbf").decode()
    except UnicodeDecodeError as exc:
        at = exc.start + (3 if data.startswith(b"\xef\xbb\xbf") else 0)
        with pytest.raises(FsError, match=f"byte {at}\\)"):
            _ = decoder.decode(data[:cut], final=False) + decoder.decode(data[cut:], final=True)
    else:
        _ = decoder.decode(data[:cut], final=False) + decoder.decode(data[cut:], final=True)


def test_binary_and_utf16_are_told_apart() -> None:
    with pytest.raises(FsError, match="binary"):
        refuse_binary(b"a\0", "f")
    with pytest.raises(FsError, match="UTF-16"):
        decode_text("ab".encode("utf-16"), "f")


@pytest.mark.spec("07-203")
def test_surrogates_cannot_be_encoded_and_marks_are_not_doubled() -> None:
    with pytest.raises(FsArgumentError, match="character 1"):
        encode_text("a\udfff")
    assert encode_text("\ufeffa", with_bom=True) == encode_text("a", with_bom=True)
    assert encode_text("a") == b"a"


@pytest.mark.spec("07-164")
def test_names_are_printed_without_control_characters() -> None:
    assert printable("/a/ž 🐎") == "/a/ž 🐎"
    assert printable("a\nb\x1b[0m") == r"a\nb\x1b[0m"
    assert printable("\u202egnp.exe") == r"\u202egnp.exe"
    assert printable(b"caf\xe9".decode("utf-8", "surrogateescape")) == r"caf\xe9"
    assert printable("\ud800") == r"\ud800"
