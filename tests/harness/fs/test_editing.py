"""Literal edits on text, whatever its line ends."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.fs import FsArgumentError, FsError, TextEdit, apply_edit

TEXTS = st.text(alphabet="ab\r\n", max_size=24)


def edited(
    text: str, old: str, new: str, *, replace_all: bool = True, max_chars: int | None = None
):
    edit = TextEdit(old=old, new=new, replace_all=replace_all)
    return apply_edit(text, edit, display_path="f", max_chars=max_chars)


@given(TEXTS, st.text(alphabet="ab\r\n", min_size=1, max_size=4), TEXTS)
@pytest.mark.spec("07-178", "07-179", "07-181")
def test_an_edit_equals_the_same_edit_on_lf_text_and_keeps_the_rest(
    text: str, old: str, new: str
) -> None:
    lf, lf_old = text.replace("\r\n", "\n"), old.replace("\r\n", "\n")
    lf_new = new.replace("\r\n", "\n")
    if lf_old not in lf:
        with pytest.raises(FsError) as refusal:
            edited(text, old, new)
        assert refusal.value.code == "FS_EDIT_NOT_FOUND"
        return
    result = edited(text, old, "<>")
    assert result.replacements == lf.count(lf_old)
    kept = result.text.split("<>")
    assert [part.replace("\r\n", "\n") for part in kept] == lf.split(lf_old)
    position = 0
    for part in kept:  # every kept part stands in the original, in order
        position = text.index(part, position) + len(part)
    n_crlf = text.count("\r\n")
    style = "\r\n" if n_crlf > text.count("\n") - n_crlf else "\n"
    assert edited(text, old, new).text == lf_new.replace("\n", style).join(kept)


@pytest.mark.parametrize(
    ("before", "style"),
    [
        ("", "\n"),
        ("a\r\nb\r\nc\n", "\r\n"),
        ("a\r\nb\n", "\n"),
        ("x" * 5000 + "\r\n", "\r\n"),
        ("x\n" + "y\r\n" * 3000, "\r\n"),
        ("x\n" * 2100 + "y\r\n" * 9000, "\n"),
    ],
)
@pytest.mark.spec("07-178", "07-179")
def test_inserted_lines_end_as_the_start_of_the_file_or_else_the_whole_does(
    before: str, style: str
) -> None:
    assert edited(before + "END", "END", "1\n2").text == f"{before}1{style}2"


def test_growth_is_bounded() -> None:
    with pytest.raises(FsError) as refusal:
        edited("a" * 1000, "a", "b" * 1000, max_chars=999_999)
    assert refusal.value.code == "FS_TOO_LARGE"
    assert len(edited("a" * 1000, "a", "b" * 1000, max_chars=1_000_000).text) == 1_000_000


def test_empty_old_text_is_an_argument_error() -> None:
    with pytest.raises(FsArgumentError):
        edited("a", "", "b")


@pytest.mark.spec("07-182")
def test_many_matches_list_only_the_first_lines() -> None:
    with pytest.raises(FsError) as refusal:
        edited("x\n" * 40, "x", "y", replace_all=False)
    assert "40 times" in str(refusal.value)
    assert "lines 1, 2, 3, 4, 5, 6, 7, 8, …" in str(refusal.value)


@pytest.mark.parametrize(
    ("text", "old", "says"),
    [
        ("", "a", "file is empty"),
        ("def f():\n    return 1\n", "1: def f():\n2:     return 1", "numbers that reading adds"),
        ("def f():\n    return 1\n", "def f():\n\treturn 1", "Lines 1-2 hold the same text"),
        ("a = 1\nb  =  2\n", "b = 2", "Line 2 holds the same text"),
        ("alpha beta\ngamma delta\n", "gamma delt_\n", "closest line is 2: 'gamma delta'"),
        ("alpha\n", "0123456789", "Read the file again"),
        ("alpha\n", "   ", "Read the file again"),
        ("ab" * 3_000_000, "c", "Read the file again"),
    ],
)
@pytest.mark.spec("07-184")
def test_a_failed_match_says_what_is_nearest(text: str, old: str, says: str) -> None:
    with pytest.raises(FsError) as refusal:
        edited(text, old, "new")
    assert refusal.value.code == "FS_EDIT_NOT_FOUND"
    assert says in str(refusal.value)


def test_hostile_texts_do_not_make_the_hint_expensive() -> None:
    with pytest.raises(FsError) as refusal:
        edited("a" * 1_000_000 + "\n" + "b\n" * 100_000, "ab" * 100_000, "x")
    assert len(str(refusal.value)) < 1000
    assert re.search("Read the file again", str(refusal.value))
