"""Cancel the read that is outstanding when a signal aborts, at next to no cost per read."""

import asyncio
from asyncio import current_task
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import TypeVar

from vendor_shims.cordis import AbortSignal

T = TypeVar("T")


class ReadGuard:
    """Do what `run_abortable` does for many reads in a row, registered once for all of them.

    A cancel scope and a listener per chunk of a stream cost more than the chunk. This guard
    registers one listener, and on abort cancels the task that is reading; the count of
    cancellation requests tells it from cancellation by the host, which passes through.

    Invariants:
        - `_task` is the reading task while a read is outstanding, else None.
        - `_hit` is true from the guard's own request to cancel until that request is taken back.
    """

    def __init__(self, signal: AbortSignal, *, now: Callable[[], float] | None = None) -> None:
        """Listen to the signal until `close`; note by `now` when a read began."""
        self.reading_since: float | None = None
        """When the outstanding read began, if there is one and a clock was given."""
        self._signal = signal
        self._now = now
        self._loop = asyncio.get_running_loop()
        self._task: asyncio.Task[object] | None = None
        self._hit = False
        self._remove = signal.add_callback(self._interrupt)

    async def read(self, fn: Callable[[], Awaitable[T]]) -> T:
        """Await `fn()`; on abort cancel it, let its cleanup finish and raise the abort's reason.

        One read at a time. A result that is there first is returned.

        Raises:
            AbortError: or the reason itself when that is an exception.
        """
        signal, now = self._signal, self._now
        if signal.aborted:
            signal.throw_if_aborted()
        task = current_task(self._loop)
        if task is None or self._task is not None:
            raise RuntimeError("a guard needs a task and allows one read at a time")
        before = task.cancelling()
        self._task = task
        if now is not None:
            self.reading_since = now()
        try:
            result = await fn()
        except BaseException as error:
            self._task = self.reading_since = None
            if self._hit:
                await self._take_back(task, before, error)
                signal.throw_if_aborted()
            raise
        self._task = self.reading_since = None
        if self._hit:
            await self._take_back(task, before, None)
        return result

    def close(self) -> None:
        """Stop listening; closing twice is harmless."""
        self._remove()

    def _interrupt(self, _: AbortSignal) -> None:
        if self._task is not None:
            self._hit = True
            self._task.cancel()

    async def _take_back(
        self, task: asyncio.Task[object], before: int, error: BaseException | None
    ) -> None:
        """Take the guard's own request to cancel back; raise `CancelledError` if it has company.

        When the read has ended in any other way than by cancellation, the request may not have
        been delivered yet: then it arrives at the next suspension, which is made here.
        """
        from anyio.lowlevel import checkpoint_if_cancelled

        if not isinstance(error, asyncio.CancelledError):
            with suppress(asyncio.CancelledError):  # the guard's own; the host's is raised below
                await asyncio.sleep(0)
        self._hit = False
        if task.uncancel() > before:
            raise error if isinstance(error, asyncio.CancelledError) else asyncio.CancelledError
        await checkpoint_if_cancelled()  # a scope of the host may be cancelled as well
