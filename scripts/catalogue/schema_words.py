"""Say in words what a JSON schema admits."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, TypeAlias, cast

Schema: TypeAlias = Mapping[str, Any]

BOUNDS = {
    "minimum": "≥ {}",
    "exclusiveMinimum": "> {}",
    "maximum": "≤ {}",
    "exclusiveMaximum": "< {}",
    "minLength": "at least {} characters",
    "maxLength": "at most {} characters",
    "minItems": "at least {} items",
    "maxItems": "at most {} items",
    "pattern": "matching {}",
    "format": "as {}",
}
"""Restrictions and how each is said."""

MARKS = {"x-secret": "secret", "x-volatile": "changes without a restart"}
"""Marks of our own, which JSON schema has no word for."""


def words(schema: Schema) -> str:
    """Return the type of a value with its restrictions, as plain text; null comes last."""
    given: object = schema.get("type")
    if isinstance(given, list) and "null" in given:
        others = [one for one in cast("list[str]", given) if one != "null"]
        return f"{words({**schema, 'type': others[0] if len(others) == 1 else others})} or null"
    bounds = [text.format(schema[key]) for key, text in BOUNDS.items() if key in schema]
    return " ".join([_kind(schema), ", ".join(bounds)]).strip()


def marks(schema: Schema) -> list[str]:
    """List what is said of a field beside its type, such as that it is secret."""
    listed = [text for key, text in MARKS.items() if schema.get(key)]
    role = schema.get("x-role")
    return [*([f"role {role}"] if role else []), *listed]


def literal(value: object) -> str:
    """Write a JSON value on one line; numbers keep the digits that they have."""
    return json.dumps(value, ensure_ascii=False)


def _kind(schema: Schema) -> str:
    if "const" in schema:
        return literal(schema["const"])
    if "enum" in schema:
        return " or ".join(literal(value) for value in schema["enum"])
    for key in ("anyOf", "oneOf"):
        if key in schema:
            return " or ".join(dict.fromkeys(words(choice) for choice in schema[key]))
    if "$ref" in schema:
        return str(schema["$ref"]).rpartition("/")[2].replace("#", "the same again")
    given: object = schema.get("type", "any value")
    if isinstance(given, list):
        return " or ".join(_kind({**schema, "type": one}) for one in cast("list[str]", given))
    if given == "array":
        return f"list of {words(schema['items'])}" if "items" in schema else "list"
    rest: object = schema.get("additionalProperties")
    if given == "object" and isinstance(rest, Mapping) and rest:
        return f"object of {words(cast('Schema', rest))}"
    return str(given)
