"""Check JSON values against schemas of the supported subset.

Nothing is coerced and no default is filled in. Schemas come from `assert_supported_json_schema`,
so the walk is bounded by their depth, while values may nest without bound.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import isfinite
from typing import Any, Final, cast

from harness.wire import FrozenDict, NotJsonError, dumps_text, json_equal, snapshot_json

TYPE_PHRASES: Final = {
    "string": "a string",
    "number": "a number",
    "integer": "an integer",
    "boolean": "a boolean",
    "null": "null",
    "object": "an object",
    "array": "an array",
}
_MAX_PART_CHARS: Final = 80
_MAX_CHOICES_CHARS: Final = 1_000


def has_type(kind: str, value: object) -> bool:
    """Return whether a value has a JSON type; an integral float counts as an integer."""
    return _TYPES[kind](value)


def validate_json_schema_value(
    schema: Mapping[str, Any], value: object, path: str = "value"
) -> list[str]:
    """Return what is wrong with a value, in schema order; empty when it fits.

    Missing required properties come first, then declared properties, then undeclared ones. `path`
    starts every quoted path; with an empty one, members of the root are named bare and the root
    itself is called `arguments`. Never raises, whatever the value is.
    """
    violations: list[str] = []
    _check(schema, value, path, violations)
    return violations


def _check(schema: Mapping[str, Any], value: object, path: str, out: list[str]) -> None:
    kind = schema.get("type")
    if kind is None:
        if "oneOf" in schema:
            _check_branches(schema["oneOf"], value, path, out)
        elif not _is_json(value):
            out.append(f"{quote_path(path)} must be a lossless JSON value")
    elif not _TYPES[kind](value):
        wants_number = kind in ("number", "integer") and type(value) is float
        phrase = TYPE_PHRASES[kind]
        if wants_number and not _is_finite(value):
            phrase = "a finite JSON number"
        out.append(f"{quote_path(path)} must be {phrase}")
    elif kind == "object":
        _check_object(schema, cast("dict[Any, Any]", value), path, out)
    elif kind == "array":
        _check_array(schema, cast("Sequence[Any]", value), path, out)
    else:
        _check_choice(schema, value, path, out)


def _check_object(
    schema: Mapping[str, Any], value: dict[Any, Any], path: str, out: list[str]
) -> None:
    properties: Mapping[str, Any] = schema.get("properties", {})
    out.extend(
        f"missing required property {quote_path(_member(path, name))}"
        for name in schema.get("required", ())
        if name not in value
    )
    for name, inner in properties.items():
        if name in value:
            _check(inner, value[name], _member(path, name), out)
    is_closed = schema.get("additionalProperties") is False
    for key, member in value.items():
        if key in properties:
            continue
        if is_closed:
            out.append(f"{quote_path(_member(path, key))} is not a declared property")
        elif type(key) is not str or not _is_json(member):
            out.append(f"{quote_path(_member(path, key))} must be a lossless JSON value")


def _check_array(
    schema: Mapping[str, Any], value: Sequence[Any], path: str, out: list[str]
) -> None:
    inner = schema.get("items")
    if inner is not None:
        for index, item in enumerate(value):
            _check(inner, item, f"{path}[{index}]", out)
    elif not _is_json(value):
        out.append(f"{quote_path(path)} must be a lossless JSON value")


def _check_choice(schema: Mapping[str, Any], value: object, path: str, out: list[str]) -> None:
    choices = schema.get("enum")
    if "const" in schema:
        if not json_equal(schema["const"], value):
            out.append(f"{quote_path(path)} must be {dumps_text(schema['const'])}")
    elif choices is not None and not any(json_equal(choice, value) for choice in choices):
        listed = dumps_text(choices)
        if len(listed) > _MAX_CHOICES_CHARS:
            listed = listed[:_MAX_CHOICES_CHARS] + "…"
        out.append(f"{quote_path(path)} must be one of {listed}")


def _check_branches(
    branches: Sequence[Mapping[str, Any]], value: object, path: str, out: list[str]
) -> None:
    outcomes = [validate_json_schema_value(branch, value, path) for branch in branches]
    matched = sum(not outcome for outcome in outcomes)
    if matched == 1:
        return
    message = f"{quote_path(path)} must match exactly one oneOf branch (matched {matched})"
    if matched == 0:
        message += f": {' or '.join([outcome[0] for outcome in outcomes])}"
    out.append(message)


def _is_json(value: object) -> bool:
    try:
        snapshot_json(value)
    except NotJsonError:
        return False
    return True


def _is_finite(value: object) -> bool:
    return isfinite(cast("float", value)) and str(value) != "-0.0"


def _member(path: str, name: object) -> str:
    shown = name if type(name) is str else f"<{type(name).__name__}>"
    if len(shown) > _MAX_PART_CHARS:
        shown = f"{shown[:_MAX_PART_CHARS]}…"
    return f"{path}.{shown}" if path else shown


def quote_path(path: str) -> str:
    """Return a path as violations show it; the empty one is the root, called `arguments`."""
    return f'"{path or "arguments"}"'


def _is_number(value: object) -> bool:
    return type(value) is int or (type(value) is float and _is_finite(value))


_TYPES: dict[str, Callable[[object], bool]] = {
    "string": lambda value: type(value) is str,
    "number": _is_number,
    "integer": lambda value: _is_number(value) and value == int(cast("float", value)),
    "boolean": lambda value: type(value) is bool,
    "null": lambda value: value is None,
    "object": lambda value: type(value) is dict or type(value) is FrozenDict,
    "array": lambda value: type(value) is list or type(value) is tuple,
}
