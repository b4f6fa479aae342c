"""Waiting for dependents to leave, without ever closing a circle of waits."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

from .effect import Effect
from .owned import Owned

if TYPE_CHECKING:
    from .clock import TimerHandle
    from .fiber import Fiber


class Drain:
    """A provider's wait until the fibers that use its bindings have unloaded.

    It gives up after `dispose_timeout_s` without progress: the clock starts again whenever an
    awaited fiber, directly or further down, finishes a step.

    Invariants: it is in `owner.drains` until it ends; `done` is called exactly once.
    """

    __slots__ = ("_done", "_timer", "owner", "pending")

    def __init__(self, owner: Fiber, pending: Iterable[Fiber], done: Callable[[], None]) -> None:
        self.owner = owner
        self.pending = dict.fromkeys(pending)
        self._done = done
        self._timer: TimerHandle | None = None
        owner.drains = (*owner.drains, self)
        if owner.dispose_timeout_s is not None:
            self._arm(owner.dispose_timeout_s)

    def left(self, fiber: Fiber) -> None:
        """Note that `fiber` no longer uses the owner's bindings."""
        if self.pending.pop(fiber, self) is None and not self.pending:
            self._finish()

    def _arm(self, delay_s: float) -> None:
        self._timer = self.owner.tree.clock.call_later(delay_s, self._expire)

    def _expire(self) -> None:
        timeout_s = self.owner.dispose_timeout_s or 0.0
        latest = max(fiber.last_progress for fiber in awaited_by(self.owner))
        remaining_s = latest + timeout_s - self.owner.tree.clock.time()
        if remaining_s > 0:
            self._arm(remaining_s)
            return
        names = ", ".join(repr(fiber.name) for fiber in self.pending)
        self.owner.ctx.logger.warn(
            "gave up waiting for %s to unload before %s after %s s without progress",
            names,
            self.owner.name,
            timeout_s,
        )
        self._timer = None
        self._finish()

    def _finish(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self.owner.drains = tuple([one for one in self.owner.drains if one is not self])
        self.owner.note_progress()
        self.owner.tree.post(self._done)


def must_wait(owner: Fiber, dependent: Fiber) -> bool:
    """Return whether `owner` waits for `dependent` before it runs its own disposers.

    Not for itself, not for its ancestors, and not for a fiber whose teardown already waits,
    directly or further down, for `owner`.
    """
    return dependent not in owner.lineage() and owner not in awaited_by(dependent)


def awaited_by(fiber: Fiber) -> dict[Fiber, None]:
    """Return the fibers whose teardown the teardown of `fiber` waits for, itself included."""
    found: dict[Fiber, None] = {fiber: None}
    todo = [fiber]
    while todo:
        for other in _directly_awaited(todo.pop()):
            if other not in found:
                found[other] = None
                todo.append(other)
    return found


def _directly_awaited(fiber: Fiber) -> Iterator[Fiber]:
    for drain in fiber.drains:
        yield from drain.pending
    item: Owned | None = None if fiber.unwinding is None else fiber.unwinding.waiting_for
    while isinstance(item, Effect):
        item = None if item.unwinding is None else item.unwinding.waiting_for
    if item is not None and item.is_fiber:
        yield item  # pyright: ignore[reportReturnType] - `is_fiber` tells
