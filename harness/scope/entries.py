"""Hold the registrations of one layer, by name or in order."""

from collections.abc import Callable, Iterator
from typing import Generic, TypeVar

import attrs

V = TypeVar("V")


@attrs.define(eq=False)
class _Entry(Generic[V]):
    """One registration; its identity tells it from a later one of the same name."""

    value: V


class NamedEntries(Generic[V]):
    """Keep values by unique name, in registration order.

    Iteration walks a snapshot, so entries registered after it began are never seen by it.
    """

    __slots__ = ("_duplicate", "_entries")

    def __init__(self, duplicate: Callable[[str], Exception]) -> None:
        """Use `duplicate(name)` to make the error of a second registration of one name."""
        self._duplicate = duplicate
        self._entries: dict[str, _Entry[V]] = {}

    def add(self, name: str, value: V) -> Callable[[], None]:
        """Register a value and return its undo, which removes only this registration, once."""
        if name in self._entries:
            raise self._duplicate(name)
        entry = _Entry(value)
        self._entries[name] = entry

        def undo() -> None:
            if self._entries.get(name) is entry:
                del self._entries[name]

        return undo

    def get(self, name: str) -> V | None:
        """Return the value registered under a name, or `None`."""
        entry = self._entries.get(name)
        return None if entry is None else entry.value

    def as_dict(self) -> dict[str, V]:
        """Return a fresh dictionary of name to value, in registration order."""
        return {name: entry.value for name, entry in self._entries.items()}

    def __len__(self) -> int:
        return len(self._entries)

    def __iter__(self) -> Iterator[str]:
        return iter(tuple(self._entries))


class AnonymousEntries(Generic[V]):
    """Keep values in registration order; the same value may be registered several times.

    Iteration walks a snapshot, so entries registered after it began are never seen by it.
    """

    __slots__ = ("_entries",)

    def __init__(self) -> None:
        """Start empty."""
        self._entries: tuple[_Entry[V], ...] = ()

    def add(self, value: V) -> Callable[[], None]:
        """Register a value and return its undo, which removes only this registration, once."""
        entry = _Entry(value)
        self._entries = (*self._entries, entry)

        def undo() -> None:
            self._entries = tuple(other for other in self._entries if other is not entry)

        return undo

    def __len__(self) -> int:
        return len(self._entries)

    def __iter__(self) -> Iterator[V]:
        return iter([entry.value for entry in self._entries])
