"""Check that JSON schemas stay within the subset that tools may use.

The subset: `type` (one of seven names), `oneOf`, `properties`, `required`, `additionalProperties`
(boolean), `items`, `enum`, `const`, and the annotations `description`, `title`, `default` and
`examples`. Schemas nest at most `MAX_SCHEMA_DEPTH` levels, so that nothing that walks a schema
needs a stack of its own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, cast

from harness.tools.errors import JsonSchemaError
from harness.tools.json_value import TYPE_PHRASES, has_type
from harness.wire import NotJsonError, json_equal, snapshot_json

MAX_SCHEMA_DEPTH: Final = 100
ANNOTATIONS: Final = ("description", "title", "default", "examples")
SCALAR_TYPES: Final = frozenset({"string", "number", "integer", "boolean", "null"})
_OWN_KEYWORDS: Final[dict[str, tuple[str, ...]]] = {
    **dict.fromkeys(SCALAR_TYPES, ("enum", "const")),
    "array": ("items",),
    "object": ("properties", "required", "additionalProperties"),
}
_CONSTRAINTS: Final = ("enum", "const", "items", "properties", "required", "additionalProperties")
_KEYWORDS: Final = frozenset({"type", "oneOf", *ANNOTATIONS, *_CONSTRAINTS})


def assert_supported_json_schema(schema: object, *, path: str = "schema") -> None:
    """Refuse a schema outside the subset, listing every violation with its path.

    Raises:
        JsonSchemaError: with all violations.
    """
    violations: list[str] = []
    _check(schema, path, violations, ())
    if violations:
        raise JsonSchemaError(violations)


def assert_object_json_schema(schema: object, *, path: str = "schema") -> None:
    """Refuse a schema outside the subset, or whose root is no object.

    Raises:
        JsonSchemaError: with all violations.
    """
    assert_supported_json_schema(schema, path=path)
    if cast("Mapping[str, Any]", schema).get("type") != "object":
        raise JsonSchemaError([f'{path}.type must be "object"'])


def open_node(
    node: object, path: str, violations: list[str], ancestors: tuple[int, ...]
) -> dict[Any, Any] | None:
    """Return a schema node that may be looked into, else note why not and return `None`."""
    if not isinstance(node, dict):
        violations.append(f"{path} must be a schema object")
    elif id(cast("object", node)) in ancestors:
        violations.append(f"{path} is circular")
    elif len(ancestors) >= MAX_SCHEMA_DEPTH:
        violations.append(f"{path} nests more than {MAX_SCHEMA_DEPTH} levels")
    else:
        return cast("dict[Any, Any]", node)
    return None


def check_annotations(node: Mapping[Any, Any], path: str, violations: list[str]) -> None:
    """Note annotations that are no text, or no lossless JSON."""
    violations.extend(
        f"{path}.{key} must be a string"
        for key in ("description", "title")
        if key in node and not isinstance(node[key], str)
    )
    for key in ("default", "examples"):
        if key in node:
            try:
                snapshot_json(node[key])
            except NotJsonError as error:
                violations.append(f"{path}.{key} must be lossless JSON: {error}")


def check_choices(node: Mapping[Any, Any], kind: str, path: str, violations: list[str]) -> None:
    """Note an `enum` or `const` that no value of the scalar type `kind` could satisfy."""
    raw = node.get("enum", ())
    choices = cast("Sequence[Any]", raw) if isinstance(raw, list | tuple) else ()
    if "enum" in node and not choices:
        violations.append(f"{path}.enum must be a list with at least one value")
    for index, choice in enumerate(choices):
        if not has_type(kind, choice):
            violations.append(f"{path}.enum[{index}] must be {TYPE_PHRASES[kind]}")
    if "const" not in node:
        return
    if not has_type(kind, node["const"]):
        violations.append(f"{path}.const must be {TYPE_PHRASES[kind]}")
    elif choices and not any(json_equal(node["const"], choice) for choice in choices):
        violations.append(f"{path}.const must be a member of enum")


def _check(schema: object, path: str, violations: list[str], ancestors: tuple[int, ...]) -> None:
    node = open_node(schema, path, violations, ancestors)
    if node is None:
        return
    inner = (*ancestors, id(node))
    violations.extend(
        f"{path}.{key} is not a supported keyword" for key in node if key not in _KEYWORDS
    )
    check_annotations(node, path, violations)
    kind = node.get("type")
    if "oneOf" in node:
        violations.extend(
            f"{path}.{key} cannot stand beside oneOf"
            for key in ("type", *_CONSTRAINTS)
            if key in node
        )
        _check_branches(node["oneOf"], f"{path}.oneOf", violations, inner)
    elif "type" not in node:
        violations.extend(f"{path}.{key} needs a type" for key in _CONSTRAINTS if key in node)
    elif not isinstance(kind, str) or kind not in _OWN_KEYWORDS:
        violations.append(f"{path}.type must be one of {', '.join(sorted(_OWN_KEYWORDS))}")
    else:
        own = _OWN_KEYWORDS[kind]
        violations.extend(
            f"{path}.{key} does not apply to type {kind}"
            for key in _CONSTRAINTS
            if key in node and key not in own
        )
        _check_own(node, kind, path, violations, inner)


def _check_branches(
    branches: object, path: str, violations: list[str], ancestors: tuple[int, ...]
) -> None:
    if not isinstance(branches, list | tuple) or len(cast("Sequence[Any]", branches)) < 2:
        violations.append(f"{path} must be a list of at least two schemas")
        return
    for index, branch in enumerate(cast("Sequence[Any]", branches)):
        _check(branch, f"{path}[{index}]", violations, ancestors)


def _check_own(
    node: dict[Any, Any], kind: str, path: str, violations: list[str], ancestors: tuple[int, ...]
) -> None:
    """Check the keywords that belong to one type."""
    if kind in SCALAR_TYPES:
        check_choices(node, kind, path, violations)
    elif kind == "array":
        if "items" in node:
            _check(node["items"], f"{path}.items", violations, ancestors)
    else:
        _check_object(node, path, violations, ancestors)


def _check_object(
    node: dict[Any, Any], path: str, violations: list[str], ancestors: tuple[int, ...]
) -> None:
    properties = node.get("properties", {})
    if not isinstance(properties, dict):
        violations.append(f"{path}.properties must be an object")
        properties = {}
    for name, schema in cast("dict[Any, Any]", properties).items():
        if not isinstance(name, str):
            violations.append(f"{path}.properties must have string keys")
        else:
            _check(schema, f"{path}.properties.{name}", violations, ancestors)
    required = node.get("required", [])
    if not isinstance(required, list | tuple):
        violations.append(f"{path}.required must be a list of property names")
    else:
        violations.extend(
            f"{path}.required[{index}] must name a declared property"
            for index, name in enumerate(cast("Sequence[Any]", required))
            if not isinstance(name, str) or name not in properties
        )
    if not isinstance(node.get("additionalProperties", True), bool):
        violations.append(f"{path}.additionalProperties must be true or false")
