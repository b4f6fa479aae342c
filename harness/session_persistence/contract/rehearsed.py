"""Wrap a backend so that its writes can be counted, held, failed, and cut off."""

import errno
from collections.abc import Sequence

import anyio

from harness.session import SessionEvent, SessionHeader
from harness.session_persistence.backend import Lease, PersistenceBackend, RawStored, TornTail
from harness.session_persistence.types import (
    ArtifactLocation,
    RawArtifact,
    Revision,
    SessionSnapshot,
)


def disk_full() -> OSError:
    """Return the error of a full disk."""
    return OSError(errno.ENOSPC, "No space left on device")


class RehearsedBackend:
    """Do what the wrapped backend does, and record it.

    Invariants: `batches` holds the events of each append that was begun, in order; once `killed`
    nothing reaches the storage any more.
    """

    def __init__(self, inner: PersistenceBackend) -> None:
        self._inner = inner
        self._leases: list[tuple[Lease, str]] = []
        self.killed = False
        self.batches: list[tuple[SessionEvent, ...]] = []
        self.n_loads = 0
        self.failures: list[Exception] = []
        """Errors of the next writes, one each."""
        self.failing_ids: set[str] = set()
        """Sessions whose writes all fail."""
        self.gate: anyio.Event | None = None
        """While set to an event, writes wait for it."""

    @property
    def name(self) -> str:
        """See `PersistenceBackend.name`."""
        return self._inner.name

    @property
    def n_batches(self) -> int:
        """Return how many appends with events were begun."""
        return sum(1 for batch in self.batches if batch)

    async def kill(self) -> None:
        """End the process that this backend stands for, as far as storage can see."""
        self.killed = True
        for lease, _ in self._leases:
            await lease.release()

    def locate(self, header: SessionHeader) -> ArtifactLocation:
        """See `PersistenceBackend.locate`."""
        return self._inner.locate(header)

    async def load_stored(self, session_id: str) -> RawStored | None:
        """See `PersistenceBackend.load_stored`."""
        self.n_loads += 1
        return await self._alive().load_stored(session_id)

    async def snapshot(self, session_id: str) -> SessionSnapshot | None:
        """See `PersistenceBackend.snapshot`."""
        return await self._alive().snapshot(session_id)

    async def snapshots(self) -> list[SessionSnapshot]:
        """See `PersistenceBackend.snapshots`."""
        return await self._alive().snapshots()

    async def acquire_lease(self, header: SessionHeader) -> Lease:
        """See `PersistenceBackend.acquire_lease`."""
        lease = await self._alive().acquire_lease(header)
        self._leases.append((lease, header.id))
        return lease

    async def is_leased(self, header: SessionHeader) -> bool:
        """See `PersistenceBackend.is_leased`."""
        return await self._alive().is_leased(header)

    async def append_batch(self, lease: Lease, events: Sequence[SessionEvent]) -> None:
        """See `PersistenceBackend.append_batch`."""
        self.batches.append(tuple(events))
        if self.gate is not None:
            await self.gate.wait()
        if self.failures:
            raise self.failures.pop(0)
        if any(lease is held and name in self.failing_ids for held, name in self._leases):
            raise disk_full()
        await self._alive().append_batch(lease, events)

    async def commit_repair(
        self, lease: Lease, torn: TornTail | None, closers: Sequence[SessionEvent]
    ) -> Revision:
        """See `PersistenceBackend.commit_repair`."""
        if self.failures:
            raise self.failures.pop(0)
        return await self._alive().commit_repair(lease, torn, closers)

    async def sync(self, lease: Lease) -> None:
        """See `PersistenceBackend.sync`."""
        await self._alive().sync(lease)

    async def read_raw(self, session_id: str) -> RawArtifact | None:
        """See `PersistenceBackend.read_raw`."""
        return await self._alive().read_raw(session_id)

    async def close(self) -> None:
        """See `PersistenceBackend.close`."""
        await self._inner.close()

    def _alive(self) -> PersistenceBackend:
        if self.killed:
            raise OSError(errno.ESRCH, "the process has ended")
        return self._inner
