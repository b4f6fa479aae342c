"""Hold JSON values that nobody can change after they were built."""

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias, TypeVar, cast

T = TypeVar("T")

Json: TypeAlias = Any
"""A JSON value at a border: whoever reads it checks its shape."""


class FrozenDict(dict[str, Any]):
    """Behave like a dictionary that refuses every change; the JSON encoder takes it as it is."""

    __slots__ = ()

    def _refuse(self, *_args: object, **_kwargs: object) -> NoReturn:
        raise TypeError("this JSON object is frozen; build a new one instead")

    # Refusing everything is narrower than what a dictionary promises, so no checker sees it.
    if not TYPE_CHECKING:  # pragma: no branch
        __setitem__ = __delitem__ = __ior__ = _refuse
        clear = pop = popitem = setdefault = update = _refuse


class DeepTuple(tuple[Any, ...]):
    """Hold a frozen list that lies deeper than `MAX_PLAIN_DEPTH`.

    The fast encoder neither counts the levels of nested tuples nor reserves room for them, and
    overruns its buffer at about 2,000. It does not know this class and leaves it to the exact one.
    """

    __slots__ = ()


MAX_PLAIN_DEPTH = 250
_SCALARS: frozenset[type] = frozenset({str, int, float, bool, type(None)})


def as_tuple(items: Iterable[T]) -> tuple[T, ...]:
    """Return the items as a tuple: a converter for the fields of records.

    `tuple` itself would do; but attrs reads the signature of a converter, and the first built-in
    whose signature is read costs a start 2 ms.
    """
    return tuple(items)


def freeze_json(value: Json) -> Json:
    """Return a deeply frozen copy of a JSON value: objects as `FrozenDict`, lists as tuples.

    A part that is a `FrozenDict` already is shared. Works at any depth; a value that contains
    itself raises `ValueError`.
    """
    try:
        return _frozen(value, MAX_PLAIN_DEPTH)
    except RecursionError:  # deeper than any real payload: slower, and at any depth
        pass
    return _copy_deep(value, is_frozen=True)


def thaw(value: Json) -> Json:
    """Return a mutable deep copy of a frozen JSON value: plain dictionaries and lists.

    Works at any depth; a value that contains itself raises `ValueError`.
    """
    try:
        return _thawed(value)
    except RecursionError:  # as above
        pass
    return _copy_deep(value, is_frozen=False)


def _frozen(value: Json, n_levels: int) -> Json:
    """Copy what is not frozen yet; scalars are looked at in place, since most members are some."""
    is_plain = type(value) is dict
    if not is_plain and isinstance(value, FrozenDict):
        return value
    if is_plain or isinstance(value, Mapping):
        return FrozenDict(
            {
                key: item if type(item) in _SCALARS else _frozen(item, n_levels - 1)
                for key, item in cast("Mapping[str, Any]", value).items()
            }
        )
    if isinstance(value, (list, tuple)):
        if n_levels < 0:
            raise RecursionError
        return tuple(
            [
                item if type(item) in _SCALARS else _frozen(item, n_levels - 1)
                for item in cast("list[Any]", value)
            ]
        )
    return value


def _thawed(value: Json) -> Json:
    if isinstance(value, Mapping):
        items = cast("Mapping[str, Any]", value).items()
        return {key: _thawed(item) for key, item in items}
    if isinstance(value, (list, tuple)):
        return [_thawed(item) for item in cast("list[Any]", value)]
    return value


def _copy_deep(value: Json, *, is_frozen: bool) -> Json:
    """Copy without recursion. Invariant: `inside` holds the identities of the open containers."""
    copied: list[Any] = []
    opened: list[tuple[Json, Iterator[Any], list[Any]]] = [((), iter((value,)), copied)]
    inside: set[int] = set()
    while opened:
        source, rest, items = opened[-1]
        for item in rest:
            members = _members(item, is_frozen=is_frozen)
            if members is None:
                items.append(item)
                continue
            if id(item) in inside:
                raise ValueError("a JSON value must not contain itself")
            inside.add(id(item))
            opened.append((item, members, []))
            break
        else:
            opened.pop()
            inside.discard(id(source))
            if opened:
                is_deep = len(opened) > MAX_PLAIN_DEPTH
                closed = _close(source, items, is_frozen=is_frozen, is_deep=is_deep)
                opened[-1][2].append(closed)
    return copied[0]


def _members(value: Json, *, is_frozen: bool) -> Iterator[Any] | None:
    """Return what has to be copied one by one, `None` for a value that is taken as it is."""
    if isinstance(value, Mapping):
        if is_frozen and isinstance(value, FrozenDict):
            return None
        return iter(cast("Mapping[str, Any]", value).values())
    return iter(cast("list[Any]", value)) if isinstance(value, (list, tuple)) else None


def _close(source: Json, items: list[Any], *, is_frozen: bool, is_deep: bool) -> Json:
    if isinstance(source, Mapping):
        pairs = zip(cast("Mapping[str, Any]", source), items, strict=True)
        return FrozenDict(pairs) if is_frozen else dict(pairs)
    if not is_frozen:
        return items
    return DeepTuple(items) if is_deep else tuple(items)


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
