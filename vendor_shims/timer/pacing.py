"""Functions that run less often than they are called."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Generic, ParamSpec

from vendor_shims.cordis import Clock, Context, TimerHandle
from vendor_shims.timer.supervise import adopt, supervise

P = ParamSpec("P")


class Throttled(Generic[P]):
    """Runs a function at once and then at most once per window of `delay_s` seconds.

    A call inside a window is kept, the latest one only, and runs at the window's end, which opens
    the next one; without `trailing` it is dropped. An exception of the immediate call goes to the
    caller, one of a later call to the owner's log. Asynchronous functions run as tasks of the
    owner.

    Invariants: after disposal nothing runs and no timer is left.
    """

    def __init__(
        self,
        ctx: Context,
        clock: Clock,
        fn: Callable[P, object],
        *,
        delay_s: float,
        trailing: bool,
    ) -> None:
        self._ctx = ctx
        self._clock = clock
        self._fn = fn
        self._delay_s = delay_s
        self._trailing = trailing
        self._window: TimerHandle | None = None
        """Timer of the window's end, None between windows."""
        self._kept: Callable[[], object] | None = None
        self._is_disposed = False
        self._effect = ctx.effect(lambda: self._stop, "ctx.throttle()")

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> None:
        """Run now, later or not at all."""
        if self._is_disposed:
            return
        if self._window is None:
            self._open()
            adopt(self._ctx, self._fn(*args, **kwargs))
        elif self._trailing:
            self._kept = partial(self._fn, *args, **kwargs)

    def dispose(self) -> None:
        """Call off what is kept and ignore all later calls."""
        self._effect()

    def _open(self) -> None:
        self._window = self._clock.call_later(self._delay_s, self._close)

    def _close(self) -> None:
        self._window = None
        kept, self._kept = self._kept, None
        if kept is not None:
            self._open()
            supervise(self._ctx, kept)

    def _stop(self) -> None:
        self._is_disposed = True
        self._kept = None
        if self._window is not None:
            self._window.cancel()


class Debounced(Generic[P]):
    """Runs a function once, `delay_s` seconds after the last of a series of calls.

    It runs with the arguments of the last call; its exceptions go to the owner's log, asynchronous
    functions run as tasks of the owner.

    Invariants: after disposal nothing runs and no timer is left.
    """

    def __init__(
        self, ctx: Context, clock: Clock, fn: Callable[P, object], *, delay_s: float
    ) -> None:
        self._ctx = ctx
        self._clock = clock
        self._fn = fn
        self._delay_s = delay_s
        self._timer: TimerHandle | None = None
        self._kept: Callable[[], object] | None = None
        """The call to make; set exactly while the timer is."""
        self._is_disposed = False
        self._effect = ctx.effect(lambda: self._stop, "ctx.debounce()")

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> None:
        """Put the run off until `delay_s` seconds from now."""
        if self._is_disposed:
            return
        self.cancel()
        self._kept = partial(self._fn, *args, **kwargs)
        self._timer = self._clock.call_later(self._delay_s, self.flush)

    @property
    def pending(self) -> bool:
        """Return whether a run is due."""
        return self._kept is not None

    def flush(self) -> None:
        """Run now what would run later; nothing when nothing is pending."""
        kept = self._kept
        self.cancel()
        if kept is not None:
            supervise(self._ctx, kept)

    def cancel(self) -> None:
        """Forget the pending run; later calls count again."""
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self._kept = None

    def dispose(self) -> None:
        """Forget the pending run and ignore all later calls."""
        self._effect()

    def _stop(self) -> None:
        self._is_disposed = True
        self.cancel()
