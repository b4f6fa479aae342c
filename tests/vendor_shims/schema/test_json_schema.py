"""Config classes describe themselves as JSON schema."""

from __future__ import annotations

from enum import Enum
from typing import Annotated, Any, Literal

import jsonschema
import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vendor_shims.schema import (
    Ge,
    Gt,
    JsonSchema,
    Le,
    Lt,
    MaxLen,
    MinLen,
    OneOf,
    Pattern,
    Secret,
    ValidationError,
    Volatile,
    config,
    field,
    json_schema,
    structure,
)


class Mode(Enum):
    FAST = "fast"
    SLOW = "slow"


@config
class Leaf:
    kind: Literal["leaf"] = "leaf"
    value: Annotated[float, Gt(0), Lt(1)] = 0.5


@config
class Branch:
    """A branch of the tree.

    With more text.
    """

    kind: Literal["branch"]
    children: Annotated[list[Branch | Leaf], MaxLen(3)] = field(factory=list)


class Device:
    """Given by code only."""


@config
class Settings:
    """What can be set."""

    name: Annotated[str, MinLen(1), Pattern("^[a-z]+$")] = field(doc="Lower case name")
    debounce: Annotated[int, Ge(0), Le(1000)] = field(default=100, role="ms")
    """Delay in milliseconds."""
    mode: Mode | None = None
    token: Secret[str] | None = None
    """Where access comes from."""
    password: Secret[str] = field(default="hidden")
    level: Volatile[int] = field(default=3)
    tree: Branch | Leaf | None = None
    other: Settings | None = None
    loose: int | str | None = None
    limits: Annotated[dict[str, Annotated[int, OneOf(1, 2)]], MinLen(0)] = field(factory=dict)
    pair: tuple[int, str] | None = None
    empty: tuple[()] = ()
    unique: frozenset[str] = frozenset()
    anything: Any = None
    device: Device | None = None
    nothing: None = None
    flag: bool = False


EXPECTED = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "title": "Settings",
    "description": "What can be set.",
    "properties": {
        "name": {
            "type": "string",
            "minLength": 1,
            "pattern": "^[a-z]+$",
            "description": "Lower case name",
        },
        "debounce": {
            "type": "integer",
            "minimum": 0,
            "maximum": 1000,
            "description": "Delay in milliseconds.",
            "default": 100,
            "x-role": "ms",
        },
        "mode": {"anyOf": [{"enum": ["fast", "slow"]}, {"type": "null"}], "default": None},
        "token": {
            "type": ["string", "null"],
            "x-secret": True,
            "description": "Where access comes from.",
            "default": None,
        },
        "password": {"type": "string", "x-secret": True},
        "level": {"type": "integer", "x-volatile": True, "default": 3},
        "tree": {
            "anyOf": [
                {
                    "oneOf": [{"$ref": "#/$defs/Branch"}, {"$ref": "#/$defs/Leaf"}],
                    "required": ["kind"],
                },
                {"type": "null"},
            ],
            "default": None,
        },
        "other": {"anyOf": [{"$ref": "#"}, {"type": "null"}], "default": None},
        "loose": {
            "anyOf": [{"anyOf": [{"type": "integer"}, {"type": "string"}]}, {"type": "null"}],
            "default": None,
        },
        "limits": {
            "type": "object",
            "additionalProperties": {"type": "integer", "enum": [1, 2]},
            "minProperties": 0,
            "default": {},
        },
        "pair": {
            "type": ["array", "null"],
            "minItems": 2,
            "maxItems": 2,
            "prefixItems": [{"type": "integer"}, {"type": "string"}],
            "default": None,
        },
        "empty": {"type": "array", "minItems": 0, "maxItems": 0, "default": []},
        "unique": {
            "type": "array",
            "items": {"type": "string"},
            "uniqueItems": True,
            "default": [],
        },
        "anything": {"default": None},
        "device": {
            "anyOf": [{"x-instance": "Device"}, {"type": "null"}],
            "default": None,
        },
        "nothing": {"type": "null", "default": None},
        "flag": {"type": "boolean", "default": False},
    },
    "required": ["name"],
    "additionalProperties": False,
    "$defs": {
        "Branch": {
            "type": "object",
            "title": "Branch",
            "description": "A branch of the tree.\n\nWith more text.",
            "properties": {
                "kind": {"const": "branch"},
                "children": {
                    "type": "array",
                    "items": {
                        "oneOf": [{"$ref": "#/$defs/Branch"}, {"$ref": "#/$defs/Leaf"}],
                        "required": ["kind"],
                    },
                    "maxItems": 3,
                    "default": [],
                },
            },
            "required": ["kind"],
            "additionalProperties": False,
        },
        "Leaf": {
            "type": "object",
            "title": "Leaf",
            "properties": {
                "kind": {"const": "leaf", "default": "leaf"},
                "value": {
                    "type": "number",
                    "exclusiveMinimum": 0,
                    "exclusiveMaximum": 1,
                    "default": 0.5,
                },
            },
            "additionalProperties": False,
        },
    },
}


@pytest.mark.spec("01-G13")
def test_the_schema_says_everything_in_a_fixed_order() -> None:
    first, second = json_schema(Settings), json_schema(Settings)
    assert first == EXPECTED
    assert orjson.dumps(first) == orjson.dumps(second) == orjson.dumps(EXPECTED)


@pytest.mark.spec("01-G13")
def test_the_schema_is_valid_by_the_meta_schema() -> None:
    jsonschema.Draft202012Validator.check_schema(json_schema(Settings))


def test_types_and_open_classes_have_schemas_too() -> None:
    @config(extra="allow")
    class Open:
        extra: dict[str, int] = field(factory=dict)

    assert json_schema(list[int], dialect=False) == {"type": "array", "items": {"type": "integer"}}
    assert json_schema(Any | None, dialect=False) == {}
    assert json_schema(Open, dialect=False)["additionalProperties"] == {"type": "integer"}


def test_classes_of_one_name_get_names_of_their_own() -> None:
    def make(annotation: type) -> type:
        return config(type("Same", (), {"__annotations__": {"x": annotation}}))

    @config
    class Pair:
        a: make(int)  # pyright: ignore[reportInvalidTypeForm]
        b: make(str)  # pyright: ignore[reportInvalidTypeForm]

    Pair.__annotations__.update(a=make(int), b=make(str))
    definitions = json_schema(Pair)["$defs"]
    assert list(definitions) == ["Same", "Same2"]


raw_leaf = st.fixed_dictionaries(
    {},
    optional={"kind": st.sampled_from(["leaf", "branch", 1]), "value": st.sampled_from([0.5, 2])},
)
raw_tree = st.recursive(
    raw_leaf,
    lambda inner: st.fixed_dictionaries(
        {"kind": st.sampled_from(["branch", "leaf"])},
        optional={"children": st.lists(inner, max_size=4)},
    ),
    max_leaves=6,
)
junk = st.sampled_from([1, 1.0, 0, -1, True, "x", "UP", "", [], [1, "x"], ["x", "x"], {}, {"a": 1}])
raw_settings = st.fixed_dictionaries(
    {},
    optional={
        "name": st.sampled_from(["abc", "", "A", 1]),
        **{
            key: junk
            for key in EXPECTED["properties"]
            if key not in {"name", "tree", "other", "device", "anything"}
        },
        "tree": raw_tree,
        "unknown": st.just(1),
    },
)


@given(raw_settings | st.fixed_dictionaries({"name": st.just("a"), "other": raw_settings}))
def test_class_exported_schema_and_a_foreign_validator_agree(raw: dict[str, Any]) -> None:
    schema = json_schema(Settings)
    try:
        structure(Settings, raw)
    except ValidationError:
        is_valid = False
    else:
        is_valid = True
    assert jsonschema.Draft202012Validator(schema).is_valid(raw) is is_valid
    assert (JsonSchema(schema).issues(raw) == []) is is_valid
