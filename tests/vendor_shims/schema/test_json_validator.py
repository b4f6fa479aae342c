"""Schemas that exist as JSON validate values, or are refused when they ask for more."""

from __future__ import annotations

from typing import Any

import jsonschema
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from vendor_shims.schema import JsonSchema, SchemaError, ValidationError

PARAMETERS = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "title": "Edit",
    "properties": {
        "path": {
            "type": "string",
            "minLength": 1,
            "description": "Absolute path",
            "format": "path",
        },
        "limit": {"type": ["integer", "null"], "minimum": 1, "maximum": 10},
        "edits": {"type": "array", "minItems": 1, "items": {"$ref": "#/$defs/edit"}},
        "point": {"type": "array", "prefixItems": [{"type": "number"}], "items": False},
        "mode": {"enum": ["fast", "slow"]},
        "env": {"type": "object", "additionalProperties": {"type": "string"}, "maxProperties": 2},
        "never": False,
        "flags": {"type": "array", "uniqueItems": True, "maxItems": 3},
        "code": {"type": "string", "pattern": "^[a-z]+$", "maxLength": 3},
        "ratio": {"exclusiveMinimum": 0, "exclusiveMaximum": 1},
    },
    "required": ["path"],
    "additionalProperties": False,
    "$defs": {
        "edit": {
            "type": "object",
            "properties": {"old": {"type": "string"}, "then": {"$ref": "#/$defs/edit"}},
            "required": ["old"],
            "x-order": ["old"],
        }
    },
}


def lines(schema: Any, value: object) -> list[str]:
    return [issue.render() for issue in JsonSchema(schema).issues(value)]


def test_a_fitting_value_is_returned_as_it_is() -> None:
    value = {
        "path": "/x",
        "limit": None,
        "edits": [{"old": "a", "then": {"old": "b", "extra": 1}}],
        "point": [1],
        "env": {"A": "b"},
        "flags": [1, True, "1"],
        "ratio": "no number, so no bounds",
    }
    assert JsonSchema(PARAMETERS).validate(value) is value


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("text", ['$ expected object but got "text"']),
        ({}, ["$.path missing required value"]),
        ({"path": ""}, ['$.path expected string of length >= 1 but got ""']),
        ({"limit": 0}, ["$.limit expected number >= 1 but got 0"]),
        ({"limit": 1.5}, ["$.limit expected integer | null but got 1.5"]),
        ({"limit": True}, ["$.limit expected integer | null but got true"]),
        ({"limit": float("inf")}, ["$.limit expected integer | null but got inf"]),
        ({"edits": []}, ["$.edits expected list of length >= 1 but got []"]),
        ({"edits": [{}]}, ["$.edits[0].old missing required value"]),
        ({"edits": [{"old": "", "then": 1}]}, ["$.edits[0].then expected object but got 1"]),
        ({"point": [1, 2]}, ["$.point[1] no value is allowed here"]),
        ({"mode": "fastt"}, ['$.mode expected "fast" | "slow" but got "fastt"']),
        ({"env": {"A": 1}}, ["$.env.A expected string but got 1"]),
        (
            {"env": dict.fromkeys("abc", "")},
            ['$.env expected object of length <= 2 but got {"a": "", "b": "", "c": ""}'],
        ),
        ({"env": {1: ""}}, ["$.env expected string as key but got 1"]),
        ({"never": 1}, ["$.never no value is allowed here"]),
        ({"flags": [1, 1.0]}, ["$.flags expected items that all differ but got [1, 1.0]"]),
        ({"flags": [{"a": [1]}, {"a": [1]}]}, None),
        ({"code": "abcd"}, ['$.code expected string of length <= 3 but got "abcd"']),
        ({"code": "A"}, ['$.code expected string matching /^[a-z]+$/ but got "A"']),
        ({"ratio": 0}, ["$.ratio expected number > 0 but got 0"]),
        ({"ratio": 1}, ["$.ratio expected number < 1 but got 1"]),
        ({"pth": 1}, ['$.pth unknown key, did you mean "path"?']),
    ],
)
def test_messages(value: Any, expected: list[str] | None) -> None:
    if isinstance(value, dict) and value:
        value = {"path": "/x", **value}
    found = lines(PARAMETERS, value)
    if expected is None:
        assert len(found) == 1
    else:
        assert found == expected


def test_all_issues_come_at_once_missing_keys_first() -> None:
    with pytest.raises(ValidationError) as caught:
        JsonSchema(PARAMETERS).validate({"zzz": 1, "mode": 1, "limit": "x"})
    assert str(caught.value).split("\n") == [
        "invalid arguments:",
        "  - $.path missing required value",
        '  - $.limit expected integer | null but got "x"',
        '  - $.mode expected "fast" | "slow" but got 1',
        "  - $.zzz unknown key",
    ]


SHAPES = {
    "anyOf": [
        {"$ref": "#/definitions/circle"},
        {
            "type": "object",
            "properties": {"kind": {"const": "square"}, "side": {"type": "integer"}},
            "required": ["kind", "side"],
        },
    ],
    "definitions": {
        "circle": {
            "type": "object",
            "properties": {"kind": {"const": "circle"}, "radius": {"type": "number"}},
            "required": ["kind", "radius"],
        }
    },
}


def test_alternatives_report_the_one_that_was_meant() -> None:
    assert lines(SHAPES, {"kind": "circle", "radius": 1}) == []
    assert lines(SHAPES, {"kind": "circle", "side": 1}) == ["$.radius missing required value"]
    assert lines(SHAPES, {"kind": "cube"}) == ['$.kind expected "circle" | "square" but got "cube"']
    assert lines(SHAPES, {}) == ["$.kind missing required value", "$.radius missing required value"]
    assert lines(SHAPES, 1) == ["$ expected object but got 1"]
    one = {"oneOf": [{"type": "integer"}, {"type": "number", "minimum": 5}]}
    assert lines(one, 1) == []
    assert lines(one, 5.5) == []
    assert lines(one, 5) == ["$ matches 2 alternatives where exactly one is expected"]
    assert lines(one, "x") == ['$ expected integer | number but got "x"']
    assert lines(one, 1.5) == ["$ expected number >= 5 but got 1.5"]
    tagged = {"anyOf": [{"properties": {"a": {"const": 1}}}, {"properties": {"b": {"const": 1}}}]}
    assert lines(tagged, {"a": 2, "b": 2}) == ['$ expected 1 but got {"a": 2, "b": 2}']
    nothing = {"anyOf": [False, {"type": "null"}]}
    assert lines(nothing, 1) == ["$ no value is allowed here"]


@pytest.mark.parametrize(
    ("schema", "problem"),
    [
        ([], "schema must be an object"),
        ({"properties": []}, "schema.properties must be an object"),
        ({"properties": {"a": 5}}, "schema.properties.a must be an object or a boolean"),
        ({"required": "a"}, "schema.required must be a list of property names"),
        ({"required": [1]}, "schema.required must be a list of property names"),
        ({"type": "text"}, 'schema.type has no meaning for "text"'),
        ({"type": []}, "schema.type must be a type name or a list of type names"),
        ({"type": 5}, "schema.type must be a type name or a list of type names"),
        ({"type": [5]}, "schema.type has no meaning for 5"),
        ({"enum": []}, "schema.enum must be a list with at least one value"),
        ({"minimum": "1"}, "schema.minimum must be a number"),
        ({"maxLength": -1}, "schema.maxLength must be a whole number, not negative"),
        ({"maxItems": 1.5}, "schema.maxItems must be a whole number, not negative"),
        ({"maxItems": True}, "schema.maxItems must be a whole number, not negative"),
        ({"pattern": "("}, "schema.pattern is not a regular expression"),
        ({"pattern": 5}, "schema.pattern is not a regular expression"),
        ({"uniqueItems": "yes"}, "schema.uniqueItems must be true or false"),
        ({"prefixItems": {}}, "schema.prefixItems must be a list of schemas"),
        ({"anyOf": []}, "schema.anyOf must be a list with at least one schema"),
        ({"oneOf": {}}, "schema.oneOf must be a list with at least one schema"),
        ({"items": {"not": {}}}, 'schema.items uses the keyword "not", which is not supported'),
        ({"patternProperties": {}}, '"patternProperties", which is not supported'),
        ({5: 1}, "schema uses the keyword 5, which is not supported"),
        ({"$ref": "other.json"}, "schema.$ref must stay inside the schema"),
        ({"$ref": 5}, "schema.$ref must stay inside the schema"),
        ({"$ref": "#/$defs/x"}, 'schema has no "#/$defs/x" to refer to'),
        ({"$ref": "#/properties/x"}, 'schema has no "#/properties/x" to refer to'),
        ({"$ref": "#"}, 'schema refers to "#" from within itself'),
        (
            {"$defs": {"a": {"anyOf": [{"$ref": "#/$defs/a"}]}}, "$ref": "#/$defs/a"},
            'schema refers to "#/$defs/a" from within itself',
        ),
    ],
)
def test_schemas_outside_the_subset_are_refused(schema: Any, problem: str) -> None:
    with pytest.raises(SchemaError) as caught:
        JsonSchema(schema)
    assert problem in str(caught.value)
    assert caught.value.code == "SCHEMA_ERROR"
    assert any(problem in found for found in caught.value.problems)


def test_all_problems_of_a_schema_are_listed() -> None:
    schema = {"not": {}, "type": "x", "properties": {"a": {"allOf": []}}}
    with pytest.raises(SchemaError) as caught:
        JsonSchema(schema)
    assert len(caught.value.problems) == 3


@pytest.mark.parametrize(
    ("value", "is_allowed"),
    [
        ({"a": [1, True]}, True),
        ({"a": [1.0, True]}, True),
        ({"a": [True, True]}, False),
        ({"a": [1]}, False),
        ({"b": [1, True]}, False),
        ({"a": 1}, False),
        ([], False),
        (False, False),
        (0, True),
    ],
)
def test_constants_are_compared_as_json(value: object, is_allowed: bool) -> None:
    assert (lines({"enum": [{"a": [1, True]}, 0]}, value) == []) is is_allowed
    assert (lines({"uniqueItems": True}, [value, {"a": [1, True]}, 0]) == []) is not is_allowed


def test_pointers_are_unescaped() -> None:
    schema = {"$defs": {"a/b ~c": {"type": "string"}}, "items": {"$ref": "#/$defs/a~1b%20~0c"}}
    assert lines(schema, [1]) == ["$[0] expected string but got 1"]


def test_hostile_schemas_are_refused_in_bounded_time() -> None:
    deep: Any = {}
    for _ in range(50_000):
        deep = {"items": deep}
    endless: Any = {}
    endless["anyOf"] = [endless, endless, endless]
    wide = {"properties": {str(index): {} for index in range(20_000)}}
    for schema in (deep, endless, wide):
        with pytest.raises(SchemaError) as caught:
            JsonSchema(schema)
        assert len(caught.value.problems) < 30_000


def test_hostile_values_are_refused_in_bounded_time() -> None:
    schema = {
        "type": ["object", "array"],
        "properties": {"x": {"$ref": "#"}},
        "items": {"$ref": "#"},
    }
    for wrap in (lambda inner: {"x": inner}, lambda inner: [inner]):
        deep: Any = {}
        for _ in range(50_000):
            deep = wrap(deep)
        (line,) = lines(schema, deep)
        assert line.endswith("nested deeper than 100 levels")
    unique: Any = []
    for _ in range(50_000):
        unique = [unique]
    assert lines({"uniqueItems": True}, [unique, unique]) == ["$ nested deeper than 100 levels"]
    ambiguous = {
        "anyOf": [
            {"properties": {"x": {"$ref": "#"}}, "required": ["a"]},
            {"properties": {"x": {"$ref": "#"}}, "required": ["b"]},
        ]
    }
    value: Any = {}
    for _ in range(60):
        value = {"x": value}
    assert any("too many alternatives" in line for line in lines(ambiguous, value))


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from([0.5, 1.0, 2.0, "", "a", "b"]),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3)
    ),
    max_leaves=6,
)
leaf_schemas = st.fixed_dictionaries(
    {},
    optional={
        "type": st.sampled_from(
            ["string", "number", "integer", "boolean", "null", "array", "object"]
        )
        | st.just(["integer", "null"]),
        "minimum": st.integers(-2, 2),
        "exclusiveMaximum": st.integers(-1, 3),
        "minLength": st.integers(0, 2),
        "maxItems": st.integers(0, 2),
        "minProperties": st.integers(0, 2),
        "pattern": st.sampled_from(["a", "^b$"]),
        "enum": st.lists(json_values, min_size=1, max_size=3),
        "const": json_values,
        "uniqueItems": st.booleans(),
    },
)
schemas = st.recursive(
    leaf_schemas | st.booleans().map(lambda flag: {"items": flag}),
    lambda inner: st.fixed_dictionaries(
        {},
        optional={
            "properties": st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
            "required": st.lists(st.sampled_from("abc"), unique=True, max_size=2),
            "additionalProperties": inner | st.booleans(),
            "items": inner | st.booleans(),
            "prefixItems": st.lists(inner, min_size=1, max_size=2),
            "anyOf": st.lists(inner, min_size=1, max_size=3),
            "oneOf": st.lists(inner, min_size=1, max_size=3),
        },
    ),
    max_leaves=5,
)


@given(schemas, json_values)
def test_a_foreign_validator_agrees_on_every_value(schema: Any, value: Any) -> None:
    ours = JsonSchema(schema).issues(value)
    assert (ours == []) is jsonschema.Draft202012Validator(schema).is_valid(value)


@given(schemas, st.lists(json_values, max_size=3))
def test_references_mean_what_they_refer_to(schema: Any, values: list[Any]) -> None:
    assume(schema)
    by_reference = {"items": {"$ref": "#/$defs/it"}, "$defs": {"it": schema}}
    assert lines(by_reference, values) == lines({"items": schema}, values)
