"""Hold JSON values that nobody can change after they were built."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias, cast

Json: TypeAlias = Any
"""A JSON value at a border: whoever reads it checks its shape."""


class FrozenDict(dict[str, Any]):
    """Behave like a dictionary that refuses every change; the JSON encoder takes it as it is."""

    __slots__ = ()

    def _refuse(self, *_args: object, **_kwargs: object) -> NoReturn:
        raise TypeError("this JSON object is frozen; build a new one instead")

    if not TYPE_CHECKING:  # refusing everything is narrower than what a dictionary promises
        __setitem__ = __delitem__ = __ior__ = _refuse
        clear = pop = popitem = setdefault = update = _refuse


def freeze_json(value: Json) -> Json:
    """Return a deeply frozen copy of a JSON value: objects as `FrozenDict`, lists as tuples."""
    if isinstance(value, FrozenDict):
        return value
    if isinstance(value, Mapping):
        items = cast("Mapping[str, Any]", value).items()
        return FrozenDict({key: freeze_json(item) for key, item in items})
    if isinstance(value, (list, tuple)):
        return tuple(freeze_json(item) for item in cast("list[Any]", value))
    return value


def thaw(value: Json) -> Json:
    """Return a mutable deep copy of a frozen JSON value: plain dictionaries and lists."""
    if isinstance(value, Mapping):
        items = cast("Mapping[str, Any]", value).items()
        return {key: thaw(item) for key, item in items}
    if isinstance(value, (list, tuple)):
        return [thaw(item) for item in cast("list[Any]", value)]
    return value


def json_equal(left: Json, right: Json) -> bool:
    """Compare two JSON values: numbers by value, but a boolean never equals a number."""
    pending: list[tuple[Any, Any]] = [(left, right)]
    while pending:
        one, other = pending.pop()
        if isinstance(one, dict) and isinstance(other, dict):
            first, second = cast("dict[str, Any]", one), cast("dict[str, Any]", other)
            if first.keys() != second.keys():
                return False
            pending.extend((first[key], second[key]) for key in first)
        elif isinstance(one, (list, tuple)) and isinstance(other, (list, tuple)):
            items, others = cast("list[Any]", one), cast("list[Any]", other)
            if len(items) != len(others):
                return False
            pending.extend(zip(items, others, strict=True))
        elif isinstance(one, bool) or isinstance(other, bool):
            if one is not other:
                return False
        elif one != other:
            return False
    return True
