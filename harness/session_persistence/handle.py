"""Read or write one stored session."""

from collections.abc import Sequence
from types import TracebackType
from typing import Protocol, Self

from harness.session import SessionEvent, SessionHeader
from harness.session_persistence.errors import (
    SessionHandleClosedError,
    SessionPersistenceCorruptionError,
    SessionReadOnlyError,
)
from harness.session_persistence.lossless import lossless_batch
from harness.session_persistence.types import Access
from harness.session_persistence.writer import SessionWriter


class HandleOwner(Protocol):
    """Do the work behind a handle; the coordinator does."""

    async def read_committed(self, session_id: str) -> tuple[SessionEvent, ...]:
        """Return what is stored now; empty while nothing has been."""
        ...

    async def append_to(self, writer: SessionWriter, events: Sequence[SessionEvent]) -> None:
        """Store a batch, to its end also when the caller is cancelled."""
        ...

    async def flush_writer(self, writer: SessionWriter) -> None:
        """Create the log when nothing was stored yet, and make everything durable."""
        ...

    async def close_writer(self, writer: SessionWriter) -> None:
        """Drain, release the lease and forget the claim."""
        ...


class SessionHandle:
    """Use one session; `async with` closes it.

    A write handle holds the session for this process until it is closed. While a live session
    runs on it, events come from there and `append` is refused.

    Invariants: `read` never shows a shorter log than before; after `close` began nothing works.
    """

    def __init__(
        self,
        owner: HandleOwner,
        header: SessionHeader,
        writer: SessionWriter | None,
        *,
        inherited_event_count: int = 0,
    ) -> None:
        self._owner = owner
        self._writer = writer
        self._header = header
        self._n_seen = 0
        self._closing = False
        self.inherited_event_count = inherited_event_count

    @property
    def id(self) -> str:
        """Return the session's id."""
        return self._header.id

    @property
    def header(self) -> SessionHeader:
        """Return the session's header."""
        return self._header

    @property
    def access(self) -> Access:
        """Return what the handle may do."""
        return "read" if self._writer is None else "write"

    async def read(self, offset: int = 0, length: int | None = None) -> tuple[SessionEvent, ...]:
        """Return committed events from `offset` on, at most `length`, without closers.

        Raises:
            SessionPersistenceCorruptionError: the log became shorter than it was.
        """
        self._require_open()
        events = await self._owner.read_committed(self.id)
        if len(events) < self._n_seen:
            raise SessionPersistenceCorruptionError(
                self.id, f"it had {self._n_seen} events and now has {len(events)}"
            )
        self._n_seen = len(events)
        return events[offset : None if length is None else offset + length]

    async def append(self, events: Sequence[SessionEvent]) -> None:
        """Store events that continue the log; they are written when this returns.

        The batch is taken as it is at the call. When storing fails the log is as before.

        Raises:
            SessionReadOnlyError: the handle only reads.
            SessionBusyError: a live session runs on this handle.
            AppendSequenceError: the events do not continue the log.
            NotLosslessJsonError: a payload is no exact JSON.
        """
        batch = lossless_batch(events)
        await self._owner.append_to(self._require_writer(), batch)

    async def flush(self) -> None:
        """Make everything durable; a session without events exists from now on."""
        await self._owner.flush_writer(self._require_writer())

    async def close(self) -> None:
        """Store what is buffered and give the session back; the second call does nothing.

        Raises:
            Exception: what made the last write fail; the session is free nevertheless.
        """
        if self._closing:
            return
        self._closing = True
        if self._writer is not None:
            await self._owner.close_writer(self._writer)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.close()

    def _require_open(self) -> None:
        if self._closing:
            raise SessionHandleClosedError(self.id)

    def _require_writer(self) -> SessionWriter:
        self._require_open()
        if self._writer is None:
            raise SessionReadOnlyError(self.id)
        return self._writer
