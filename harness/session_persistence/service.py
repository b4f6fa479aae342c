"""Declare the session persistence service that implementations provide."""

from abc import abstractmethod
from collections.abc import Sequence
from typing import ClassVar

from harness.session import SessionEvent, SessionHeader
from harness.session_persistence.handle import SessionHandle
from harness.session_persistence.preparation import SessionPreparation
from harness.session_persistence.types import (
    Access,
    ArtifactLocation,
    RawArtifact,
    SessionSnapshot,
    StoredSession,
)
from vendor_shims.cordis import AbortSignal, Service


class SessionPersistence(Service):
    """Store session logs and give them back, complete, after any crash.

    Live sessions need no call: the service follows the session events and writes behind;
    `sessions.flush(session)` is the moment when bytes are durable. A `signal` that fires stops a
    read with its reason. Any call may raise `OSError` for what the storage refuses.
    """

    key: ClassVar[str] = "session_persistence"

    @abstractmethod
    def locate(self, header: SessionHeader) -> ArtifactLocation:
        """Return where a session is stored, for diagnostics; touches no storage."""

    @abstractmethod
    async def create(
        self,
        header: SessionHeader,
        *,
        inherited_event_count: int = 0,
        signal: AbortSignal | None = None,
    ) -> SessionHandle:
        """Reserve an id and return its write handle.

        Nothing physical exists before the first append or `handle.flush()`.

        Raises:
            SessionAlreadyExistsError: the id is taken, in this process or in storage.
        """

    @abstractmethod
    async def open(
        self, session_id: str, access: Access, *, signal: AbortSignal | None = None
    ) -> SessionHandle:
        """Open a stored session; `write` claims it and repairs nothing yet.

        Raises:
            SessionNotFoundError: nothing is stored under the id.
            SessionAlreadyOwnedError: `write`, and somebody else writes it.
        """

    @abstractmethod
    async def append(self, session_id: str, events: Sequence[SessionEvent]) -> None:
        """Append events to a stored session that nobody has open, durably.

        Raises:
            SessionAlreadyOwnedError: the session is live, open or reserved.
            AppendSequenceError: the events do not continue the log.
            NotLosslessJsonError: a payload is no exact JSON.
        """

    @abstractmethod
    async def load(self, session_id: str) -> StoredSession:
        """Return a balanced log, committing the repair of a crash when one is due.

        Raises:
            SessionNotFoundError: nothing is stored under the id.
            SessionBusyError: the session is live here and has an open turn.
            SessionAlreadyOwnedError: another process is running the unbalanced session.
            SessionPersistenceCorruptionError: the stored bytes violate the format.
            SessionFormatUnsupportedError: this build cannot interpret the log.
        """

    @abstractmethod
    async def inspect(self, session_id: str, *, signal: AbortSignal | None = None) -> StoredSession:
        """Return the same view as `load` without changing storage, and who holds the lease."""

    @abstractmethod
    async def read_from(
        self, session_id: str, from_seq: int, *, signal: AbortSignal | None = None
    ) -> tuple[SessionEvent, ...]:
        """Return the committed events from `from_seq` on, without closers.

        Raises:
            TypeError: `from_seq` is no integer, or negative.
        """

    @abstractmethod
    async def prepare_resume(
        self, session_id: str, *, signal: AbortSignal | None = None
    ) -> SessionPreparation:
        """Claim a session, close its interrupted turn once, and reserve it for its next life.

        Cancelling leaves no lease and no claim behind.

        Raises:
            SessionNotFoundError: nothing is stored under the id.
            SessionAlreadyOwnedError: the session is live, or another process writes it.
        """

    @abstractmethod
    async def list(self, *, signal: AbortSignal | None = None) -> list[SessionHeader]:
        """Return the headers of all sessions that this build can read, oldest first."""

    @abstractmethod
    async def list_snapshots(
        self, *, signal: AbortSignal | None = None
    ) -> Sequence[SessionSnapshot]:
        """Describe all sessions, also those that this build cannot read, oldest first."""

    @abstractmethod
    async def stat(self, session_id: str) -> SessionSnapshot | None:
        """Describe one session from its header, or return None."""

    @abstractmethod
    async def flush(self) -> None:
        """Make everything that this process has buffered durable.

        Raises:
            ExceptionGroup: one failure per session, each with a note naming it; the others are
                flushed.
        """

    @abstractmethod
    async def read_raw(self, session_id: str) -> RawArtifact:
        """Return the stored text of a session."""
