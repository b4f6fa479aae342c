"""A one-shot condition that kernel code hangs callbacks on and plugin code awaits."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Generator
from typing import TYPE_CHECKING, Any

from .errors import ReentrantAwait
from .stack import STACK

if TYPE_CHECKING:
    from .fiber import Fiber


class Latch:
    """Opens once, with an optional error for those who await it.

    Awaiting never cancels what it waits for: each waiter has a future of its own.

    Invariants: `is_open` never goes back; callbacks run once, in the order they were added.
    """

    __slots__ = ("_callbacks", "error", "guarded", "is_open")

    def __init__(self, guarded: Fiber | None = None) -> None:
        self.is_open = False
        self.error: BaseException | None = None
        # The fiber whose end this is: its own disposers must not await it.
        self.guarded = guarded
        self._callbacks: list[Callable[[], object]] = []

    def add(self, callback: Callable[[], object]) -> None:
        """Call `callback()` when the latch opens, or now if it is open."""
        if self.is_open:
            callback()
        else:
            self._callbacks.append(callback)

    def open(self, error: BaseException | None = None) -> None:
        """Open the latch and run the callbacks; opening twice changes nothing."""
        if self.is_open:
            return
        self.is_open = True
        self.error = error
        callbacks, self._callbacks = self._callbacks, []
        for callback in callbacks:
            callback()

    def __await__(self) -> Generator[Any, None, None]:
        if self.guarded is not None:
            forbid_reentrant_await(self.guarded)
        if not self.is_open:
            woken = asyncio.get_running_loop().create_future()
            self.add(lambda: woken.done() or woken.set_result(None))
            yield from woken
        if self.error is not None:
            raise self.error


def forbid_reentrant_await(fiber: Fiber) -> None:
    """Raise `ReentrantAwait` when this task runs code that the end of `fiber` waits for."""
    for frame in STACK.get():
        waits_for_setup = frame.phase == "setup" and not frame.fiber.cancels_stale_load
        if (frame.phase == "cleanup" or waits_for_setup) and fiber in frame.fiber.lineage():
            raise ReentrantAwait(
                f"{frame.phase} of {frame.fiber.name!r} awaits the end of {fiber.name!r}, which"
                f" waits for that {frame.phase}; request it without awaiting"
            )
