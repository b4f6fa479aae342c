"""Warnings about transitions that take suspiciously long, with what holds them up."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import asyncio

    from .clock import TimerHandle
    from .context import Context
    from .effect import Effect
    from .fiber import Fiber


_MAX_PLACES = 3


def watchdog(ctx: Context, after_s: float) -> Effect:
    """Look every `after_s` seconds for fibers that did not get on since the last look.

    Each is reported once per state, in the log of `ctx`.
    """
    return ctx.effect(_Watchdog(ctx, after_s).start, "ctx.watchdog()")


class _Watchdog:
    """Invariants: `_reported` holds fibers in transition only, with the start of their state."""

    def __init__(self, ctx: Context, after_s: float) -> None:
        self._ctx = ctx
        self._after_s = after_s
        self._reported: dict[Fiber, float] = {}
        self._timer: TimerHandle

    def start(self) -> Callable[[], None]:
        """Set the timer; returns what stops it."""
        self._timer = self._ctx.kernel.clock.call_later(self._after_s, self._look)
        return self._stop

    def _stop(self) -> None:
        self._timer.cancel()

    def _look(self) -> None:
        self.start()
        tree = self._ctx.kernel
        self._reported = {fiber: at for fiber, at in self._reported.items() if fiber in tree.busy}
        for fiber in tree.busy:
            is_late = tree.clock.time() - fiber.since >= self._after_s
            if is_late and self._reported.get(fiber) != fiber.since:
                self._reported[fiber] = fiber.since
                self._ctx.logger.warn(
                    "%s is %s for more than %s s: %s",
                    fiber.name,
                    fiber.state.name,
                    self._after_s,
                    obstacle(fiber),
                )


def obstacle(fiber: Fiber) -> str:
    """Say what a fiber in a transition waits for."""
    users = [user.name for drain in fiber.drains for user in drain.pending]
    if users:
        return f"waits for {', '.join(users)} to unload"
    item = None if fiber.unwinding is None else fiber.unwinding.waiting_for
    doing = [] if item is None else [f"undoes {item.title}"]
    tasks = [task for task, owner in fiber.tree.tasks.items() if owner is fiber]
    doing += [f"runs {' > '.join(_stack(task)[-_MAX_PLACES:])}" for task in tasks]
    return "; ".join(doing) or "waits for its turn"


def _stack(task: asyncio.Task[Any]) -> list[str]:
    """Return where a suspended task stands, outermost call first."""
    places: list[str] = []
    step: Any = task.get_coro()
    while step is not None:
        frame = getattr(step, "cr_frame", None) or getattr(step, "ag_frame", None)
        if frame is not None:
            places.append(f"{frame.f_code.co_filename}:{frame.f_lineno}")
        step = getattr(step, "cr_await", None) or getattr(step, "ag_await", None)
    return places
