"""Giving a running fiber a new config, with a say for listeners and no half-way state."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .collect import is_awaitable
from .events import INTERNAL_UPDATE, INTERNAL_UPDATED

if TYPE_CHECKING:
    from .fiber import Fiber


class RejectUpdate:
    """What an `internal/update` listener returns to refuse the new config altogether."""


class _OwnFiber:
    """The dispatch target of `internal/update`: listeners of that fiber only, by default."""

    __slots__ = ("_fiber",)

    def __init__(self, fiber: Fiber) -> None:
        self._fiber = fiber

    def __event_filter__(self, ctx: Any) -> bool:
        return ctx.fiber is self._fiber


async def apply_update(fiber: Fiber, raw: Any, *, save: bool) -> None:
    """Bring `fiber` to the new config and say so; see `Fiber.update`."""
    if fiber.is_active:
        is_taken = await _update_active(fiber, raw, save=save)
    else:
        fiber.raw_config = raw
        fiber.forget_failure()
        await fiber.restart()
        is_taken = True
    if is_taken:
        fiber.tree.bus.emit(INTERNAL_UPDATED, (fiber, save), None, contain=True)


async def _update_active(fiber: Fiber, raw: Any, *, save: bool) -> bool:
    """Let listeners handle the new config, or restart; return whether it was taken."""
    config = fiber.resolve_config(raw)
    is_handled = True

    def restart(*_: Any) -> Any:
        nonlocal is_handled
        is_handled = False
        fiber.raw_config, fiber.config = raw, config
        return fiber.restart()

    answer: Any = fiber.tree.bus.waterfall(
        INTERNAL_UPDATE, (fiber, config, save), restart, _OwnFiber(fiber)
    )
    if answer is not None and is_awaitable(answer):
        answer = await answer
    if not is_handled:
        await fiber
    elif answer is RejectUpdate or isinstance(answer, RejectUpdate):
        return False
    else:
        fiber.raw_config, fiber.config = raw, config
    return True
