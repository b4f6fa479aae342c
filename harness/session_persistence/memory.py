"""Store sessions in memory: for tests, and as the smallest example of a backend."""

from collections.abc import Sequence

from attrs import define, field

from harness.session import SessionEvent, SessionHeader
from harness.session_persistence.backend import Lease, RawStored, TornTail
from harness.session_persistence.errors import (
    SessionAlreadyOwnedError,
    SessionOwnershipLostError,
)
from harness.session_persistence.lines import encode_lines
from harness.session_persistence.types import (
    ArtifactLocation,
    RawArtifact,
    Revision,
    SessionSnapshot,
)

_NO_LIMIT = 2**63


@define
class _MemoryLog:
    header: SessionHeader
    events: list[SessionEvent] = field(factory=list)
    n_torn_bytes: int = 0
    n_changes: int = 0


class MemoryStorage:
    """The place that several backends share, as processes share a disk."""

    def __init__(self) -> None:
        self.logs: dict[str, _MemoryLog] = {}
        self.leases: dict[str, MemoryLease] = {}

    def tear(self, session_id: str, n_bytes: int = 7) -> None:
        """Leave bytes at the end of a log that form no record, as a crash does."""
        self.logs[session_id].n_torn_bytes += n_bytes


class MemoryLease:
    """Hold one session of a memory storage."""

    usable = True

    def __init__(self, storage: MemoryStorage, header: SessionHeader) -> None:
        self._storage = storage
        self.header = header

    def require(self) -> None:
        """Raise unless the lease still stands."""
        if self._storage.leases.get(self.header.id) is not self:
            raise SessionOwnershipLostError(self.header.id, "it was released")

    async def release(self) -> None:
        """Give the session back; the second call does nothing."""
        if self._storage.leases.get(self.header.id) is self:
            del self._storage.leases[self.header.id]


class MemoryBackend:
    """Implement `PersistenceBackend` on a `MemoryStorage`."""

    name = "memory"

    def __init__(self, storage: MemoryStorage) -> None:
        self._storage = storage

    def locate(self, header: SessionHeader) -> ArtifactLocation:
        """Return a location that names the session alone."""
        return ArtifactLocation(kind=self.name, path=header.id)

    async def load_stored(self, session_id: str) -> RawStored | None:
        """Return the log and how many torn bytes follow it."""
        log = self._storage.logs.get(session_id)
        if log is None:
            return None
        torn = None
        if log.n_torn_bytes:
            torn = TornTail(position=len(log.events), n_bytes=log.n_torn_bytes)
        return RawStored(
            header=log.header, events=tuple(log.events), revision=_revision(log), torn=torn
        )

    async def snapshot(self, session_id: str) -> SessionSnapshot | None:
        """Describe one session."""
        log = self._storage.logs.get(session_id)
        return None if log is None else _describe(log)

    async def snapshots(self) -> list[SessionSnapshot]:
        """Describe all sessions."""
        return [_describe(log) for log in self._storage.logs.values()]

    async def acquire_lease(self, header: SessionHeader) -> Lease:
        """Claim a session."""
        if header.id in self._storage.leases:
            raise SessionAlreadyOwnedError(header.id, "another backend")
        lease = self._storage.leases[header.id] = MemoryLease(self._storage, header)
        return lease

    async def is_leased(self, header: SessionHeader) -> bool:
        """Say whether any backend holds the session."""
        return header.id in self._storage.leases

    async def append_batch(self, lease: Lease, events: Sequence[SessionEvent]) -> None:
        """Append a batch, creating the log when it is new."""
        log = self._log(lease)
        log.events.extend(events)
        log.n_changes += 1

    async def commit_repair(
        self, lease: Lease, torn: TornTail | None, closers: Sequence[SessionEvent]
    ) -> Revision:
        """Drop the torn bytes and append the closers."""
        log = self._log(lease)
        log.n_torn_bytes -= 0 if torn is None else torn.n_bytes
        log.events.extend(closers)
        log.n_changes += 1
        return _revision(log)

    async def sync(self, lease: Lease) -> None:
        """Do nothing: memory is as durable as it gets."""

    async def read_raw(self, session_id: str) -> RawArtifact | None:
        """Return the events as lines."""
        log = self._storage.logs.get(session_id)
        if log is None:
            return None
        data = encode_lines(log.events, pack_chunks=False, max_line_bytes=_NO_LIMIT)
        return RawArtifact(file_name=f"{session_id}.jsonl", text=data.decode())

    async def close(self) -> None:
        """Release nothing."""

    def _log(self, lease: Lease) -> _MemoryLog:
        assert isinstance(lease, MemoryLease), "a lease goes back to the backend that gave it"
        lease.require()
        return self._storage.logs.setdefault(lease.header.id, _MemoryLog(lease.header))


def _revision(log: _MemoryLog) -> Revision:
    return Revision(f"memory:{len(log.events)}:{log.n_torn_bytes}:{log.n_changes}")


def _describe(log: _MemoryLog) -> SessionSnapshot:
    return SessionSnapshot(
        id=log.header.id, header=log.header, revision=_revision(log), size_bytes=None
    )
