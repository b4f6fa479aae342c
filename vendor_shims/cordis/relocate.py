"""Moving a context of a running tree: other realms, other config layers, another owner.

Services provided below the context move with it; only fibers that see another binding afterwards
reload.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from .errors import ServiceConflict

if TYPE_CHECKING:
    from .context import Context
    from .fiber import Fiber
    from .placement import Placement
    from .realm import Binding, Realm


class _Move(NamedTuple):
    binding: Binding
    realm: Realm


def relocate(
    ctx: Context,
    *,
    realms: Mapping[str, Realm],
    layers: tuple[tuple[str, Any], ...],
    parent: Context | None = None,
) -> None:
    """Give a context made by `ctx.place` these realms and layers, below `parent` if given.

    Fibers mounted on the context change their owner with it. A changed layer restarts nobody; a
    service sees it at its next read.

    Raises:
        ServiceConflict: a service would move to where another one stands; nothing has changed.
        InactiveEffect: the fiber of `parent` takes no registrations now.
    """
    placement = ctx.placement
    tree = ctx.kernel
    fibers = tuple(_standing_in(placement, ctx.fiber))
    movable = [
        binding
        for fiber in fibers
        for binding in fiber.bindings.values()
        if binding.realm.binding is binding and fiber.ctx.realm(binding.realm.name) is binding.realm
    ]
    before = placement.outer, placement.realms, placement.layers
    if parent is not None and parent is not ctx.parent:
        parent.fiber.require_accepting()
        placement.outer = parent.placement
    placement.realms, placement.layers = dict(realms), layers
    try:
        moves = _planned(movable)
    except ServiceConflict:
        placement.outer, placement.realms, placement.layers = before
        raise
    if parent is not None and parent is not ctx.parent:
        _change_owner(ctx, parent)
    for realm in _moved(moves):
        tree.notify(realm)
    for fiber in fibers:
        if fiber.resolve_dependencies():
            fiber.retarget()
    tree.drain()


def _standing_in(placement: Placement, above: Fiber) -> Iterator[Fiber]:
    """Return the fibers below `above` whose contexts derive from the placement's."""
    for fiber in above.children():
        if placement in fiber.ctx.placement.chain():
            yield fiber
            yield from _standing_in(placement, fiber)


def _planned(movable: list[Binding]) -> list[_Move]:
    """Return which bindings change their realm, or raise because two would meet in one."""
    moves = [
        _Move(binding, realm)
        for binding in movable
        if (realm := binding.provider.ctx.realm(binding.realm.name)) is not binding.realm
    ]
    leaving = {move.binding for move in moves}
    taken: dict[Realm, Binding] = {}
    for binding, realm in moves:
        holder = taken.setdefault(realm, binding)
        if holder is binding and realm.binding is not None and realm.binding not in leaving:
            holder = realm.binding
        if holder is not binding and holder.provider.uid is not None:
            raise ServiceConflict(
                f'service "{realm.name}" of {binding.provider.name} would meet the one that'
                f" has been registered at {holder.provider.name}"
            )
    return moves


def _moved(moves: list[_Move]) -> list[Realm]:
    """Let the bindings stand in their new realms; return every realm that has changed."""
    changed: dict[Realm, None] = {}
    for binding, _ in moves:
        changed[binding.realm] = None
        binding.realm.binding = None
    for binding, realm in moves:
        changed[realm] = None
        binding.stand_in(realm)
    return list(changed)


def _change_owner(ctx: Context, parent: Context) -> None:
    old, new = ctx.fiber, parent.fiber
    mounted = [fiber for fiber in old.children() if fiber.ctx.parent is ctx]
    ctx.__dict__.update(parent=parent, fiber=new)
    for fiber in mounted:
        fiber.leave_for(old)
        fiber.owner = new
        new.table[fiber] = None
