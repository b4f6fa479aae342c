"""A one-shot condition that kernel code hangs callbacks on and plugin code awaits."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Generator
from typing import TYPE_CHECKING, Any

from .errors import ReentrantAwait
from .stack import STACK, Frame

if TYPE_CHECKING:
    from .fiber import Fiber
    from .owned import Owned


class Latch:
    """Opens once, with an optional error for those who await it.

    Awaiting never cancels what it waits for: each waiter has a future of its own.

    Invariants: `is_open` never goes back; callbacks run once, in the order they were added.
    """

    __slots__ = ("_callbacks", "error", "guarded", "is_open", "is_watched")

    def __init__(self, guarded: Owned | None = None) -> None:
        self.is_open = False
        # Whether anybody ever waited, and so learns about the error.
        self.is_watched = False
        self.error: BaseException | None = None
        # The registration whose end this is: code that it waits for must not await it.
        self.guarded = guarded
        # Most latches open unheard, so the list is made for the first who waits.
        self._callbacks: list[Callable[[], object]] | None = None

    def add(self, callback: Callable[[], object]) -> None:
        """Call `callback()` when the latch opens, or now if it is open."""
        if self.is_open:
            callback()
        elif self._callbacks is None:
            self.is_watched = True
            self._callbacks = [callback]
        else:
            self._callbacks.append(callback)

    def open(self, error: BaseException | None = None) -> None:
        """Open the latch and run the callbacks; opening twice changes nothing."""
        if self.is_open:
            return
        self.is_open = True
        self.error = error
        callbacks, self._callbacks = self._callbacks, None
        for callback in callbacks or ():
            callback()

    def __await__(self) -> Generator[Any, None, None]:
        if self.guarded is not None:
            forbid_waiting_for_end(self.guarded, STACK.get())
        if not self.is_open:
            woken = asyncio.get_running_loop().create_future()
            self.add(lambda: woken.done() or woken.set_result(None))
            yield from woken
        if self.error is not None:
            raise self.error


def forbid_waiting_for_end(owned: Owned, frames: tuple[Frame, ...]) -> None:
    """Raise `ReentrantAwait` when the end of `owned` waits for the code of one of `frames`."""
    for frame in frames:
        if owned.waits_for(frame):
            raise _reentrant(frame, f"the end of {owned.title!r}")


def forbid_waiting_for(fiber: Fiber) -> None:
    """Raise `ReentrantAwait` when this task runs code that the transition of `fiber` waits for."""
    for frame in STACK.get():
        if frame.phase == "setup":  # a stale one is about to be cancelled, which ends its waiting
            is_waited_for = frame.fiber is fiber and not (
                fiber.is_stale() and fiber.cancels_stale_load
            )
        else:
            is_waited_for = frame.is_waited_for and fiber in frame.fiber.lineage()
        if is_waited_for:
            raise _reentrant(frame, f"the transition of {fiber.name!r}")


def forbid_waiting_for_all() -> None:
    """Raise `ReentrantAwait` when this task runs code that the tree waits for to come to rest."""
    for frame in STACK.get():
        if frame.is_waited_for:
            raise _reentrant(frame, "the whole tree")


def _reentrant(frame: Frame, what: str) -> ReentrantAwait:
    return ReentrantAwait(
        f"{frame.phase} of {frame.fiber.name!r} awaits {what}, which waits for that"
        f" {frame.phase}; request it without awaiting"
    )
