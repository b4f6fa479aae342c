"""Values against schemas: messages, order, hostile input."""

import math
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from harness.tools import assert_supported_json_schema, validate_json_schema_value

PERSON = {
    "type": "object",
    "properties": {
        "name": {"type": "string"},
        "home": {
            "type": "object",
            "properties": {"city": {"type": "string"}, "zip": {"type": "integer"}},
            "required": ["city"],
            "additionalProperties": False,
        },
        "items": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"name": {"type": "string"}},
                "required": ["name"],
            },
        },
    },
    "required": ["name"],
}


def check(schema: dict[str, Any], value: Any) -> list[str]:
    assert_supported_json_schema(schema)
    return validate_json_schema_value(schema, value, "x")


@pytest.mark.spec("03-135")
@pytest.mark.parametrize(
    ("kind", "value", "message"),
    [
        ("string", 1, "must be a string"),
        ("number", "1", "must be a number"),
        ("number", True, "must be a number"),
        ("integer", False, "must be an integer"),
        ("integer", 3.5, "must be an integer"),
        ("integer", None, "must be an integer"),
        ("boolean", 0, "must be a boolean"),
        ("null", "", "must be null"),
        ("object", [], "must be an object"),
        ("array", {}, "must be an array"),
        ("number", math.nan, "must be a finite JSON number"),
        ("integer", math.inf, "must be a finite JSON number"),
        ("number", -0.0, "must be a finite JSON number"),
        ("integer", -math.inf, "must be a finite JSON number"),
    ],
)
def test_a_value_of_another_type_is_named(kind: str, value: object, message: str) -> None:
    assert check({"type": kind}, value) == [f'"x" {message}']


@pytest.mark.spec("03-135")
@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("integer", 3.0),
        ("integer", -3),
        ("number", 1),
        ("number", 1.5),
        ("string", ""),
        ("boolean", False),
        ("null", None),
        ("object", {}),
        ("array", ()),
    ],
)
def test_a_value_of_the_type_fits(kind: str, value: object) -> None:
    assert check({"type": kind}, value) == []


@pytest.mark.spec("03-136")
def test_choices_are_listed_as_json() -> None:
    assert check({"type": "string", "enum": ["a", 'b"']}, "c") == [
        '"x" must be one of ["a","b\\""]'
    ]
    assert check({"type": "integer", "const": 3}, 4) == ['"x" must be 3']
    assert check({"type": "integer", "const": 3}, 3.0) == []
    assert check({"type": "number", "enum": [1, 2]}, 2.0) == []
    assert check({"type": "boolean", "const": True}, False) == ['"x" must be true']
    assert check({"type": "null", "const": None}, None) == []
    long = check({"type": "string", "enum": ["v" * 400] * 9}, "c")[0]
    assert len(long) < 1_100
    assert long.endswith("…")


@pytest.mark.spec("03-134", "03-140")
def test_violations_come_missing_first_then_in_schema_order_with_their_paths() -> None:
    value = {
        "items": [{"name": "ok"}, {}, 5],
        "home": {"zip": "x", "planet": 1},
        "extra": "kept",
    }
    assert validate_json_schema_value(PERSON, value, "") == [
        'missing required property "name"',
        'missing required property "home.city"',
        '"home.zip" must be an integer',
        '"home.planet" is not a declared property',
        'missing required property "items[1].name"',
        '"items[2]" must be an object',
    ]
    assert validate_json_schema_value(PERSON, value)[0] == 'missing required property "value.name"'
    assert validate_json_schema_value(PERSON, 5, "") == ['"arguments" must be an object']


@pytest.mark.spec("03-137")
def test_undeclared_keys_are_refused_in_closed_objects_and_must_be_json_in_open_ones() -> None:
    closed = {"type": "object", "properties": {"a": {}}, "additionalProperties": False}
    assert check(closed, {"a": 1, "b": 2}) == ['"x.b" is not a declared property']
    open_object = {"type": "object"}
    assert check(open_object, {"b": [1, {"c": None}]}) == []
    assert check(open_object, {"b": {1}}) == ['"x.b" must be a lossless JSON value']
    assert check(open_object, {7: 1}) == ['"x.<int>" must be a lossless JSON value']
    assert check(closed, {"k" * 500: 1})[0].count("k") == 80


@pytest.mark.spec("03-138")
def test_exactly_one_branch_must_match() -> None:
    schema: dict[str, Any] = {"oneOf": [{"type": "number"}, {"type": "integer"}, {"type": "null"}]}
    assert check(schema, None) == []
    assert check(schema, 1.5) == []
    assert check(schema, 1) == ['"x" must match exactly one oneOf branch (matched 2)']
    (message,) = check(schema, "1")
    assert message.startswith('"x" must match exactly one oneOf branch (matched 0): ')
    assert message.endswith('"x" must be a number or "x" must be an integer or "x" must be null')


def test_a_schema_without_a_type_takes_any_json() -> None:
    assert check({}, {"a": [1, None]}) == []
    assert check({}, math.nan) == ['"x" must be a lossless JSON value']
    assert check({"type": "array"}, [1, "a"]) == []
    assert check({"type": "array"}, [object()]) == ['"x" must be a lossless JSON value']


class Hostile:
    """A value whose every operation raises."""

    def _refuse(self, *_args: object) -> Any:
        raise RuntimeError("do not touch")

    __eq__ = __hash__ = __bool__ = __len__ = __iter__ = __str__ = __repr__ = __getitem__ = _refuse


class HostileDict(dict[str, Any]):
    """A dictionary that lies about itself."""

    def __contains__(self, key: object) -> bool:
        raise RuntimeError("do not touch")

    def items(self) -> Any:
        raise RuntimeError("do not touch")


def ring() -> list[Any]:
    value: list[Any] = []
    value.append(value)
    return value


def tower() -> list[Any]:
    value: list[Any] = []
    for _ in range(100_000):
        value = [value]
    return value


@pytest.mark.parametrize("make", [Hostile, HostileDict, ring, tower, lambda: {Hostile: 1}])
@pytest.mark.parametrize(
    "schema",
    [
        {},
        PERSON,
        {"type": "string", "enum": ["a"]},
        {"type": "array"},
        {"type": "array", "items": {"type": "string"}},
        {"type": "object", "additionalProperties": False},
        {"oneOf": [{"type": "string"}, {"type": "array"}]},
    ],
)
def test_the_check_answers_whatever_the_value_is(
    make: Callable[[], Any], schema: dict[str, Any]
) -> None:
    assert isinstance(validate_json_schema_value(schema, make()), list)


schemas = st.recursive(
    st.one_of(
        st.builds(lambda kind: {"type": kind}, st.sampled_from(["string", "integer", "null"])),
        st.builds(
            lambda values: {"type": "string", "enum": values},
            st.lists(st.text(max_size=3), min_size=1, max_size=3),
        ),
        st.just({}),
    ),
    lambda inner: st.one_of(
        st.builds(lambda items: {"type": "array", "items": items}, inner),
        st.builds(
            lambda properties, is_open: {
                "type": "object",
                "properties": properties,
                "required": sorted(properties)[:1],
                "additionalProperties": is_open,
            },
            st.dictionaries(st.text(max_size=3), inner, max_size=3),
            st.booleans(),
        ),
    ),
    max_leaves=8,
)


@st.composite
def schema_and_value(draw: st.DrawFn) -> tuple[dict[str, Any], Any]:
    schema = draw(schemas)

    def value_for(node: dict[str, Any]) -> Any:
        match node.get("type"):
            case "string":
                choices = node.get("enum")
                return draw(st.sampled_from(choices) if choices else st.text(max_size=5))
            case "integer":
                return draw(st.integers(-9, 9))
            case "array":
                return [value_for(node["items"]) for _ in range(draw(st.integers(0, 2)))]
            case "object":
                return {name: value_for(inner) for name, inner in node["properties"].items()}
            case _:
                return None

    return schema, value_for(schema)


@pytest.mark.spec("03-P14")
@given(schema_and_value())
def test_values_made_for_a_schema_fit_and_a_dropped_member_is_missed(
    pair: tuple[dict[str, Any], Any],
) -> None:
    schema, value = pair
    assert check(schema, value) == []
    if schema.get("required"):
        name = schema["required"][0]
        del value[name]
        assert check(schema, value)[0].startswith("missing required property")


@st.composite
def schema_and_wrong_value(draw: st.DrawFn) -> tuple[dict[str, Any], Any]:
    """Make a value that fits but for one part, somewhere in it."""
    schema, value = draw(schema_and_value())

    def spoil(node: dict[str, Any], fitting: Any) -> Any:
        ways = ["here"]
        if node.get("type") == "object":
            ways += [*map(str, node["properties"])] if node["properties"] else []
            ways += [] if node["additionalProperties"] else ["more"]
        elif node.get("type") == "array" and fitting:
            ways.append("item")
        way = draw(st.sampled_from(ways))
        if way == "here":
            return _of_another_kind(node)
        if way == "item":
            return [spoil(node["items"], fitting[0]), *fitting[1:]]
        if way in node["properties"]:
            return fitting | {way: spoil(node["properties"][way], fitting[way])}
        return fitting | {"one more than allowed": 1}

    spoiled = spoil(schema, value)
    assume(spoiled is not UNSPOILABLE and UNSPOILABLE not in _parts(spoiled))
    return schema, spoiled


UNSPOILABLE = object()
"""Stands where the schema takes any value."""


def _of_another_kind(node: dict[str, Any]) -> Any:
    other = {"string": 5, "integer": "5", "null": False, "array": {}, "object": []}
    return other.get(node.get("type", "any"), UNSPOILABLE)


def _parts(value: Any) -> list[Any]:
    if isinstance(value, list):
        return [part for one in value for part in [one, *_parts(one)]]
    if isinstance(value, dict):
        return [part for one in value.values() for part in [one, *_parts(one)]]
    return []


@pytest.mark.spec("03-P14")
@given(schema_and_wrong_value())
def test_a_value_with_one_wrong_part_does_not_fit(pair: tuple[dict[str, Any], Any]) -> None:
    schema, value = pair
    assert check(schema, value)


ANYTHING = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(),
        st.floats(),
        st.text(st.characters(exclude_categories=()), max_size=3),
        st.binary(max_size=3),
        st.builds(object),
        st.sampled_from([int, len, NotImplemented, ValueError("x"), {1}, range(3)]),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.tuples(inner),
        st.dictionaries(st.text(max_size=3) | st.integers(), inner, max_size=3),
    ),
    max_leaves=8,
)


@pytest.mark.spec("03-P14")
@given(schemas, ANYTHING)
def test_any_object_is_judged_without_an_error(schema: dict[str, Any], value: Any) -> None:
    assert all(isinstance(one, str) for one in check(schema, value))
