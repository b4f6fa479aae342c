"""Define what a storage format implements; the coordinator adds everything else.

A backend knows bytes, files or rows. It knows nothing of live sessions, buffers, turns or the
bus, which is why every backend behaves alike.
"""

from collections.abc import Sequence
from typing import Protocol

from attrs import frozen

from harness.session import SessionEvent, SessionHeader
from harness.session_persistence.types import (
    ArtifactLocation,
    RawArtifact,
    Revision,
    SessionSnapshot,
)


@frozen(kw_only=True)
class TornTail:
    """Say how many bytes at the end of a log never formed a committed record.

    `position` is the backend's own: the JSONL one is the byte offset where the tail starts.
    """

    position: int
    n_bytes: int


@frozen(kw_only=True)
class RawStored:
    """Hold what one read found: the committed events, dense from 0, as they are stored."""

    header: SessionHeader
    events: tuple[SessionEvent, ...]
    revision: Revision
    torn: TornTail | None = None


class Lease(Protocol):
    """Hold the exclusive right to write one session, enforced by the kernel or the database."""

    @property
    def usable(self) -> bool:
        """Say whether writes may go on; False once the state on disk became unknown."""
        ...

    async def release(self) -> None:
        """Give the right back and close what it holds; the second call does nothing."""
        ...


class PersistenceBackend(Protocol):
    """Store the logs of sessions.

    Reading methods may be cancelled at any time. Writing methods run to their end: the caller
    never cancels them. Each raises the errors of `harness.session_persistence` or `OSError`.
    """

    @property
    def name(self) -> str:
        """Return the kind of storage, such as `jsonl`."""
        ...

    def locate(self, header: SessionHeader) -> ArtifactLocation:
        """Return where a session with this header is stored, without touching storage."""
        ...

    async def load_stored(self, session_id: str) -> RawStored | None:
        """Return the committed log and its torn tail, or None when nothing is stored."""
        ...

    async def snapshot(self, session_id: str) -> SessionSnapshot | None:
        """Describe one stored session from its header alone, or return None."""
        ...

    async def snapshots(self) -> list[SessionSnapshot]:
        """Describe all stored sessions from their headers alone, in no particular order."""
        ...

    async def acquire_lease(self, header: SessionHeader) -> Lease:
        """Claim a session for writing.

        Raises:
            SessionAlreadyOwnedError: another process writes it; names the holder when known.
        """
        ...

    async def is_leased(self, header: SessionHeader) -> bool:
        """Say whether any process holds the session for writing now."""
        ...

    async def append_batch(self, lease: Lease, events: Sequence[SessionEvent]) -> None:
        """Append events that continue the log, creating it with its header when it is new.

        The whole batch becomes durable or the log stays exactly as it was. Without events it
        only creates the log.
        """
        ...

    async def commit_repair(
        self, lease: Lease, torn: TornTail | None, closers: Sequence[SessionEvent]
    ) -> Revision:
        """Drop the torn tail and append the closers, as one step; return the new revision."""
        ...

    async def sync(self, lease: Lease) -> None:
        """Make everything appended so far durable, where appending alone does not."""
        ...

    async def read_raw(self, session_id: str) -> RawArtifact | None:
        """Return the stored text, or None when nothing is stored."""
        ...

    async def close(self) -> None:
        """Release what the backend itself holds; leases are gone by then."""
        ...
