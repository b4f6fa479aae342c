"""The subset of JSON schema that tools may use."""

from typing import Any

import pytest

from harness.tools import (
    MAX_SCHEMA_DEPTH,
    JsonSchemaError,
    assert_object_json_schema,
    assert_supported_json_schema,
)


@pytest.mark.parametrize(
    "schema",
    [
        {},
        {"description": "anything", "title": "t", "default": {"a": [1]}, "examples": [None]},
        {"type": "string", "enum": ["a", "b"], "const": "a"},
        {"type": "integer", "enum": [1, 2.0]},
        {"type": "null"},
        {"type": "array"},
        {"type": "array", "items": {"type": "boolean"}},
        {"type": "object"},
        {
            "type": "object",
            "properties": {"__proto__": {}, "__class__": {"type": "number"}},
            "required": ["__class__"],
            "additionalProperties": False,
        },
        {"oneOf": [{"type": "string"}, {"type": "null"}], "description": "maybe"},
    ],
)
def test_schemas_of_the_subset_are_accepted(schema: dict[str, Any]) -> None:
    assert_supported_json_schema(schema)


@pytest.mark.spec("03-129")
@pytest.mark.parametrize(
    ("schema", "violation"),
    [
        ("text", "schema must be a schema object"),
        ({"type": "string", "pattern": "x"}, "schema.pattern is not a supported keyword"),
        ({1: "x"}, "schema.1 is not a supported keyword"),
        ({"type": ["string", "null"]}, "schema.type must be one of"),
        ({"type": "date"}, "schema.type must be one of"),
        ({"type": "string", "oneOf": [{}, {}]}, "schema.type cannot stand beside oneOf"),
        ({"items": {}, "oneOf": [{}, {}]}, "schema.items cannot stand beside oneOf"),
        ({"enum": [1]}, "schema.enum needs a type"),
        ({"type": "string", "items": {}}, "schema.items does not apply to type string"),
        ({"type": "object", "enum": [1]}, "schema.enum does not apply to type object"),
        ({"oneOf": [{}]}, "schema.oneOf must be a list of at least two schemas"),
        ({"oneOf": "x"}, "schema.oneOf must be a list of at least two schemas"),
        ({"oneOf": [{}, {"type": "x"}]}, "schema.oneOf[1].type must be one of"),
        ({"type": "object", "required": "a"}, "schema.required must be a list"),
        ({"type": "object", "required": ["a"]}, "schema.required[0] must name a declared"),
        ({"type": "object", "required": [1]}, "schema.required[0] must name a declared"),
        ({"type": "object", "properties": []}, "schema.properties must be an object"),
        ({"type": "object", "properties": {1: {}}}, "schema.properties must have string keys"),
        (
            {"type": "object", "properties": {"a": {"type": "array", "items": 3}}},
            "schema.properties.a.items must be a schema object",
        ),
        ({"type": "object", "additionalProperties": {}}, "schema.additionalProperties must be"),
        ({"type": "string", "enum": []}, "schema.enum must be a list with at least one value"),
        ({"type": "string", "enum": "ab"}, "schema.enum must be a list with at least one value"),
        ({"type": "string", "enum": ["a", 1]}, "schema.enum[1] must be a string"),
        ({"type": "integer", "enum": [True]}, "schema.enum[0] must be an integer"),
        ({"type": "string", "const": 1}, "schema.const must be a string"),
        ({"type": "string", "enum": ["a"], "const": "b"}, "schema.const must be a member"),
        ({"title": 1}, "schema.title must be a string"),
        ({"description": None}, "schema.description must be a string"),
        ({"default": {1}}, "schema.default must be lossless JSON"),
        ({"examples": [float("nan")]}, "schema.examples must be lossless JSON"),
    ],
)
def test_everything_else_is_refused_with_its_path(schema: Any, violation: str) -> None:
    with pytest.raises(JsonSchemaError) as caught:
        assert_supported_json_schema(schema)
    assert caught.value.code == "UNSUPPORTED_SCHEMA"
    assert any(found.startswith(violation) for found in caught.value.violations)


def test_all_violations_are_listed_below_the_given_root() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "x"}, "b": {"minimum": 1}}}
    with pytest.raises(JsonSchemaError) as caught:
        assert_supported_json_schema(schema, path="output")
    assert len(caught.value.violations) == 2
    assert "output.properties.b.minimum" in str(caught.value)


@pytest.mark.spec("03-141")
def test_a_schema_that_contains_itself_is_refused() -> None:
    ring: dict[str, Any] = {"type": "array"}
    ring["items"] = {"type": "object", "properties": {"again": ring}}
    with pytest.raises(JsonSchemaError, match=r"schema\.items\.properties\.again is circular"):
        assert_supported_json_schema(ring)


def test_a_schema_may_share_parts_and_nest_up_to_the_limit() -> None:
    shared = {"type": "string"}
    assert_supported_json_schema({"type": "object", "properties": {"a": shared, "b": shared}})
    deep: dict[str, Any] = {"type": "string"}
    for _ in range(MAX_SCHEMA_DEPTH - 1):
        deep = {"type": "array", "items": deep}
    assert_supported_json_schema(deep)
    with pytest.raises(JsonSchemaError, match=f"nests more than {MAX_SCHEMA_DEPTH} levels"):
        assert_supported_json_schema({"type": "array", "items": deep})
    for _ in range(100_000):
        deep = {"type": "array", "items": deep}
    with pytest.raises(JsonSchemaError, match="nests more than"):
        assert_supported_json_schema(deep)


def test_structured_output_needs_an_object_at_the_root() -> None:
    assert_object_json_schema({"type": "object"})
    for schema in ({}, {"type": "string"}, {"oneOf": [{"type": "object"}, {"type": "null"}]}):
        with pytest.raises(JsonSchemaError, match=r'schema\.type must be "object"'):
            assert_object_json_schema(schema)
    with pytest.raises(JsonSchemaError, match="supported keyword"):
        assert_object_json_schema({"type": "object", "allOf": []})
