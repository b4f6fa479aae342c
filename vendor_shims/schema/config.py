"""Declare configuration classes: the `config` decorator and its fields."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from typing import (
    Any,
    Literal,
    TypeVar,
    dataclass_transform,
    overload,
)

import attrs

from vendor_shims.schema.errors import SchemaError

T = TypeVar("T")

ALIAS = "schema.alias"
DOC = "schema.doc"
ROLE = "schema.role"
EXTRA_ATTRIBUTE = "__schema_extra__"
"""Class attribute that holds the `extra` option."""

_MENTIONS_WRAPPER = re.compile(r"\b(?:Secret|Volatile)\[").search


def field(
    *,
    default: Any = attrs.NOTHING,  # noqa: ANN401  # the field's own type, which only the class knows
    factory: Callable[[], Any] | None = None,
    doc: str = "",
    role: str = "",
    alias: str = "",
) -> Any:  # noqa: ANN401  # stands where a value of the field's type is declared
    """Declare one field of a config class.

    Args:
        default: Value of an absent key; immutable.
        factory: Makes the value of an absent key, for lists and mappings.
        doc: Description with its unit; a docstring under the field does the same.
        role: Hint for editors such as `ms`, `table`, `path`.
        alias: Key in files instead of the camelCase form of the name.

    Raises:
        TypeError: Both default and factory are given, or the default is mutable.
    """
    if factory is not None and default is not attrs.NOTHING:
        raise TypeError("give either default or factory")
    if isinstance(default, list | dict | set):
        raise TypeError("a mutable default would be shared; give factory instead")
    if factory is not None:
        default = attrs.Factory(factory)
    return attrs.field(default=default, metadata={ALIAS: alias, DOC: doc, ROLE: role})


@overload
def config(cls: type[T], /) -> type[T]: ...


@overload
def config(*, extra: Literal["forbid", "allow"] = "forbid") -> Callable[[type[T]], type[T]]: ...


@dataclass_transform(kw_only_default=True, frozen_default=True, field_specifiers=(field,))
def config(
    cls: type[T] | None = None, /, *, extra: Literal["forbid", "allow"] = "forbid"
) -> type[T] | Callable[[type[T]], type[T]]:
    """Make a class an immutable record that validates raw configuration.

    The class gets two class methods unless it has its own: `validate(raw)` returns an instance
    (`structure`), `merge(*layers)` joins raw layers. Fields are keyword-only. A rule across fields
    goes into `__attrs_post_init__` and raises ValueError.

    Args:
        cls: The class, when used without parentheses.
        extra: `allow` collects unknown keys in a field `extra`, which the class must declare as
            `dict[str, ...]` with a factory; `forbid` refuses them.
    """

    def decorate(target: type[T]) -> type[T]:
        setattr(target, EXTRA_ATTRIBUTE, extra)
        names = {name for base in target.__mro__ for name in inspect.get_annotations(base)}
        if taken := names & {"validate", "merge"}:
            raise SchemaError(f"{target.__name__}: no field can be named {sorted(taken)}")
        if extra == "allow" and "extra" not in names:
            raise SchemaError(f'{target.__name__}: extra="allow" needs a field `extra`')
        _add_method(target, "validate", classmethod(_validate))
        _add_method(target, "merge", classmethod(_merge))
        define = attrs.define(kw_only=True, frozen=True, field_transformer=_wrap_fields)
        return define(target)

    return decorate if cls is None else decorate(cls)


def _add_method(target: type, name: str, method: object) -> None:
    if getattr(target, name, None) is None:
        setattr(target, name, method)


def _validate(cls: type[T], raw: object = None) -> T:
    """Return `raw` as an instance; an instance unchanged, None like an empty mapping.

    Raises:
        ValidationError: Something does not match; carries every issue.
    """
    from vendor_shims.schema.structure import structure

    return structure(cls, raw)


def _merge(cls: type[object], *layers: object) -> dict[str, Any]:
    """Return raw layers joined, later ones winning; mappings merge, everything else is replaced."""
    from vendor_shims.schema.merge import merge_for

    return merge_for(cls, *layers)


def _wrap_fields(_cls: type, fields: list[attrs.Attribute[Any]]) -> list[attrs.Attribute[Any]]:
    """Let constructor and defaults take plain values for `Secret` and `Volatile` fields."""
    wrap: Any = attrs.Converter(_wrap, takes_self=True, takes_field=True)
    return [
        attribute.evolve(converter=wrap) if _MENTIONS_WRAPPER(str(attribute.type)) else attribute
        for attribute in fields
    ]


def _wrap(value: object, instance: object, attribute: attrs.Attribute[Any]) -> object:
    from vendor_shims.schema.compile import wrapper_of

    wrapper = None if value is None else wrapper_of(type(instance), attribute.name)
    return value if wrapper is None or type(value) is wrapper else wrapper(value)
