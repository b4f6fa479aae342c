"""Remember the logs of sessions that nobody writes here, as long as they stay the same."""

from collections import OrderedDict
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import anyio

from harness.session_persistence.backend import PersistenceBackend, RawStored


class ColdReads:
    """Read stored logs; readers of one session share the work.

    Each waits for the reader before it and then finds the log remembered. Cancelling one lets the
    next one read.

    Invariants: a remembered log is handed out only while storage still has its revision; no lock
    outlives its last user.
    """

    def __init__(self, backend: PersistenceBackend, *, capacity: int) -> None:
        self._backend = backend
        self._capacity = capacity
        self._logs: OrderedDict[str, RawStored] = OrderedDict()
        self._locks: dict[str, anyio.Lock] = {}

    async def read(self, session_id: str) -> RawStored | None:
        """Return the committed log of a session, or None when nothing is stored."""
        async with self._turn(session_id):
            known = self._logs.get(session_id)
            if known is not None:
                snapshot = await self._backend.snapshot(session_id)
                if snapshot is not None and snapshot.revision == known.revision:
                    return self._remember(known)
            self._logs.pop(session_id, None)
            stored = await self._backend.load_stored(session_id)
            return None if stored is None else self._remember(stored)

    def _remember(self, stored: RawStored) -> RawStored:
        """Make a log the newest of those kept, and forget the oldest."""
        self._logs[stored.header.id] = stored
        self._logs.move_to_end(stored.header.id)
        if len(self._logs) > self._capacity:
            self._logs.popitem(last=False)
        return stored

    @asynccontextmanager
    async def _turn(self, session_id: str) -> AsyncGenerator[None]:
        lock = self._locks.setdefault(session_id, anyio.Lock())
        try:
            async with lock:
                yield
        finally:
            if not lock.locked() and not lock.statistics().tasks_waiting:
                self._locks.pop(session_id, None)
