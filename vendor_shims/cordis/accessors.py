"""Computed attributes of contexts, and mixins that forward to a service's members."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from .errors import CordisError
from .tree import Accessor

if TYPE_CHECKING:
    from .context import Context
    from .effect import Effect


def define_accessor(
    ctx: Context,
    name: str,
    get: Callable[[Any], Any],
    set: Callable[[Any, Any], None] | None,
) -> Effect:
    """Declare `name` on all contexts of the tree for the life of the fiber."""
    return ctx.effect(lambda: _declare(ctx, name, Accessor(get, set)), _label(name))


def define_mixin(ctx: Context, source: Any, names: list[str] | Mapping[str, str]) -> Effect:
    """Forward `names` (or `{member: context name}`) of a service or object to contexts.

    Who forwards a name to the same member of the same service, as a second instance of it in a
    realm of its own does, shares the attribute; it goes with the last of them.
    """
    pairs = names.items() if isinstance(names, Mapping) else [(name, name) for name in names]

    def body() -> Iterator[Effect]:
        for member, name in pairs:
            yield ctx.effect(lambda m=member, n=name: _forward(ctx, source, m, n), _label(name))

    label = source if isinstance(source, str) else type(source).__name__
    return ctx.effect(body, f'ctx.mixin("{label}")')


def _label(name: str) -> str:
    return f'ctx.accessor("{name}")'


def _declare(ctx: Context, name: str, accessor: Accessor) -> Callable[[], object]:
    tree = ctx.kernel
    if name in tree.declared:
        raise CordisError(f'property "{name}" is already declared as service')
    ctx.require_free_name(name)
    tree.accessors[name] = accessor
    return lambda: tree.accessors.pop(name)


def _forward(ctx: Context, source: Any, member: str, name: str) -> Callable[[], object]:
    found = ctx.kernel.accessors.get(name)
    shared = None if found is None else found.forward
    if shared is None or not shared.leads_to(source, member):
        forward = shared = Forward(source, member)
        _declare(ctx, name, Accessor(forward.get, forward.set, forward))
    shared.n_holders += 1

    def release() -> None:
        shared.n_holders -= 1
        if not shared.n_holders:
            ctx.kernel.accessors.pop(name)

    return release


class Forward:
    """Leads from an attribute of contexts to a member of a service or object."""

    def __init__(self, source: Any, member: str) -> None:
        self.n_holders = 0
        self._source = source
        self._member = member

    def leads_to(self, source: Any, member: str) -> bool:
        """Return whether it forwards to the same member of the same service by name."""
        return isinstance(source, str) and (source, member) == (self._source, self._member)

    def get(self, ctx: Any) -> Any:
        """Read for a context; through the root `None` while there is no service."""
        if isinstance(self._source, str) and ctx.fiber.owner is None:
            holder = ctx.get(self._source, strict=False)
            return None if holder is None else getattr(holder, self._member)
        return getattr(self._holder(ctx), self._member)

    def set(self, ctx: Any, value: Any) -> None:
        """Write for a context."""
        setattr(self._holder(ctx), self._member, value)

    def _holder(self, ctx: Any) -> Any:
        return ctx.require(self._source) if isinstance(self._source, str) else self._source
