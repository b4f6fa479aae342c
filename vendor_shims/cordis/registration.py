"""Registering listeners, with the say that `internal/listener` has in it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from .effect import Effect
from .events import INTERNAL_LISTENER, EventName, Listener, described
from .listener import ListenerEffect
from .owned import Owned

if TYPE_CHECKING:
    from collections.abc import Callable

    from .context import Context


def listen(
    ctx: Any,
    event: EventName,
    listener: Listener | None,
    *,
    once: bool,
    prepend: bool,
    unfiltered: bool,
) -> ListenerEffect | Callable[[Listener], Listener]:
    """Register `listener`, or return a decorator that does; see `Listening.on`."""
    if listener is None:

        def decorate(decorated: Listener) -> Listener:
            _register(ctx, event, decorated, once=once, prepend=prepend, unfiltered=unfiltered)
            return decorated

        return decorate
    return _register(ctx, event, listener, once=once, prepend=prepend, unfiltered=unfiltered)


def _register(
    ctx: Context,
    event: EventName,
    listener: Listener,
    *,
    once: bool,
    prepend: bool,
    unfiltered: bool,
) -> Any:
    fiber = ctx.fiber
    fiber.require_accepting()
    bus = fiber.tree.bus
    if bus.has_listeners(INTERNAL_LISTENER):
        options = {"once": once, "prepend": prepend, "unfiltered": unfiltered}
        answer = bus.bail(INTERNAL_LISTENER, (ctx, str(event), listener, options), None)
        if answer is not None:
            return answer
    slot = bus.slot(event)
    registered = ListenerEffect(
        ctx,
        slot,
        listener,
        once=once,
        unfiltered=unfiltered,
        accepts_serial=getattr(described(event), "accepts_serial", False),
    )
    slot.add(registered, prepend=prepend)
    fiber.table[registered] = None
    return registered


def remove(ctx: Any, event: EventName, listener: Listener) -> bool:
    """Remove the fiber's newest registration of `listener`; see `Listening.off`."""
    todo: list[Owned] = list(cast("Context", ctx).fiber.table)
    while todo:
        item = todo.pop()
        if isinstance(item, ListenerEffect):
            if item.event == event and item.fn == listener and item.active:
                return item()
        elif isinstance(item, Effect):
            todo.extend(item.children)
    return False
