"""Raw data to config objects and back."""

from __future__ import annotations

from typing import TypeVar, overload

import attrs

from vendor_shims.cordis.errors import Issue, ValidationError
from vendor_shims.schema.compile import node_of
from vendor_shims.schema.node import Dump, dump_value
from vendor_shims.schema.report import MAX_DEPTH, Report
from vendor_shims.schema.shapes import Raw

T = TypeVar("T")


@overload
def structure(cls: type[T], raw: object, *, title: str = ...) -> T: ...


@overload
def structure(cls: object, raw: object, *, title: str = ...) -> Raw: ...


def structure(cls: object, raw: object, *, title: str = "invalid config:") -> Raw:
    """Return `raw` as an instance of `cls`, a config class or any supported type.

    Nothing is coerced except whole floats to int and int to float. An instance is returned as it
    is; for a class None counts as an empty mapping. Lists and mappings are copied.

    Args:
        cls: Config class or type expression.
        raw: JSON-like data.
        title: First line of the error's message.

    Raises:
        ValidationError: Something does not match; carries every issue.
        SchemaError: The class itself cannot be used.
    """
    node = node_of(cls)
    if raw is None and isinstance(cls, type) and attrs.has(cls):
        raw = {}
    report = Report()
    try:
        value = node.check(raw, (), report)
    except RecursionError:
        raise ValidationError(
            [Issue(f"nested deeper than {MAX_DEPTH} levels")], title=title
        ) from None
    if not report.n_found:
        return value
    raise ValidationError(report.final(), title=title)


def unstructure(value: object, *, reveal: bool = False) -> Raw:
    """Return a config object as raw data under its wire names; secrets masked unless revealed."""
    return dump_value(value, Dump(reveal=reveal))


def simplify(cls: object, value: object) -> Raw:
    """Return the raw form of `value` without members that equal their defaults, at any depth.

    Secrets are revealed, since the result is written back to where they were read:
    `structure(cls, simplify(cls, value)) == value`.
    """
    return node_of(cls).dump(value, Dump(lean=True, reveal=True))
