"""Describe what layers may hold, from the configuration classes of the plugins they name."""

import os
from collections.abc import Iterator, Mapping
from typing import Any, Final, cast

from vendor_shims.include import Composed
from vendor_shims.loader import PluginResolver
from vendor_shims.schema import SchemaError, json_schema

_EXPRESSION: Final[dict[str, Any]] = {"type": "string", "pattern": r"\$\{"}
_SCHEMAS = ("properties", "$defs", "patternProperties")
_LISTS = ("anyOf", "oneOf", "allOf", "prefixItems")


def all_rows(rows: object) -> Iterator[Mapping[str, Any]]:
    """Yield rows, and those in groups behind their group."""
    for row in cast("list[Any]", rows) if isinstance(rows, list) else ():
        yield row
        if row.get("group") is True:
            yield from all_rows(row.get("config"))


def layer_schema(composed: Composed) -> dict[str, Any]:
    """Return a JSON Schema, draft 2020-12, of lists of rows and of patches.

    `x-entries` names each row with its plugin and the layers that touched it. A row whose plugin
    cannot be imported or has no configuration class is not restricted. Where a value may be
    computed, a text with `${` is accepted.
    """
    resolver = PluginResolver()
    rules: list[dict[str, Any]] = []
    entries: list[dict[str, Any]] = []
    for row in all_rows(composed.rows):
        entry_id, name = row["id"], str(row.get("name"))
        entries.append({"id": entry_id, "name": name, "origin": list(composed.origin(entry_id))})
        place = composed.place(entry_id)
        base_dir = os.path.dirname(place.file) if place is not None and place.file else None
        model = config_class(resolver, name, base_dir=base_dir)
        if model is not None:
            rules.append(_rule(entry_id, model))
    item: dict[str, Any] = {
        "type": "object",
        "properties": {
            "id": {"type": "string"},
            "name": {"type": "string"},
            "insert": {"type": "array", "items": {"$ref": "#/$defs/item"}},
        },
        "allOf": rules,
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "rows and patches of dsh",
        "type": "array",
        "items": {"$ref": "#/$defs/item"},
        "x-entries": entries,
        "$defs": {"item": item},
    }


def config_class(resolver: PluginResolver, name: str, *, base_dir: str | None = None) -> Any:  # noqa: ANN401 - any class
    """Return the configuration class of the plugin that a row names; None when it has none.

    Nothing is mounted, but the plugin's module is imported.
    """
    try:
        return getattr(resolver.resolve(name, base_dir=base_dir).plugin, "Config", None)
    except Exception:  # noqa: BLE001 - importing a plugin runs its code
        return None


def _rule(entry_id: str, model: object) -> dict[str, Any]:
    """Return what holds for a row or a patch of an id."""
    try:
        schema = json_schema(model, dialect=False)
    except SchemaError:
        return {}
    config = _computed(schema)
    merge = _partial(_computed(schema))
    return {
        "if": {"properties": {"id": {"const": entry_id}}, "required": ["id"]},
        "then": {
            "properties": {
                "config": {"$id": f"dsh:config:{entry_id}", **config},
                "merge": {"$id": f"dsh:merge:{entry_id}", **merge},
            }
        },
    }


def _computed(schema: Any, *, is_root: bool = True) -> Any:  # noqa: ANN401 - a JSON schema
    """Return a schema in which every value below the root may be an expression."""
    if not isinstance(schema, dict):
        return schema
    given = cast("dict[str, Any]", schema)
    new = dict(given)
    for key in _SCHEMAS:
        if key in given:
            is_definition = key == "$defs"
            new[key] = {
                name: _computed(inner, is_root=is_definition) for name, inner in given[key].items()
            }
    for key in ("items", "additionalProperties"):
        if isinstance(given.get(key), dict):
            new[key] = _computed(given[key], is_root=False)
    for key in _LISTS:
        if key in given:
            new[key] = [_computed(inner) for inner in given[key]]
    return new if is_root else {"anyOf": [new, _EXPRESSION]}


def _partial(schema: Any) -> Any:  # noqa: ANN401 - a JSON schema
    """Return a schema that asks for no key, and lets null remove one."""
    if isinstance(schema, list):
        return [_partial(inner) for inner in cast("list[Any]", schema)]
    if not isinstance(schema, dict):
        return schema
    new = {
        key: _partial(inner)
        for key, inner in cast("dict[str, Any]", schema).items()
        if key != "required"
    }
    if isinstance(new.get("properties"), dict):
        properties = cast("dict[str, Any]", new["properties"])
        new["properties"] = {
            name: {"anyOf": [inner, {"type": "null"}]} for name, inner in properties.items()
        }
    return new
