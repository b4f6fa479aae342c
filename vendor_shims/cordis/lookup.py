"""Reading and assigning attributes of a context that are not its own: the checked slow path."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .errors import ServiceInactive, ServiceNotInjected
from .events import INTERNAL_GET, INTERNAL_SET

if TYPE_CHECKING:
    from .context import Context


def read(ctx: Context, name: str) -> Any:
    """Answer `ctx.<name>` when the context's own dictionary and class have no such attribute.

    That is a tag, an accessor's value, or a service that the context may read.

    Raises:
        ServiceInactive: the name is declared on the way to the root but not available.
        ServiceNotInjected: nobody on the way to the root declared it.
    """
    if name.startswith("_"):
        raise AttributeError(f"{type(ctx).__name__!r} object has no attribute {name!r}")
    if name in ctx.own_tags:
        return ctx.own_tags[name]
    tree = ctx.kernel
    accessor = tree.accessors.get(name)
    if accessor is not None:
        return accessor.get(ctx)
    if ctx.fiber.owner is not None and tree.bus.has_listeners(INTERNAL_GET):
        error = ServiceNotInjected(_message(name), name=name, fiber=ctx.fiber)
        return tree.bus.waterfall(
            INTERNAL_GET, (ctx, name, error), lambda *_: resolve(ctx, name), None
        )
    return resolve(ctx, name)


def resolve(ctx: Context, name: str) -> Any:
    """Walk from the context's fiber towards the root; see `read` for the errors."""
    realm = ctx.realm(name)
    fiber = ctx.fiber
    while True:
        binding = fiber.view.get(realm) or fiber.bindings.get(realm)
        if binding is not None:
            return binding.value_for(ctx)
        spec = fiber.inject.get(name)
        if spec is not None and fiber.ctx.realm(name) is realm:
            if not spec.is_followed and realm.binding and realm.binding.available_to(fiber):
                return realm.binding.value_for(ctx)
            raise ServiceInactive(
                f"{'required' if spec.required else 'optional'} service {name} is not available:"
                f" fiber {fiber.name} is {fiber.state.name}",
                name=name,
                fiber=fiber,
            )
        mounted_on = fiber.ctx.parent
        if fiber.owner is None or mounted_on is None or mounted_on.realm(name) is not realm:
            break
        fiber = mounted_on.fiber
    if ctx.fiber.owner is None and realm.binding is not None:
        return realm.binding.value_for(ctx)
    raise ServiceNotInjected(_message(name), name=name, fiber=ctx.fiber, hint=_hint(ctx, name))


def assign(ctx: Context, name: str, value: Any) -> None:
    """Answer `ctx.<name> = value`: set an accessor or a service that this fiber provides."""
    if name.startswith("_"):
        object.__setattr__(ctx, name, value)
        return
    tree = ctx.kernel
    if name in ctx.member_names():
        raise AttributeError(f"cannot assign the context's own member {name!r}")
    accessor = tree.accessors.get(name)
    if accessor is not None:
        if accessor.set is None:
            raise AttributeError(f"property {name!r} has no setter")
        accessor.set(ctx, value)
        return
    if tree.bus.has_listeners(INTERNAL_SET):
        error = AttributeError(f'cannot set property "{name}" without provide')
        tree.bus.waterfall(
            INTERNAL_SET, (ctx, name, value, error), lambda *_: ctx.set(name, value), None
        )
    else:
        ctx.set(name, value)


def _message(name: str) -> str:
    return f"cannot get property {name!r} without inject"


def _hint(ctx: Context, name: str) -> str:
    binding = ctx.realm(name).binding
    if binding is not None:
        return f"provided by {binding.provider.name}; declare it in inject, or use ctx.get"
    tree = ctx.kernel
    known = [*tree.declared, *tree.accessors, *ctx.member_names()]
    from difflib import get_close_matches

    close = get_close_matches(name, known, n=1)
    return f"did you mean {close[0]!r}?" if close else ""
