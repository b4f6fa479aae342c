"""List what each plugin can be told: keys, types, defaults and meaning."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import cast

import attrs

from catalogue.markdown import code, first_line, page, table
from catalogue.names import Names
from catalogue.plugins import Offer, offers
from catalogue.schema_words import Schema, literal, marks, words
from vendor_shims.schema import json_schema

INTRODUCTION = """\
The plugins that the distribution offers under the entry point group `harness.plugins`, and the
configuration of each. A key with dots is a member of an object. Where no default is given, the key
must be there; a default of `null` leaves the choice to the plugin, as its description says."""


def render(names: Names) -> str:
    """Write the page."""
    found = offers(names.tree.root)
    parts = [f"{len(found)} plugins. {INTRODUCTION}"]
    for offer in found:
        parts += [f"## {code(offer.name)}", *describe(offer)]
    return page("Plugin configuration", *parts)


def describe(offer: Offer) -> Iterator[str]:
    """Yield what is said of one plugin: its purpose, what it waits for, its configuration."""
    plugin = offer.load()
    purpose = first_line(plugin.__doc__ or "")
    yield f"{code(offer.reference)}: {purpose}"
    schema_class = getattr(plugin, "Config", None)
    if schema_class is None:
        yield "No configuration."
    elif not attrs.has(schema_class):
        yield f"Checked by {code(getattr(schema_class, '__name__', repr(schema_class)))}."
    else:
        rows = list(rows_of(json_schema(schema_class)))
        heads = ["key", "type", "default", "meaning"]
        yield table(heads, rows) if rows else "No configuration."


def rows_of(schema: Schema) -> Iterator[tuple[str, str, str, str]]:
    """Yield a table row for each key, those of objects inside objects included."""
    yield from _rows(schema, schema.get("$defs", {}), prefix="", seen=())


def _rows(
    schema: Schema, definitions: Schema, *, prefix: str, seen: tuple[str, ...]
) -> Iterator[tuple[str, str, str, str]]:
    required = schema.get("required", ())
    for key, member in schema.get("properties", {}).items():
        default = "" if key in required else _default_of(member)
        name, suffix = _class_inside(member)
        nested = definitions.get(name) if name not in seen else None
        is_plain = nested is not None and suffix == "."
        said = "; ".join(marks(member))
        yield (
            code(prefix + key),
            "object" if is_plain else code(words(member)),
            "" if is_plain else code(default),
            " ".join(filter(None, [member.get("description"), f"({said})" if said else ""])),
        )
        if nested is not None:
            inside = f"{prefix}{key}{suffix}"
            yield from _rows(nested, definitions, prefix=inside, seen=(*seen, name))


def _class_inside(member: Schema) -> tuple[str, str]:
    """Return the one class that a member is or holds, and how its members are written.

    They are written `key.name` for the object itself, `key[].name` for the items of a list and
    `key.*.name` for the values of an object with free keys. Empty when there is no such class.
    """
    found: list[tuple[str, str]] = []
    choices: list[Schema] = [member, *member.get("allOf", ()), *member.get("anyOf", ())]
    for one in choices:
        for suffix, key in ((".", ""), ("[].", "items"), (".*.", "additionalProperties")):
            inner: object = one.get(key) if key else one
            reference = cast("Schema", inner).get("$ref") if isinstance(inner, Mapping) else None
            if reference is not None:
                found.append((str(reference).rpartition("/")[2], suffix))
    return found[0] if len(found) == 1 else ("", ".")


def _default_of(member: Schema) -> str:
    return literal(member["default"]) if "default" in member else ""
