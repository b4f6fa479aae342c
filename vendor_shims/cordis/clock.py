"""The time source that all kernel timeouts share, so that tests can run on a virtual one."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Protocol


class TimerHandle(Protocol):
    """A scheduled callback that can still be called off."""

    def cancel(self) -> None:
        """Call the callback off; harmless when it has run already."""
        ...


class Clock(Protocol):
    """Monotonic time in seconds and one-shot timers on it."""

    def time(self) -> float:
        """Return the monotonic time in seconds."""
        ...

    def call_later(self, delay_s: float, callback: Callable[[], object]) -> TimerHandle:
        """Run `callback()` once after `delay_s` seconds."""
        ...

    async def sleep(self, delay_s: float) -> None:
        """Suspend for `delay_s` seconds; cancelling removes the timer."""
        ...


class LoopClock:
    """The real clock: the running event loop's timers."""

    def time(self) -> float:
        """Return the monotonic time in seconds, also outside a running loop."""
        return time.monotonic()

    def call_later(self, delay_s: float, callback: Callable[[], object]) -> TimerHandle:
        """Run `callback()` on the running loop after `delay_s` seconds."""
        return asyncio.get_running_loop().call_later(delay_s, callback)

    async def sleep(self, delay_s: float) -> None:
        """Suspend for `delay_s` seconds."""
        await asyncio.sleep(delay_s)
