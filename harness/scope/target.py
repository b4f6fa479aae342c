"""Route a dispatch to the listeners of one scope chain."""

from collections.abc import Callable
from typing import cast

from harness.scope.chain import scope_parent_of
from harness.scope.scope import scope_of
from vendor_shims.cordis import Context


class ScopeTarget:
    """Carry a dispatch for one scope key; pass it as `target=`.

    Untagged listeners are admitted, tagged ones when their key is the carrier's key or one of its
    ancestors. A `base` object with a filter of its own must admit the listener as well. With no
    key, only untagged listeners are admitted.
    """

    __slots__ = ("_base_filter", "base", "key")

    def __init__(self, base: object, key: object | None) -> None:
        """Bind the key; `base` may be `None`."""
        self.base = base
        self.key = key
        self._base_filter = cast(
            "Callable[[Context], bool] | None", getattr(base, "__event_filter__", None)
        )

    def __event_filter__(self, ctx: Context) -> bool:
        """Return whether a listener of `ctx` may see the dispatch."""
        if self._base_filter is not None and not self._base_filter(ctx):
            return False
        tag = scope_of(ctx)
        if tag is None:
            return True
        key = self.key
        while key is not None:
            if key is tag:
                return True
            key = scope_parent_of(key)
        return False


def scope_target(base: object, key: object | None) -> ScopeTarget:
    """Make a dispatch carrier for `key` that also honours the filter of `base`.

    An object whose own `__event_filter__` delegates to its carrier must not be that carrier's base.
    """
    return ScopeTarget(base, key)


UNSCOPED = ScopeTarget(None, None)
"""Carrier of a dispatch that belongs to no scope: only untagged listeners see it."""
