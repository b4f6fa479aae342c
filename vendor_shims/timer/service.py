"""The timer service, whose methods are also methods of every context that can reach it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import ClassVar, ParamSpec, overload

from vendor_shims.cordis import Clock, Context, Effect, Service
from vendor_shims.timer.interval import LABEL, Beat, Ticks
from vendor_shims.timer.pacing import Debounced, Throttled
from vendor_shims.timer.pause import pause
from vendor_shims.timer.supervise import supervise

P = ParamSpec("P")

MIXED_IN = ("timeout", "interval", "sleep", "throttle", "debounce")
"""Methods that contexts get."""


class TimerService(Service):
    """Timers that end with the fiber that set them; delays are seconds and come first or second.

    Every method registers for the calling context. Callbacks may be asynchronous: they run as tasks
    of that context's fiber. Their exceptions are logged under it.

    Args:
        ctx: Where the service is provided.
        clock: Time source; the tree's own by default.
    """

    key: ClassVar[str] = "timer"

    def __init__(self, ctx: Context, *, clock: Clock | None = None) -> None:
        super().__init__(ctx)
        self.clock: Clock = ctx.kernel.clock if clock is None else clock
        ctx.mixin(self.name, list(MIXED_IN))

    def timeout(self, delay_s: float, callback: Callable[[], object]) -> Effect:
        """Call once after `delay_s` seconds, unless the returned disposer is called before."""
        caller = self.caller

        def fire() -> None:
            effect()
            supervise(caller, callback)

        effect = caller.effect(lambda: self.clock.call_later(delay_s, fire).cancel, "ctx.timeout()")
        return effect

    async def sleep(self, delay_s: float) -> None:
        """Wait for `delay_s` seconds.

        Raises:
            ContextDisposed: The calling context unloaded meanwhile.
        """
        woken = asyncio.get_running_loop().create_future()
        await pause(self.caller, self.clock, delay_s, label="ctx.sleep()", woken=woken)

    @overload
    def interval(self, delay_s: float) -> Ticks: ...

    @overload
    def interval(self, delay_s: float, callback: Callable[[], object]) -> Effect: ...

    def interval(
        self, delay_s: float, callback: Callable[[], object] | None = None
    ) -> Effect | Ticks:
        """Repeat at a fixed rate, first after one delay.

        With a callback: call it until the returned disposer is called; a tick that comes due while
        an asynchronous call is running is dropped. Without: return an iterator for `async for`.

        Raises:
            ValueError: The delay is not positive.
        """
        if callback is None:
            return Ticks(self.caller, self.clock, delay_s)
        beat = Beat(self.caller, self.clock, delay_s, callback)
        return self.caller.effect(beat.start, LABEL)

    def throttle(
        self, fn: Callable[P, object], delay_s: float, *, trailing: bool = True
    ) -> Throttled[P]:
        """Return a function that runs `fn` at most once per `delay_s` seconds.

        Args:
            fn: What to run.
            delay_s: Length of the window that a run opens.
            trailing: Run the latest call of a window at its end instead of dropping it.
        """
        return Throttled(self.caller, self.clock, fn, delay_s=delay_s, trailing=trailing)

    def debounce(self, fn: Callable[P, object], delay_s: float) -> Debounced[P]:
        """Return a function that runs `fn` once, `delay_s` seconds after its last call."""
        return Debounced(self.caller, self.clock, fn, delay_s=delay_s)
