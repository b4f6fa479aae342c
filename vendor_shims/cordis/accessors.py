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

    def body() -> Callable[[], Any]:
        tree = ctx.kernel
        if name in tree.declared:
            raise CordisError(f'property "{name}" is already declared as service')
        ctx.require_free_name(name)
        tree.accessors[name] = Accessor(get, set)
        return lambda: tree.accessors.pop(name)

    return ctx.effect(body, f'ctx.accessor("{name}")')


def define_mixin(ctx: Context, source: Any, names: list[str] | Mapping[str, str]) -> Effect:
    """Forward `names` (or `{member: context name}`) of a service or object to contexts."""
    pairs = names.items() if isinstance(names, Mapping) else [(name, name) for name in names]

    def body() -> Iterator[Effect]:
        for member, alias in pairs:
            yield define_accessor(ctx, alias, _getter(source, member), _setter(source, member))

    label = source if isinstance(source, str) else type(source).__name__
    return ctx.effect(body, f'ctx.mixin("{label}")')


def _holder(ctx: Any, source: Any) -> Any:
    return ctx.require(source) if isinstance(source, str) else source


def _getter(source: Any, member: str) -> Callable[[Any], Any]:
    def get(ctx: Any) -> Any:
        if isinstance(source, str) and ctx.fiber.owner is None:
            holder = ctx.get(source, strict=False)
            return None if holder is None else getattr(holder, member)
        return getattr(_holder(ctx, source), member)

    return get


def _setter(source: Any, member: str) -> Callable[[Any, Any], None]:
    def set(ctx: Any, value: Any) -> None:
        setattr(_holder(ctx, source), member, value)

    return set
