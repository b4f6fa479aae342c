"""Where a context stands: the realms and config layers it and everything derived from it see."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .realm import Realm


class Placement:
    """One link of a chain from a context to the root; contexts that differ in nothing share it.

    Derived contexts refer to it instead of copying it, so that moving a context moves all of
    them at once.

    Invariants: only `relocate` changes a placement after it was made, and it looks again at every
    fiber that stands in it.
    """

    __slots__ = ("layers", "outer", "realms")

    def __init__(
        self,
        outer: Placement | None = None,
        *,
        realms: Mapping[str, Realm] | None = None,
        layers: tuple[tuple[str, Any], ...] = (),
    ) -> None:
        self.outer = outer
        self.realms: Mapping[str, Realm] = {} if realms is None else realms
        self.layers = layers

    def chain(self) -> Iterator[Placement]:
        """Return the placement and those around it, nearest first."""
        link: Placement | None = self
        while link is not None:
            yield link
            link = link.outer

    def realm(self, name: str) -> Realm | None:
        """Return the nearest realm that isolates `name`, if any does."""
        link: Placement | None = self
        while link is not None:
            realm = link.realms.get(name)
            if realm is not None:
                return realm
            link = link.outer
        return None

    def layers_for(self, name: str) -> list[Any]:
        """Return the config layers for service `name`, outermost first."""
        links = reversed(tuple(self.chain()))
        return [config for link in links for key, config in link.layers if key == name]
