"""Abort signals: one explicit, typed way to ask running work to stop.

Host cancellation carries no reason and can be swallowed, so whoever starts work hands it an
`AbortSignal`; whoever wants it stopped holds the `AbortController`. The first reason wins.
"""

from __future__ import annotations

import asyncio
import logging
import weakref
from collections.abc import Awaitable, Callable, Iterable
from typing import Any, Generic, ParamSpec, TypeVar, overload

from .clock import Clock, LoopClock
from .errors import AbortError

P = ParamSpec("P")
T = TypeVar("T")
S = TypeVar("S", bound="AbortSignal")
Callback = Callable[["AbortSignal"], object]


class AbortSignal:
    """The read side of an abort: a flag that turns on once, with the reason.

    Invariants: `reason` never changes once `aborted` is true; each callback runs at most once,
    in registration order; nothing stays registered after the abort.
    """

    __slots__ = ("__weakref__", "_callbacks", "_release", "aborted", "reason")

    def __init__(self) -> None:
        self.aborted = False
        self.reason: object | None = None
        self._callbacks: dict[object, Callback] | None = {}
        self._release: Callable[[], None] | None = None

    def __del__(self) -> None:
        if self._release is not None:
            self._release()

    def throw_if_aborted(self) -> None:
        """Raise the reason when it is an exception, else `AbortError(reason)`; or return."""
        if self.aborted:
            raise self._error()

    def add_callback(self, fn: Callback) -> Callable[[], None]:
        """Call `fn(signal)` once at the abort, or at once when that has happened.

        Returns:
            A remover; calling it again, or after the abort, does nothing.
        """
        if self.aborted or self._callbacks is None:
            _run_contained(fn, self)
            return _nothing
        token = object()
        self._callbacks[token] = fn
        return lambda: self._remove(token)

    async def wait(self) -> None:
        """Suspend until the abort; cancelling the waiter leaves nothing registered."""
        if self.aborted:
            return
        woken = asyncio.get_running_loop().create_future()
        remove = self.add_callback(lambda _: woken.done() or woken.set_result(None))
        try:
            await woken
        finally:
            remove()

    @staticmethod
    def any(signals: Iterable[AbortSignal]) -> AbortSignal:
        """Return a signal that follows whichever of `signals` aborts first.

        An already aborted source wins in list order. The result holds no callback on its
        sources once it fired or was dropped.
        """
        sources = list(signals)
        combined = AbortSignal()
        for source in sources:
            if source.aborted:
                combined.trigger(source.reason)
                return combined
        abort = _while_alive(combined)
        removers = [source.add_callback(lambda one: abort(one.reason)) for source in sources]

        def release() -> None:
            for remove in removers:
                remove()

        combined._release = release
        return combined

    @staticmethod
    def timeout(
        seconds: float, reason: object = None, *, clock: Clock | None = None
    ) -> AbortSignal:
        """Return a signal that aborts after `seconds`, by default with `AbortError("timeout")`."""
        signal = AbortSignal()
        abort = _while_alive(signal)
        why = AbortError("timeout") if reason is None else reason
        timer = (clock or LoopClock()).call_later(seconds, lambda: abort(why))
        signal._release = timer.cancel
        return signal

    @staticmethod
    def never() -> AbortSignal:
        """Return a signal that nobody can abort."""
        return AbortSignal()

    def trigger(self, reason: object) -> bool:
        """Abort; only controllers and derived signals call this. True for the first call."""
        if self.aborted:
            return False
        self.aborted = True
        self.reason = reason
        release, self._release = self._release, None
        if release is not None:
            release()
        callbacks = self._callbacks or {}
        for token in tuple(callbacks):
            fn = callbacks.pop(token, None)
            if fn is not None:
                _run_contained(fn, self)
        self._callbacks = None
        return True

    def _error(self) -> BaseException:
        return self.reason if isinstance(self.reason, BaseException) else AbortError(self.reason)

    def _remove(self, token: object) -> None:
        if self._callbacks is not None:
            self._callbacks.pop(token, None)


class AbortController(Generic[S]):
    """The write side of an abort; `signal` is what the work gets."""

    __slots__ = ("signal",)

    @overload
    def __init__(self: AbortController[AbortSignal]) -> None: ...
    @overload
    def __init__(self, signal_type: type[S]) -> None: ...
    def __init__(self, signal_type: type[Any] = AbortSignal) -> None:
        self.signal: S = signal_type()

    def abort(self, reason: object = None) -> bool:
        """Abort with `reason`; True for the first call, later calls change nothing.

        Synchronous and single threaded: from another thread go through `ctx.call_threadsafe`.
        """
        return self.signal.trigger(reason)


async def run_abortable(
    signal: AbortSignal, fn: Callable[P, Awaitable[T]], *args: P.args, **kwargs: P.kwargs
) -> T:
    """Await `fn(*args)` and cancel that one await when `signal` aborts.

    The inner cleanup finishes first; then the reason is raised as by `throw_if_aborted`. As in
    any cancelled scope, cleanup that awaits must shield itself. Host cancellation passes through
    untouched, and a result that is there first is returned.
    """
    signal.throw_if_aborted()
    # The scope itself imports at call time: most programs abort nothing at import.
    from anyio import CancelScope

    with CancelScope() as scope:
        remove = signal.add_callback(lambda _: scope.cancel())
        try:
            return await fn(*args, **kwargs)
        finally:
            remove()
    raise signal._error()  # pyright: ignore[reportPrivateUsage] - the scope ends early only so


def _while_alive(signal: AbortSignal) -> Callable[[object], object]:
    """Return a function that aborts `signal` with a reason unless the signal was dropped."""
    follower = weakref.ref(signal)
    return lambda reason: (target := follower()) and target.trigger(reason)


def _run_contained(fn: Callback, signal: AbortSignal) -> None:
    try:
        fn(signal)
    except Exception:  # a callback's failure must not keep the others from running
        logging.getLogger(__name__).exception("an abort callback failed")


def _nothing() -> None:
    """Stand in for the remover of a callback that already ran."""
