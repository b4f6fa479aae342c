"""Repetition at a fixed rate, as a callback or as an asynchronous iterator."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable
from typing import Self

from vendor_shims.cordis import Clock, Context, ContextDisposed, InactiveEffect
from vendor_shims.timer.pause import pause
from vendor_shims.timer.supervise import supervise

LABEL = "ctx.interval()"
"""Label of the effect that an interval holds while it waits."""


class Rate:
    """Due times `start + n * delay`, none of them twice.

    Invariants: `due_s` only grows, always by whole delays.
    """

    def __init__(self, clock: Clock, delay_s: float) -> None:
        if not delay_s > 0:
            raise ValueError(f"an interval needs a positive delay in seconds, got {delay_s!r}")
        self._clock = clock
        self._delay_s = delay_s
        self._start_s = clock.time()
        self._n = 1

    @property
    def due_s(self) -> float:
        """Return the next due time."""
        return self._start_s + self._n * self._delay_s

    @property
    def remaining_s(self) -> float:
        """Return the seconds until the next due time, zero when it has passed."""
        return max(0.0, self.due_s - self._clock.time())

    def move_on(self) -> None:
        """Go to the first due time that lies ahead, skipping those that were missed."""
        n_passed = math.floor((self._clock.time() - self._start_s) / self._delay_s)
        self._n = max(self._n, n_passed) + 1


class Beat:
    """Calls a function at a fixed rate; a tick is dropped while an asynchronous call still runs."""

    def __init__(
        self, ctx: Context, clock: Clock, delay_s: float, callback: Callable[[], object]
    ) -> None:
        self._ctx = ctx
        self._clock = clock
        self._callback = callback
        self._rate = Rate(clock, delay_s)
        self._running: asyncio.Task[None] | None = None
        self._n_dropped = 0

    def start(self) -> Callable[[], None]:
        """Wait for the first tick; return what stops the beat."""
        self._timer = self._clock.call_later(self._rate.remaining_s, self._tick)
        return self._stop

    def _stop(self) -> None:
        self._timer.cancel()

    def _tick(self) -> None:
        self._rate.move_on()
        self._timer = self._clock.call_later(self._rate.remaining_s, self._tick)
        if self._running is not None and not self._running.done():
            self._n_dropped += 1
            return
        if self._n_dropped:
            self._ctx.logger.debug(
                "interval dropped %d ticks while a call was running", self._n_dropped
            )
            self._n_dropped = 0
        self._running = supervise(self._ctx, self._callback)


class Ticks:
    """Asynchronous iterator over ticks; holds an effect of its context only while it waits.

    Ticks that come due while the consumer is busy become one tick that is delivered at once.
    """

    def __init__(self, ctx: Context, clock: Clock, delay_s: float) -> None:
        self._ctx = ctx
        self._clock = clock
        self._rate = Rate(clock, delay_s)
        self._is_closed = False
        self._waiting: asyncio.Future[bool] | None = None
        """What the one waiting consumer waits for: True for a tick, False for the end."""

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> None:
        """Wait for the next tick.

        Raises:
            ContextDisposed: The context unloaded.
            RuntimeError: Another task is waiting already.
            StopAsyncIteration: `aclose` was called.
        """
        if self._waiting is not None:
            raise RuntimeError("another task is already waiting for the next tick")
        if self._is_closed:
            raise StopAsyncIteration
        try:
            self._ctx.fiber.require_accepting()
        except InactiveEffect as error:
            raise ContextDisposed from error
        if self._rate.remaining_s > 0:
            await self._wait()
        self._rate.move_on()

    async def _wait(self) -> None:
        self._waiting = asyncio.get_running_loop().create_future()
        try:
            is_tick = await pause(
                self._ctx, self._clock, self._rate.remaining_s, label=LABEL, woken=self._waiting
            )
        finally:
            self._waiting = None
        if not is_tick:
            raise StopAsyncIteration

    async def aclose(self) -> None:
        """End the iteration, also for a consumer that is waiting."""
        self._is_closed = True
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_result(False)
