"""Run blocking file work in a bounded pool of threads, and stop it when asked to."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Generic, TypeAlias, TypeVar

from anyio import CancelScope, CapacityLimiter, to_thread

from harness.fs import FsError
from vendor_shims.cordis import AbortSignal

T = TypeVar("T")

Checkpoint: TypeAlias = Callable[[], None]
"""Raises `FS_ABORTED` when the work should stop; called now and then from a worker thread."""


async def abortable(signal: AbortSignal | None, fn: Callable[[], Awaitable[T]]) -> T:
    """Await `fn()`, cancelling it and raising `FS_ABORTED` when the signal fires."""
    if signal is None:
        return await fn()
    if signal.aborted:
        raise aborted()
    with CancelScope() as scope:
        remove = signal.add_callback(lambda _: scope.cancel())
        try:
            return await fn()
        finally:
            remove()
    raise aborted()


def aborted() -> FsError:
    """Return the error of work that was asked to stop before it had any effect."""
    return FsError("the file operation was aborted; nothing was changed", code="FS_ABORTED")


class Workers:
    """Hand blocking work to at most `n_threads` threads, waiting in line for a free one."""

    def __init__(self, n_threads: int) -> None:
        self._limiter = CapacityLimiter(n_threads)

    async def look(self, signal: AbortSignal | None, work: Callable[[Checkpoint], T]) -> T:
        """Run work without side effects; an abort or a cancellation does not wait for it."""
        stop = _Stop()

        async def in_thread() -> T:
            return await to_thread.run_sync(
                work, stop.check, abandon_on_cancel=True, limiter=self._limiter
            )

        try:
            return await abortable(signal, in_thread)
        finally:
            stop.requested = True

    async def change(self, signal: AbortSignal | None, work: Callable[[Checkpoint], T]) -> T:
        """Run work with side effects; return or raise only when it can have no more of them.

        An abort or a cancellation stops the work at its next checkpoint. Work that is past its
        last one ends normally: an abort then has no effect, a cancellation is raised afterwards.
        """
        stop = _Stop()
        if signal is not None:
            stop.requested = signal.aborted
            remove = signal.add_callback(lambda _: stop.request())
        else:
            remove = _nothing
        run = _Run(work, stop)
        try:
            return await to_thread.run_sync(run, limiter=self._limiter)
        except asyncio.CancelledError:
            stop.request()
            while run.has_started and not run.finished.is_set():
                # Cancelled again while waiting: the first cancellation is raised below anyway.
                with suppress(asyncio.CancelledError), CancelScope(shield=True):
                    _ = await run.finished.wait()
            raise
        finally:
            remove()


class _Stop:
    """Carry the wish to stop from the event loop to one worker thread."""

    def __init__(self) -> None:
        self.requested = False

    def request(self) -> None:
        self.requested = True

    def check(self) -> None:
        if self.requested:
            raise aborted()


class _Run(Generic[T]):
    """Run work once in a worker thread and tell the event loop when it has ended.

    `has_started` is set before the first checkpoint, so whoever requests a stop and then finds
    it unset knows that the work will do nothing.
    """

    def __init__(self, work: Callable[[Checkpoint], T], stop: _Stop) -> None:
        self._work = work
        self._stop = stop
        self._loop = asyncio.get_running_loop()
        self.has_started = False
        self.finished = asyncio.Event()

    def __call__(self) -> T:
        self.has_started = True
        try:
            self._stop.check()
            return self._work(self._stop.check)
        finally:
            with suppress(RuntimeError):  # the loop was closed without waiting for its threads
                _ = self._loop.call_soon_threadsafe(self.finished.set)


def _nothing() -> None:
    """Stand in for the remover of a callback that was never added."""
