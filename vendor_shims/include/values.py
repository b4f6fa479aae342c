"""Copies and mixtures of row values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias, cast
from zlib import crc32

from vendor_shims.expressions import Expression

Value: TypeAlias = Any
"""What a row may hold: JSON values, and `Expression` nodes among them."""

MAX_DEPTH = 64
_SCALARS = {str, int, float, bool, type(None), Expression}


def detached(value: Value) -> Value:
    """Return a copy that shares no list or mapping with the original."""
    if isinstance(value, Mapping):
        given = cast("Mapping[str, Any]", value)
        return {key: detached(member) for key, member in given.items()}
    if isinstance(value, list | tuple):
        return [detached(item) for item in cast("list[Any]", value)]
    return value


def merged(below: Value, above: Mapping[str, Any]) -> dict[str, Any]:
    """Return a mapping with another laid over it, detached from both.

    Mappings are merged, `None` removes a key, everything else replaces.
    """
    result: dict[str, Any] = detached(below) if isinstance(below, Mapping) else {}
    for key, value in above.items():
        if value is None:
            result.pop(key, None)
        elif isinstance(value, Mapping):
            result[key] = merged(result.get(key), cast("Mapping[str, Any]", value))
        else:
            result[key] = detached(value)
    return result


def is_group(row: Mapping[str, Any]) -> bool:
    """Return whether the config of a row is a list of rows."""
    return row.get("group") is True and isinstance(row.get("config"), list)


def is_same(one: Value, other: Value) -> bool:
    """Return whether two values are equal; `None` is like an absent member, `1` not like `True`."""
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        left, right = cast("Mapping[str, Any]", one), cast("Mapping[str, Any]", other)
        return all(is_same(left.get(key), right.get(key)) for key in {*left, *right})
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        ones, others = cast("list[Any]", one), cast("list[Any]", other)
        return len(ones) == len(others) and all(map(is_same, ones, others))
    return type(cast("object", one)) is type(cast("object", other)) and bool(one == other)


def is_identical(one: Value, other: Value) -> bool:
    """Return whether two values are written alike: `is_same`, but no absent member is like `None`.

    Expressions are compared by what they say, wherever they stand.
    """
    if isinstance(one, dict) and isinstance(other, Mapping):
        left, right = cast("dict[str, Any]", one), cast("Mapping[str, Any]", other)
        return left.keys() == right.keys() and all(is_identical(left[k], right[k]) for k in left)
    if isinstance(one, list) and isinstance(other, list | tuple):
        ones, others = cast("list[Any]", one), cast("list[Any]", other)
        return len(ones) == len(others) and all(map(is_identical, ones, others))
    return type(cast("object", one)) is type(cast("object", other)) and bool(one == other)


def unwritable(value: Value, depth: int = 0) -> str | None:
    """Return what there is in a value that no file can hold; None when there is nothing."""
    parts: list[Any] = []
    if isinstance(value, dict):
        given = cast("dict[Any, Any]", value)
        strange = next((key for key in given if type(key) is not str), None)
        if strange is not None:
            return f"a key of type {type(strange).__name__}"
        parts = [*given.values()]
    elif isinstance(value, list | tuple):
        parts = [*cast("list[Any]", value)]
    elif type(value) not in _SCALARS:
        return f"a value of type {type(value).__name__}"
    if parts and depth == MAX_DEPTH:
        return f"values nested deeper than {MAX_DEPTH} levels"
    found = (unwritable(part, depth + 1) for part in parts)
    return next((problem for problem in found if problem is not None), None)


def stable_id(parent: str | None, name: object, n_before: int) -> str:
    """Return eight hex digits for a row without id: the same for the same place in its list.

    Args:
        parent: the id of the group row around it.
        name: the plugin reference of the row.
        n_before: how many rows without id and of that name stand before it.
    """
    key = f"{parent or ''}|{name}|{n_before}"
    return f"{crc32(key.encode('utf-8', 'surrogatepass')):08x}"


def ordered(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row as it is written: id, name, the others by name, config last; groups too."""
    first = [key for key in ("id", "name") if key in row]
    last = [key for key in ("config",) if key in row]
    middle = sorted(key for key in row if key not in (*first, *last))
    result = {key: row[key] for key in (*first, *middle, *last)}
    if is_group(row):
        result["config"] = [
            ordered(cast("Mapping[str, Any]", one)) if isinstance(one, Mapping) else one
            for one in cast("list[Any]", row["config"])
        ]
    return result
