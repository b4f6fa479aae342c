"""Keep the first items of a list that may be long."""

from typing import Generic, TypeVar

from harness.retention.errors import check_budget
from harness.retention.omitted import NOTHING, Exact, Omitted

T = TypeVar("T")


class ItemRetainer(Generic[T]):
    """Keep the first `max_items` items and count the rest.

    Invariants:
        - `kept + omitted == seen`, and `kept <= max_items`.
    """

    def __init__(self, max_items: int) -> None:
        """Start empty; a budget of 0 keeps nothing and counts everything."""
        self._max_items = check_budget(max_items, "max_items")
        self._items: list[T] = []
        self.seen: int = 0
        """How many items have been offered."""

    def add(self, item: T) -> bool:
        """Offer one item; return whether it is kept, so that a producer may stop."""
        self.seen += 1
        if len(self._items) >= self._max_items:
            return False
        self._items.append(item)
        return True

    @property
    def items(self) -> tuple[T, ...]:
        """Return the kept items, oldest first."""
        return tuple(self._items)

    @property
    def kept(self) -> int:
        """Return how many items are kept."""
        return len(self._items)

    @property
    def truncated(self) -> bool:
        """Return whether an item is missing."""
        return self.seen > len(self._items)

    @property
    def omitted(self) -> Omitted:
        """Return how many items are missing."""
        missing = self.seen - len(self._items)
        return Exact(missing) if missing else NOTHING
