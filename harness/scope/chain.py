"""Link scope keys into chains without keeping a key alive.

A key is any object compared by identity that supports weak references; in practice an agent. A link
lives as long as its key, so a chain still answers while the owner of a disposed scope says goodbye.
"""

import weakref
from collections.abc import Iterator

import attrs

from harness.scope.errors import ScopeBoundError, ScopeCycleError


@attrs.define(eq=False)
class _Link:
    """Hold the parent of one key. Invariant: `ref` is alive while the link is in the table."""

    ref: "weakref.ref[object]"
    parent: object | None


_links: dict[int, _Link] = {}


@attrs.frozen(eq=False)
class ScopeBinding:
    """Own the one parent link of a key; whoever holds it may re-link the key."""

    _link: _Link

    def rebind(self, parent: object | None) -> None:
        """Replace the parent; `None` makes the key a root.

        Raises:
            ScopeCycleError: the key is `parent` or one of its ancestors; the link is unchanged.
        """
        _refuse_cycle(self._link.ref(), parent)
        self._link.parent = parent


def bind_scope_parent(key: object, parent: object | None) -> ScopeBinding:
    """Link a key to its parent, once, and return the binding that may re-link it.

    Raises:
        ScopeBoundError: the key already has a link.
        ScopeCycleError: the key is `parent` or one of its ancestors.
        TypeError: the key does not support weak references.
    """
    ident = id(key)
    if ident in _links:
        raise ScopeBoundError(
            f"scope key {key!r} already has a parent; re-link it with its binding's rebind()"
        )
    _refuse_cycle(key, parent)
    link = _Link(weakref.ref(key, lambda _: _forget(ident)), parent)
    _links[ident] = link
    return ScopeBinding(link)


def scope_parent_of(key: object) -> object | None:
    """Return the parent of a key, or `None` when it has none."""
    link = _links.get(id(key))
    return None if link is None else link.parent


def iter_scope_chain(key: object | None) -> Iterator[object]:
    """Yield a key and its ancestors, nearest first; nothing for `None`."""
    while key is not None:
        yield key
        key = scope_parent_of(key)


def scope_chain_of(key: object | None) -> tuple[object, ...]:
    """Return a key and its ancestors, nearest first; empty for `None`."""
    return tuple(iter_scope_chain(key))


def _refuse_cycle(key: object, parent: object | None) -> None:
    for ancestor in iter_scope_chain(parent):
        if ancestor is key:
            raise ScopeCycleError(
                f"scope key {key!r} cannot be below {parent!r}, which is the key or below it"
            )


def _forget(ident: int) -> None:
    _links.pop(ident, None)
