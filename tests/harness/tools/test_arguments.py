"""The arguments text of a model: what it becomes, and why it does not."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.tools import MAX_ARGUMENTS_CHARS, explain_arguments, parse_arguments
from harness.wire import FrozenDict


@pytest.mark.spec("03-174")
@pytest.mark.parametrize("text", ["", " \n\t"])
def test_no_text_means_no_arguments(text: str) -> None:
    assert parse_arguments(text) == {}
    assert explain_arguments(text) == ""


def test_an_object_is_parsed_and_frozen_and_the_last_duplicate_wins() -> None:
    value = parse_arguments('{"a": 1, "b": [{"c": "ü"}], "a": 2}')
    assert value == {"a": 2, "b": ({"c": "ü"},)}
    assert isinstance(value, FrozenDict)
    assert list(value) == ["a", "b"]


@pytest.mark.spec("03-139")
@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("{bad", "not valid JSON"),
        ('{"a": 1', "not valid JSON"),
        ("{} {}", "not valid JSON"),
        ('{"a": NaN}', "not valid JSON"),
        ('{"a": 1e999}', "not valid JSON"),
        ("[1]", "no object"),
        ('"text"', "no object"),
        ("null", "no object"),
        ('{"a": 9007199254740993}', "a is an integer beyond"),
        ('{"a": 1' + "0" * 5_000 + "}", "not valid JSON"),
        ('{"a": "\\ud800"}', "unpaired surrogate"),
        ('{"a": "\ud800"}', "unpaired surrogate"),
        ('{"a": -0.0}', "-0.0"),
    ],
)
def test_anything_else_stays_text_and_can_be_explained(text: str, why: str) -> None:
    assert parse_arguments(text) is text
    assert why in explain_arguments(text)


def test_escaped_surrogate_pairs_are_whole_characters() -> None:
    assert parse_arguments('{"a": "\\ud83d\\ude00"}') == {"a": "\U0001f600"}


def test_deep_and_large_texts_neither_crash_nor_pass_unbounded() -> None:
    deep = '{"a":' + "[" * 100_000 + "]" * 100_000 + "}"
    assert isinstance(parse_arguments(deep), FrozenDict)
    broken = '{"a":' + "[" * 100_000
    assert parse_arguments(broken) is broken
    large = '{"a": "' + "x" * 1_000_000 + '"}'
    assert isinstance(parse_arguments(large), FrozenDict)
    huge = " " * (MAX_ARGUMENTS_CHARS + 1) + "x"
    assert parse_arguments(huge) is huge
    assert f"at most {MAX_ARGUMENTS_CHARS}" in explain_arguments(huge)


@given(st.text(alphabet='{}[]",:ab\\u0dtruefals19.eE- \ud800', max_size=40))
def test_every_text_is_either_an_object_or_itself(text: str) -> None:
    value = parse_arguments(text)
    assert isinstance(value, FrozenDict) or (value is text and explain_arguments(text))
