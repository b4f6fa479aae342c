"""The schema notation: what it compiles to, what it refuses."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.tools import (
    JsonSchemaError,
    assert_supported_json_schema,
    compile_parameters,
    compile_value_spec,
)
from harness.wire import FrozenDict, dumps


def test_required_moves_to_the_object_and_order_is_kept() -> None:
    spec: dict[str, Any] = {
        "path": {"type": "string", "required": True, "description": "Absolute path"},
        "limit": {"type": "integer", "default": 5},
        "__class__": {"type": "boolean", "required": True},
    }
    compiled = compile_parameters(spec)
    assert compiled == {
        "type": "object",
        "properties": {
            "path": {"type": "string", "description": "Absolute path"},
            "limit": {"type": "integer", "default": 5},
            "__class__": {"type": "boolean"},
        },
        "required": ("path", "__class__"),
    }
    assert list(compiled["properties"]) == ["path", "limit", "__class__"]
    assert isinstance(compiled, FrozenDict)
    spec["path"]["description"] = "changed"
    assert compiled["properties"]["path"]["description"] == "Absolute path"


def test_without_required_properties_the_key_is_absent() -> None:
    assert compile_parameters({}) == {"type": "object", "properties": {}}


def test_every_kind_of_spec_compiles_to_the_subset() -> None:
    compiled = compile_value_spec(
        {
            "type": "object",
            "additionalProperties": False,
            "title": "all",
            "properties": {
                "any": {"type": "json", "description": "anything"},
                "list": {"type": "array", "items": {"type": "number", "enum": [1, 2]}},
                "bare": {"type": "array", "required": True},
                "open": {"type": "object", "additionalProperties": True},
                "one": {"oneOf": [{"type": "string", "const": "a"}, {"type": "null"}]},
            },
        }
    )
    assert compiled["properties"]["any"] == {"description": "anything"}
    assert compiled["properties"]["open"] == {"type": "object", "additionalProperties": True}
    assert compiled["properties"]["one"]["oneOf"][0] == {"type": "string", "const": "a"}
    assert compiled["required"] == ("bare",)
    assert compiled["additionalProperties"] is False
    assert_supported_json_schema(compiled)


@pytest.mark.spec("03-131", "03-136")
@pytest.mark.parametrize(
    ("spec", "violation"),
    [
        ({"a": {"type": "object"}}, "parameters.a.additionalProperties must be given"),
        ({"a": {"type": "object", "additionalProperties": 1}}, "parameters.a.additionalProp"),
        ({"a": {"type": "string", "required": False}}, "parameters.a.required must be True"),
        ({"a": {"type": "string", "required": 1}}, "parameters.a.required must be True"),
        ({"a": {"type": "string", "pattern": "x"}}, "parameters.a.pattern does not belong"),
        ({"a": {"oneOf": [{"type": "string"}]}}, "parameters.a.oneOf must be a list"),
        ({"a": {"oneOf": [{"type": "null"}] * 2, "type": "null"}}, "parameters.a.type does not"),
        ({"a": {}}, "parameters.a.type must be one of"),
        ({"a": {"type": 5}}, "parameters.a.type must be one of"),
        ({"a": "string"}, "parameters.a must be a schema object"),
        ({1: {"type": "string"}}, "parameters must have string keys"),
        ([], "parameters must be a schema object"),
        ({"a": {"type": "array", "items": {"type": "x"}}}, "parameters.a.items.type must be"),
        (
            {"a": {"type": "array", "items": {"type": "string", "required": True}}},
            "parameters.a.items.required does not belong to type string",
        ),
        (
            {
                "a": {
                    "type": "object",
                    "additionalProperties": True,
                    "properties": {"b": {"type": "string", "enum": []}},
                }
            },
            "parameters.a.properties.b.enum must be a list",
        ),
        ({"a": {"type": "string", "const": 5}}, "parameters.a.const must be a string"),
        ({"a": {"type": "json", "examples": {1}}}, "parameters.a.examples must be lossless"),
    ],
)
def test_malformed_specs_are_refused_with_their_path(spec: Any, violation: str) -> None:
    with pytest.raises(JsonSchemaError) as caught:
        compile_parameters(spec)
    assert any(found.startswith(violation) for found in caught.value.violations), caught.value


@pytest.mark.spec("03-141")
def test_specs_that_contain_themselves_are_refused() -> None:
    ring: dict[str, Any] = {"type": "array"}
    ring["items"] = ring
    with pytest.raises(JsonSchemaError, match=r"output\.items is circular"):
        compile_value_spec(ring, path="output")
    with pytest.raises(JsonSchemaError, match="circular"):
        compile_parameters({"a": ring})


texts = st.text(max_size=4)
scalars = st.one_of(
    st.builds(lambda kind: {"type": kind}, st.sampled_from(["string", "boolean", "json", "array"])),
    st.builds(
        lambda values: {"type": "integer", "enum": values},
        st.lists(st.integers(-9, 9), min_size=1, max_size=3),
    ),
    st.builds(lambda text: {"type": "null", "description": text}, texts),
)
specs = st.recursive(
    scalars,
    lambda inner: st.one_of(
        st.builds(lambda items: {"type": "array", "items": items}, inner),
        st.builds(lambda branches: {"oneOf": branches}, st.lists(inner, min_size=2, max_size=3)),
        st.builds(
            lambda properties, is_open, is_required: {
                "type": "object",
                "additionalProperties": is_open,
                "properties": {
                    name: {**spec, "required": True} if is_required else spec
                    for name, spec in properties.items()
                },
            },
            st.dictionaries(texts, inner, max_size=3),
            st.booleans(),
            st.booleans(),
        ),
    ),
    max_leaves=8,
)


@pytest.mark.spec("03-P15")
@given(st.dictionaries(texts, specs, max_size=4))
def test_whatever_compiles_is_in_the_subset_in_the_same_order_every_time(
    spec: dict[str, dict[str, Any]],
) -> None:
    compiled = compile_parameters(spec)
    assert_supported_json_schema(compiled)
    assert list(compiled["properties"]) == list(spec)
    assert dumps(compile_parameters(spec)) == dumps(compiled)
