"""Keep the writers of this process: one a session, with the tasks and the clock they need."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

import anyio

from harness.session import SessionHeader
from harness.session_persistence.backend import PersistenceBackend
from harness.session_persistence.errors import SessionAlreadyOwnedError
from harness.session_persistence.events import (
    PERSISTENCE_DEGRADED,
    PERSISTENCE_RECOVERED,
    PersistenceDegraded,
    PersistenceRecovered,
)
from harness.session_persistence.writer import SessionWriter, WriteBehind
from vendor_shims.cordis import Context, InactiveEffect, TimerHandle

T = TypeVar("T")
STALL_CAUSE = {"kind": "hook", "reason": "persistence stalled"}
"""Why an agent is stopped whose events cannot be stored."""

HERE = "this process"
"""The holder that an error names when the claim is our own."""


class Writers:
    """Own the writers of one service and run what must not be cancelled.

    Invariants: at most one writer exists per session id; a writer is in the table as long as it
    may hold a lease.
    """

    def __init__(self, ctx: Context, backend: PersistenceBackend, settings: WriteBehind) -> None:
        self._ctx = ctx
        self._backend = backend
        self._settings = settings
        self._by_id: dict[str, SessionWriter] = {}

    def get(self, session_id: str) -> SessionWriter | None:
        """Return the writer of a session, if this process has one."""
        return self._by_id.get(session_id)

    def headers(self) -> list[SessionHeader]:
        """Return the headers of all sessions that this process may write."""
        return [writer.header for writer in self._by_id.values()]

    def reserve(self, header: SessionHeader) -> SessionWriter:
        """Make the writer of a session.

        Raises:
            SessionAlreadyOwnedError: this process has one already.
        """
        if header.id in self._by_id:
            raise SessionAlreadyOwnedError(header.id, HERE)
        writer = SessionWriter(header, self._backend, self, self._settings)
        self._by_id[header.id] = writer
        return writer

    async def retire(self, writer: SessionWriter) -> None:
        """Drain a writer, give its lease back and forget it, also when draining fails.

        Raises:
            Exception: what made the last write fail.
        """
        writer.closing = True
        try:
            await self.run(writer.close)
        finally:
            self._forget(writer)

    def retire_soon(self, writer: SessionWriter) -> None:
        """Retire a writer in the background; one that fails is kept until the service unloads."""
        writer.closing = True
        self.spawn(lambda: self._retire_or_keep(writer))

    async def flush_all(self) -> None:
        """Make all buffers durable; every one is tried.

        Raises:
            ExceptionGroup: one failure per session, each with a note naming it.
        """
        await self._for_all("flushing", lambda writer: writer.flush())

    async def close_all(self) -> None:
        """Retire every writer; every one is tried.

        Raises:
            ExceptionGroup: one failure per session, each with a note naming it.
        """
        await self._for_all("closing", self.retire)

    async def run(self, work: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Run work to its end and return its result, whatever happens to the caller.

        A caller that is cancelled waits for the end too, and is cancelled then.
        """
        results: list[T] = []

        async def settle() -> BaseException | None:
            try:
                results.append(await work())
            except Exception as error:  # noqa: BLE001  # raised again below, in the caller
                return error
            return None

        task = self.spawn(settle)
        if task is None:
            error = await settle()
        else:
            await _uncancelled(task)
            error = task.result()
        if error is not None:
            raise error
        return results[0]

    # -- what writers ask for ----------------------------------------------------------------

    def spawn(
        self, work: Callable[[], Coroutine[Any, Any, BaseException | None]]
    ) -> asyncio.Task[BaseException | None] | None:
        """Run work that nothing cancels; None when the service is going away."""
        try:
            return self._ctx.spawn(work, name="persistence", shield=True)
        except InactiveEffect:
            return None

    def call_later(self, delay_s: float, callback: Callable[[], None]) -> TimerHandle:
        """Call back once, on the clock that the kernel uses."""
        return self._ctx.fiber.tree.clock.call_later(delay_s, callback)

    def degraded(self, writer: SessionWriter, error: BaseException) -> None:
        """Tell once per episode that a session is not durable."""
        self.refused(writer.header.id, error, n_buffered=len(writer.pending))

    def refused(self, session_id: str, error: BaseException, *, n_buffered: int = 0) -> None:
        """Tell that a session is not stored, and how many events wait."""
        self._ctx.logger.error(
            "session %s could not be written, %s events wait: %s", session_id, n_buffered, error
        )
        self._ctx.emit(
            PERSISTENCE_DEGRADED,
            PersistenceDegraded(session_id=session_id, error=error, buffered=n_buffered),
        )

    def recovered(self, writer: SessionWriter, written: int) -> None:
        """Tell that an episode ended."""
        self._ctx.logger.info("session %s is written again", writer.header.id)
        self._ctx.emit(
            PERSISTENCE_RECOVERED,
            PersistenceRecovered(session_id=writer.header.id, written=written),
        )

    def dropped(self, writer: SessionWriter, n_bytes: int) -> None:
        """Warn that a crash left bytes that were no record."""
        self._ctx.logger.warn(
            "session %s ended in a torn record, %s bytes dropped", writer.header.id, n_bytes
        )

    def stalled(self, writer: SessionWriter) -> None:
        """Stop the agent of a session whose buffer is full: more work would only be lost."""
        self._ctx.logger.error("session %s: too much waits to be written", writer.header.id)
        agents = self._ctx.get("agents")
        agent = None if agents is None else agents.get(writer.header.id)
        if agent is not None and writer.session is not None:
            # Cancelling may append; the event that filled the buffer is still being published.
            writer.session.after_publication(lambda: agent.cancel(STALL_CAUSE))

    # -- inside ------------------------------------------------------------------------------

    async def _retire_or_keep(self, writer: SessionWriter) -> BaseException | None:
        try:
            await writer.close()
        except Exception as error:  # noqa: BLE001  # told at once, and again at unload
            self._ctx.logger.error(
                "session %s: its last events are kept in memory: %s", writer.header.id, error
            )
            return error
        else:
            self._forget(writer)
        finally:
            writer.retired.set()
        return None

    def _forget(self, writer: SessionWriter) -> None:
        if self._by_id.get(writer.header.id) is writer:
            del self._by_id[writer.header.id]
        writer.retired.set()

    async def _for_all(
        self, what: str, work: Callable[[SessionWriter], Coroutine[Any, Any, None]]
    ) -> None:
        errors: list[Exception] = []

        async def attempt(writer: SessionWriter) -> None:
            try:
                await work(writer)
            except Exception as error:  # noqa: BLE001  # raised together below
                error.add_note(f"session {writer.header.id!r}")
                errors.append(error)

        async with anyio.create_task_group() as group:
            for writer in list(self._by_id.values()):
                group.start_soon(attempt, writer)
        if errors:
            raise ExceptionGroup(f"{what} {len(errors)} sessions failed", errors)


async def _uncancelled(task: asyncio.Task[Any]) -> None:
    """Wait for a task; a cancellation that comes meanwhile is raised when it is done."""
    cancelled: asyncio.CancelledError | None = None
    with anyio.CancelScope(shield=True):
        while not task.done():
            try:
                await asyncio.wait([task])
            except asyncio.CancelledError as error:
                cancelled = error
    if cancelled is not None:
        raise cancelled
