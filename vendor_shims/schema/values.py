"""Field values with a behaviour of their own: masked secrets and replaceable settings."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Generic, TypeVar, cast

T = TypeVar("T")

MASK = "******"
"""What is shown instead of a secret."""


class Secret(Generic[T]):
    """Holds a value that must not appear in logs, messages or dumps.

    `str`, `repr` and formatting show a mask; only `reveal` gives the value. Equal to another secret
    of an equal value.
    """

    __slots__ = ("_value",)

    def __init__(self, value: T) -> None:
        self._value = value

    def reveal(self) -> T:
        """Return the value itself."""
        return self._value

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Secret):
            return NotImplemented
        return self._value == cast("Secret[Any]", other)._value

    def __hash__(self) -> int:
        return hash(("secret", self._value))

    def __repr__(self) -> str:
        return f"Secret({MASK})"

    def __str__(self) -> str:
        return MASK

    def __format__(self, spec: str) -> str:
        return format(MASK, spec)


class Volatile(Generic[T]):
    """A reference to a setting that may change while its plugin runs.

    Keep the reference and call `get` at each use. Snapshots are immutable all the way down:
    mappings become read-only, lists become tuples. Only plain data is accepted.

    Invariants: the reference of a running plugin stays the same object across updates; a snapshot
    once returned by `get` never changes.
    """

    __slots__ = ("_snapshot",)

    def __init__(self, value: T) -> None:
        self._snapshot = freeze(value)

    def get(self) -> T:
        """Return the current snapshot."""
        return cast("T", self._snapshot)

    def replace(self, value: T) -> None:
        """Put a new snapshot in place; called by whoever applies configuration.

        Raises:
            TypeError: The value holds something other than plain data.
        """
        self._snapshot = freeze(value)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Volatile):
            return NotImplemented
        return self._snapshot == cast("Volatile[Any]", other)._snapshot

    __hash__ = None  # pyright: ignore[reportAssignmentType]  # a changing value has no hash

    def __repr__(self) -> str:
        return f"Volatile({self._snapshot!r})"


def freeze(value: Any) -> Any:  # noqa: ANN401  # plain data of any shape in, the same shape out
    """Return `value` with read-only mappings and tuples instead of dictionaries and lists.

    Raises:
        TypeError: Something in it is neither a mapping, a list nor a scalar.
    """
    if value is None or isinstance(value, str | int | float | Secret):
        return cast("Any", value)
    if isinstance(value, Mapping):
        members = cast("Mapping[str, Any]", value)
        return MappingProxyType({key: freeze(member) for key, member in members.items()})
    if isinstance(value, list | tuple):
        return tuple(freeze(member) for member in cast("list[Any]", value))
    raise TypeError(f"a volatile setting holds plain data, not {type(value).__name__}")


def thaw(value: Any) -> Any:  # noqa: ANN401  # as `freeze`
    """Return a frozen snapshot as dictionaries and lists again."""
    if isinstance(value, Mapping):
        members = cast("Mapping[str, Any]", value)
        return {key: thaw(member) for key, member in members.items()}
    if isinstance(value, tuple):
        return [thaw(member) for member in cast("tuple[Any, ...]", value)]
    return value
