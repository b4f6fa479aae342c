"""JSON that does not change a value: what is refused, and what comes back equal."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.wire import (
    JsonDecodeError,
    JsonEncodeError,
    JsonFragment,
    dumps,
    dumps_request,
    dumps_text,
    loads,
)

texts = st.text(st.characters(exclude_categories=()), max_size=12)  # lone surrogates included
numbers = (
    st.integers()
    | st.sampled_from([2**63 - 1, 2**63, 2**64 - 1, 2**64, -(2**63), -(2**63) - 1, 10**40])
    | st.floats(allow_nan=False, allow_infinity=False).map(lambda x: x + 0.0)
)
values = st.recursive(
    st.none() | st.booleans() | numbers | texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=20,
)


def nested(depth, leaf):
    for level in range(depth):
        leaf = [leaf] if level % 2 else {"k": leaf}
    return leaf


def same(a, b):
    """Compare without recursion, types included: 1, 1.0 and True are three values."""
    pairs = [(a, b)]
    while pairs:
        a, b = pairs.pop()
        if type(a) is not type(b):
            return False
        if isinstance(a, dict):
            if list(a) != list(b):
                return False
            pairs += zip(a.values(), b.values(), strict=True)
        elif isinstance(a, list):
            if len(a) != len(b):
                return False
            pairs += zip(a, b, strict=True)
        elif a != b:
            return False
    return True


@given(values)
def test_what_is_written_reads_back_equal_and_is_json_for_everybody_else(value):
    data = dumps(value)
    assert same(loads(data), value)
    assert same(loads(data.decode()), value)
    assert same(json.loads(data), value)
    assert b"\n" not in data


@given(values)
def test_the_text_form_and_sorted_keys_hold_the_same_value(value):
    assert dumps_text(value) == dumps(value).decode()
    assert loads(dumps(value, sort_keys=True)) == value
    assert loads(dumps(value, pretty=True)) == value


@given(values)
def test_reading_from_any_buffer_is_the_same(value):
    data = dumps(value)
    assert same(loads(bytearray(data)), value)
    assert same(loads(memoryview(data)), value)


@pytest.mark.parametrize(
    ("value", "path"),
    [
        (float("nan"), "$"),
        ([1, float("inf")], "$[1]"),
        ({"a": [{"b": float("-inf")}]}, "$.a[0].b"),
        ({"a": -0.0}, "$.a"),
        ({"a": {1: 2}}, "$.a"),
        ({"a": b"x"}, "$.a"),
        ({"a": {1, 2}}, "$.a"),
        ([object()], "$[0]"),
        ({"\ud800": float("nan")}, "$.\ud800"),
    ],
)
def test_what_json_cannot_hold_is_refused_with_its_path(value, path):
    with pytest.raises(JsonEncodeError) as caught:
        dumps(value)
    assert caught.value.path == path
    assert isinstance(caught.value, ValueError)
    with pytest.raises(JsonEncodeError):
        dumps_request(value)


def test_a_cycle_is_refused_and_a_shared_part_is_not():
    shared = ["\ud800"]
    assert loads(dumps([shared, shared])) == [shared, shared]
    cycle: dict[str, object] = {}
    cycle["deep"] = [cycle]
    with pytest.raises(JsonEncodeError, match="contains itself"):
        dumps(cycle)


def test_a_deep_offender_has_a_path_of_bounded_length():
    with pytest.raises(JsonEncodeError) as caught:
        dumps(nested(5_000, float("nan")))
    assert len(caught.value.path) < 300
    assert caught.value.path.endswith("…")


@pytest.mark.parametrize("depth", [253, 254, 255, 1_023, 1_025, 100_000])
def test_any_depth_is_written_and_read(depth):
    value = nested(depth, {"leaf": ["x", {}, [], None]})
    assert same(loads(dumps(value)), value)
    assert same(loads(dumps_request(value)), value)


@pytest.mark.parametrize(
    "number",
    [2**53, 2**63, 2**64 - 1, 2**64, -(2**63), -(2**63) - 1, 10**25, 1_700_000_000_000_000_000],
)
def test_integers_are_exact_at_any_size(number):
    assert loads(str(number)) == number
    assert loads(dumps({"n": number})) == {"n": number}
    assert type(loads(str(number))) is int


@given(
    st.text("x1", max_size=40), st.integers(2**64, 10**21) | st.integers(-(10**20), -(2**63) - 1)
)
def test_a_long_integer_is_found_wherever_it_stands(before, number):
    text = dumps_text([before, 17, number, before])
    for data in (text, text.encode(), bytearray(text.encode()), memoryview(text.encode())):
        assert loads(data) == [before, 17, number, before]


def test_a_long_run_of_digits_in_a_string_or_a_float_is_no_integer():
    assert loads('["12345678901234567890123"]') == ["12345678901234567890123"]
    assert loads("0.12345678901234567890123") == 0.12345678901234567890123
    assert loads("-0.1234567890123456789e-5") == -0.1234567890123456789e-5
    assert loads("[12345678901234567890123e2]") == [12345678901234567890123e2]


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "nul",
        "NaN",
        "-Infinity",
        "1e400",
        "[1e400,12345678901234567890]",
        "-1e400",
        "01",
        "1.",
        "-",
        "+1",
        "[1,]",
        "[1 2]",
        '{"a" 1}',
        '{"a":1,}',
        "{1:2}",
        '{"a":1 "b":2}',
        '"a',
        '"\\x"',
        '"\\ud800" x',
        '["\\ud800", tru]',
        '"a\nb"',
        "[" * 2_000,
        "{} {}",
        "\ufeff1",
        "9" * 5_000,
    ],
)
def test_what_is_no_json_is_refused(text):
    with pytest.raises(JsonDecodeError) as caught:
        loads(text)
    assert isinstance(caught.value, ValueError)
    assert len(str(caught.value)) < 300
    with pytest.raises(JsonDecodeError):
        loads(text.encode())


def test_bytes_that_are_no_utf8_are_refused_with_their_place():
    with pytest.raises(JsonDecodeError, match="0xff at offset 2") as caught:
        loads(b'["\xff"]')
    assert caught.value.position == 2


@pytest.mark.parametrize("text", ['{"a":1,"a":2}', '{"a":1,"b":"\\ud800","a":2}'])
def test_of_equal_names_the_last_wins_in_both_decoders(text):
    assert loads(text)["a"] == 2


def test_lone_surrogates_are_written_as_escapes_in_ascii():
    value = {"k\ud83d": ["é", "\ude00"]}
    data = dumps(value)
    assert data.isascii()
    assert loads(data) == value
    assert "é".encode() in dumps({"k": "é"})


def test_a_request_never_holds_a_lone_surrogate():
    value = {"k\ud83d\ude00": ["\ud83d", "a\ude00b", "é"]}
    assert loads(dumps_request(value)) == {"k😀": ["\ufffd", "a\ufffdb", "é"]}


def test_a_request_refuses_integers_that_its_receiver_would_round():
    assert dumps_request({"n": 2**64 - 1}) == b'{"n":18446744073709551615}'
    assert dumps_request(["\ud800", 2**64 - 1, True, None, 1.5]).endswith(b",true,null,1.5]")
    for number in (2**64, -(2**63) - 1):
        with pytest.raises(JsonEncodeError, match="64 bits"):
            dumps_request({"n": number})


@pytest.mark.parametrize("rest", ["x", None, "\ud800", 1.5])
def test_a_fragment_is_spliced_in_as_it_is(rest):
    value = [JsonFragment(b'{"a" : [null]}'), rest]
    assert dumps(value).startswith(b'[{"a" : [null]},')
    assert loads(dumps(value)) == [{"a": [None]}, rest]
    assert b'{"a" : [null]}' in dumps_request(value)


class Box:
    def __init__(self, inside):
        self.inside = inside


@pytest.mark.parametrize("rest", ["x", None, "\ud800", JsonFragment(b"1")])
def test_default_converts_foreign_objects_in_both_encoders(rest):
    data = dumps([Box({"b": Box(1)}), rest], default=lambda box: box.inside)
    assert loads(data)[0] == {"b": 1}


def test_default_cannot_hide_a_nan_or_swallow_its_own_failure():
    with pytest.raises(JsonEncodeError) as caught:
        dumps([None, Box(float("nan"))], default=lambda box: box.inside)
    assert caught.value.path == "$[1]"

    def refuse(value):
        raise LookupError(type(value).__name__)

    with pytest.raises(LookupError, match="Box"):
        dumps([Box(1)], default=refuse)


def test_sorted_keys_are_sorted_in_the_exact_encoder_too():
    assert dumps({"b": "\ud800", "a": 1}, sort_keys=True) == b'{"a":1,"b":"\\ud800"}'
    with pytest.raises(JsonEncodeError, match="no string"):
        dumps({"b": "\ud800", 1: 2}, sort_keys=True)


def test_subclasses_of_text_are_values_and_keys():
    class Name(str):
        __slots__ = ()

    assert loads(dumps({Name("a"): Name("b")})) == {"a": "b"}
