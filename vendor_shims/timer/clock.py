"""A clock that moves only when told to, so that timing is tested without waiting."""

from __future__ import annotations

import asyncio
import heapq
import itertools
from collections.abc import Callable, Sized

_TOLERANCE_S = 1e-9
"""Sums of floating point delays may fall this short of their exact value."""
_IDLE_PASSES = 3
_MAX_PASSES = 10_000


class VirtualTimer:
    """A scheduled callback of a virtual clock."""

    __slots__ = ("callback", "due_s")

    def __init__(self, due_s: float, callback: Callable[[], object]) -> None:
        self.due_s = due_s
        self.callback: Callable[[], object] | None = callback
        """None once it ran or was called off."""

    def cancel(self) -> None:
        """Call the callback off; harmless when it has run already."""
        self.callback = None


class VirtualClock:
    """A `Clock` whose time stands still between calls of `advance`.

    Invariants: time never goes back; callbacks run in the order of their due times, those due
    together in the order of their registration.
    """

    def __init__(self, start_s: float = 0.0) -> None:
        self._now_s = start_s
        self._serial = itertools.count()
        self._heap: list[tuple[float, int, VirtualTimer]] = []

    def time(self) -> float:
        """Return the virtual time in seconds."""
        return self._now_s

    def call_later(self, delay_s: float, callback: Callable[[], object]) -> VirtualTimer:
        """Run `callback()` when the clock has advanced by `delay_s` seconds."""
        timer = VirtualTimer(self._now_s + max(0.0, delay_s), callback)
        heapq.heappush(self._heap, (timer.due_s, next(self._serial), timer))
        return timer

    async def sleep(self, delay_s: float) -> None:
        """Suspend until the clock has advanced by `delay_s`; cancelling removes the timer."""
        woken = asyncio.get_running_loop().create_future()
        timer = self.call_later(delay_s, lambda: woken.done() or woken.set_result(None))
        try:
            await woken
        finally:
            timer.cancel()

    @property
    def n_pending(self) -> int:
        """Return how many callbacks are still to run."""
        return sum(timer.callback is not None for _, _, timer in self._heap)

    async def advance(self, seconds: float) -> None:
        """Move on by `seconds`, run what is due on the way, and let the loop come to rest.

        The loop comes to rest before the first callback and after each one, so timers that tasks
        set on the way count. An exception of a callback is raised here.
        """
        target_s = self._now_s + seconds
        await come_to_rest()
        while self._heap and self._heap[0][0] <= target_s + _TOLERANCE_S:
            due_s, _, timer = heapq.heappop(self._heap)
            callback, timer.callback = timer.callback, None
            if callback is None:
                continue
            self._now_s = max(self._now_s, due_s)
            callback()
            await come_to_rest()
        self._now_s = max(self._now_s, target_s)


async def come_to_rest() -> None:
    """Yield until the running loop has nothing left that can run without time passing.

    Work in threads and other processes is not waited for.

    Raises:
        RuntimeError: The loop does not come to rest, since something keeps it busy.
    """
    ready: Sized = getattr(asyncio.get_running_loop(), "_ready", ())
    idle = 0
    for _ in range(_MAX_PASSES):
        await asyncio.sleep(0)
        idle = 0 if ready else idle + 1
        if idle >= _IDLE_PASSES:
            return
    raise RuntimeError("the event loop does not come to rest: a task or callback repeats itself")
