"""Notice that a stream has gone silent while somebody waits for it."""

from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Generator
from contextlib import contextmanager
from math import isnan
from typing import Any, TypeVar

from harness.deadline.errors import InvalidTimeoutError
from harness.deadline.read_guard import ReadGuard
from harness.deadline.reason import TimeoutReason
from vendor_shims.cordis import (
    AbortController,
    AbortSignal,
    Clock,
    LoopClock,
    TimerHandle,
)

T = TypeVar("T")


class IdleWatchdog:
    """Abort its signal when one read stays outstanding for the idle time.

    Time runs only between `arm` and `disarm`, so a consumer that is slow to ask for the next item
    never trips it. Use it through `idle_watchdog`.

    Invariants:
        - `_guard.reading_since` is the time of the last `arm` or `pulse` while a read is
          outstanding, else None.
        - At most one timer exists. It is moved when it fires, not when a read begins or ends, so
          a read costs no timer.
    """

    def __init__(
        self, upstream: AbortSignal | None, idle_s: float, code: str, *, clock: Clock | None = None
    ) -> None:
        """Follow `upstream`; `idle_s` of zero or less means no time limit."""
        self._clock = clock or LoopClock()
        self._idle_s = idle_s
        self._code = code
        self._controller: AbortController[AbortSignal] = AbortController()
        now = self._clock.time if idle_s > 0 else None
        self._guard = ReadGuard(self._controller.signal, now=now)
        self._timer: TimerHandle | None = None
        self._unlink = (
            None
            if upstream is None
            else upstream.add_callback(lambda source: self._controller.abort(source.reason))
        )

    @property
    def signal(self) -> AbortSignal:
        """Return the signal that aborts with upstream or with a `TimeoutReason` of this code."""
        return self._controller.signal

    def arm(self) -> None:
        """Start the time: a read is outstanding from now on."""
        if self._idle_s > 0:
            self._guard.reading_since = self._clock.time()
            if self._timer is None:
                self._timer = self._clock.call_later(self._idle_s, self._check)

    def pulse(self) -> None:
        """Start the time again, if it runs: the peer has shown that it is alive."""
        if self._guard.reading_since is not None:
            self._guard.reading_since = self._clock.time()

    def disarm(self) -> None:
        """Stop the time: the read has ended."""
        self._guard.reading_since = None

    def read(self, fn: Callable[[], Awaitable[T]]) -> Coroutine[Any, Any, T]:
        """Await `fn()` with the time running; cancel it when the signal aborts.

        Raises:
            AbortError: or the reason itself when that is an exception; ask `timeout_of(signal)`.
        """
        if self._timer is None and self._idle_s > 0:
            self._timer = self._clock.call_later(self._idle_s, self._check)
        return self._guard.read(fn)

    async def watch(self, items: AsyncIterator[T]) -> AsyncIterator[T]:
        """Yield the items of an iterator, each read by `read`."""
        while True:
            try:
                item = await self.read(items.__anext__)
            except StopAsyncIteration:
                return
            yield item

    def close(self) -> None:
        """Remove the timer and the listener; closing twice is harmless."""
        self.disarm()
        self._guard.close()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._unlink is not None:
            self._unlink()
            self._unlink = None

    def _check(self) -> None:
        """Abort if the outstanding read is overdue, else come back when it would be."""
        self._timer = None
        since = self._guard.reading_since
        if since is None:
            return
        left_s = since + self._idle_s - self._clock.time()
        if left_s > 0:
            self._timer = self._clock.call_later(left_s, self._check)
        else:
            self._controller.abort(TimeoutReason(self._code, self._idle_s))


@contextmanager
def idle_watchdog(
    upstream: AbortSignal | None, idle_s: float, code: str, *, clock: Clock | None = None
) -> Generator[IdleWatchdog]:
    """Yield a watchdog for one stream and remove its timer and listener at the end.

    Args:
        upstream: the abort to follow.
        idle_s: how long a read may stay outstanding, in seconds; zero or less means forever.
        code: tells this limit from others, see `timeout_of`.
        clock: the time source, the loop's by default.
    """
    if isnan(idle_s):
        raise InvalidTimeoutError(f"the watchdog {code} needs a number of seconds, got {idle_s!r}")
    watchdog = IdleWatchdog(upstream, idle_s, code, clock=clock)
    try:
        yield watchdog
    finally:
        watchdog.close()
