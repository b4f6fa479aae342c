"""Give every storage backend the same life: follow live sessions, buffer, repair, resume.

A backend package subclasses `PersistenceCoordinator` and hands it a `PersistenceBackend`.
"""

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, ClassVar, TypeVar

from harness.session import (
    SESSION_CREATED,
    SESSION_DISPOSED,
    SESSION_EVENT,
    SESSION_FLUSH,
    SESSION_FORMAT_VERSION,
    Session,
    SessionEvent,
    SessionHeader,
    SessionHeaderError,
    interrupted_turn_closers,
    validate_header,
)
from harness.session_persistence.backend import PersistenceBackend, RawStored
from harness.session_persistence.cold_reads import ColdReads
from harness.session_persistence.crash import closers_for
from harness.session_persistence.errors import (
    SessionAlreadyExistsError,
    SessionAlreadyOwnedError,
    SessionBusyError,
    SessionNotFoundError,
)
from harness.session_persistence.handle import SessionHandle
from harness.session_persistence.live import LiveSessions
from harness.session_persistence.preparation import SessionPreparation
from harness.session_persistence.service import SessionPersistence
from harness.session_persistence.types import (
    Access,
    ArtifactLocation,
    RawArtifact,
    Revision,
    SessionSnapshot,
    StoredSession,
)
from harness.session_persistence.writer import SessionWriter, WriteBehind
from harness.session_persistence.writers import HERE, Writers
from vendor_shims.cordis import AbortSignal, Context, run_abortable

T = TypeVar("T")


class PersistenceCoordinator(SessionPersistence):
    """Implement session persistence over a backend.

    Unloading stops listening, stores every buffer, gives the leases back and closes the backend;
    each step runs whatever the ones before did, and the failures are raised together.
    """

    inject: ClassVar[list[str]] = ["sessions"]

    def __init__(
        self,
        ctx: Context,
        backend: PersistenceBackend,
        *,
        write_behind: WriteBehind | None = None,
        n_cached_logs: int = 5,
    ) -> None:
        super().__init__(ctx)
        self._backend = backend
        self._writers = Writers(ctx, backend, write_behind or WriteBehind())
        self._live = LiveSessions(self._writers)
        self._cold = ColdReads(backend, capacity=n_cached_logs)

    def start(self) -> None:
        """Follow the sessions that live already, and those to come."""
        # Undone last, so after the listeners are gone; stored work has no deadline.
        self.ctx.effect(lambda: self._stop, "session persistence", dispose_timeout=None)
        self.ctx.on(SESSION_CREATED, self._live.created)
        self.ctx.on(SESSION_EVENT, self._live.appended)
        self.ctx.on(SESSION_FLUSH, self._live.flush)
        self.ctx.on(SESSION_DISPOSED, self._live.disposed)
        for session in self.ctx.sessions.list():
            self._live.created(session)

    async def _stop(self) -> None:
        errors: list[Exception] = []
        for step in (self._writers.close_all, self._backend.close):
            try:
                await step()
            except Exception as error:  # noqa: BLE001  # the later steps still run
                errors.append(error)
        if errors:
            raise ExceptionGroup("session persistence did not stop cleanly", errors)

    # -- claims ------------------------------------------------------------------------------

    def locate(self, header: SessionHeader) -> ArtifactLocation:
        """Return where a session is stored, for diagnostics."""
        return self._backend.locate(header)

    async def create(
        self,
        header: SessionHeader,
        *,
        inherited_event_count: int = 0,
        signal: AbortSignal | None = None,
    ) -> SessionHandle:
        """Reserve an id and return its write handle."""
        validate_header(header)
        if header.version != SESSION_FORMAT_VERSION or header.extra:
            raise SessionHeaderError(
                f"a new session has version {SESSION_FORMAT_VERSION} and no unknown members"
            )
        if self._writers.get(header.id) is not None:
            raise SessionAlreadyExistsError(header.id)
        writer = self._writers.reserve(header)
        writer.claimed = True
        try:
            if await _abortable(signal, self._backend.snapshot, header.id) is not None:
                raise SessionAlreadyExistsError(header.id)
        except BaseException:
            await self._writers.retire(writer)
            raise
        writer.expect_new()
        return SessionHandle(self, header, writer, inherited_event_count=inherited_event_count)

    async def open(
        self, session_id: str, access: Access, *, signal: AbortSignal | None = None
    ) -> SessionHandle:
        """Open a stored session for reading or writing."""
        if access == "write":
            writer, _ = await _abortable(signal, self._claim, session_id)
            return SessionHandle(self, writer.header, writer)
        owned = self._writers.get(session_id)
        if owned is not None:
            return SessionHandle(self, owned.header, None)
        header = await _abortable(signal, self._stored_header, session_id)
        return SessionHandle(self, header, None)

    async def append(self, session_id: str, events: Sequence[SessionEvent]) -> None:
        """Append events to a stored session that nobody has open, durably."""
        async with await self.open(session_id, "write") as handle:
            await handle.append(events)
            await handle.flush()

    async def prepare_resume(
        self, session_id: str, *, signal: AbortSignal | None = None
    ) -> SessionPreparation:
        """Claim a session, close its interrupted turn once, and reserve it."""
        return await _abortable(signal, self._prepare, session_id)

    async def _prepare(self, session_id: str) -> SessionPreparation:
        leaving = self._writers.get(session_id)
        if leaving is not None and leaving.closing:
            await leaving.retired.wait()
        writer, stored = await self._claim(session_id)
        try:
            closers, revision = await self._repair(writer, stored)
        except BaseException:
            await self._discard(writer)
            raise
        writer.reserved = True
        handle = SessionHandle(self, writer.header, writer)
        preparation = SessionPreparation(
            handle, (*stored.events, *closers), revision, closers=len(closers)
        )
        self._live.expect(preparation)
        return preparation

    async def _claim(self, session_id: str) -> tuple[SessionWriter, RawStored]:
        """Take the claim and the lease of a stored session and read it; all of it or nothing."""
        if self._writers.get(session_id) is not None:
            raise SessionAlreadyOwnedError(session_id, HERE)
        writer = self._writers.reserve(await self._stored_header(session_id))
        writer.claimed = True
        try:
            await self._writers.run(writer.claim)
            return writer, await writer.reread()
        except BaseException:
            await self._discard(writer)
            raise

    async def _repair(
        self, writer: SessionWriter, stored: RawStored
    ) -> tuple[tuple[SessionEvent, ...], Revision]:
        closers = closers_for(stored)
        if not closers and stored.torn is None:
            return (), stored.revision
        return closers, await self._writers.run(lambda: writer.repair(closers))

    async def _discard(self, writer: SessionWriter) -> None:
        """Give up a claim under which nothing was buffered."""
        await self._writers.retire(writer)

    # -- reading -----------------------------------------------------------------------------

    async def load(self, session_id: str) -> StoredSession:
        """Return a balanced log, committing the repair of a crash when one is due."""
        writer = self._writers.get(session_id)
        if writer is not None and writer.session is not None:
            return await self._load_live(writer, writer.session)
        stored = await self._read_cold(session_id)
        if stored.torn is None and not closers_for(stored):
            return await self._view(stored, (), stored.revision)
        if writer is not None:
            raise SessionAlreadyOwnedError(session_id, HERE)
        writer, stored = await self._claim(session_id)
        try:
            closers, revision = await self._repair(writer, stored)
        finally:
            await self._discard(writer)
        return await self._view(stored, closers, revision)

    async def _load_live(self, writer: SessionWriter, session: Session) -> StoredSession:
        if session.open_turn is not None:
            raise SessionBusyError(session.id)
        await writer.flush()
        if session.open_turn is not None:  # one began while we waited
            raise SessionBusyError(session.id)
        if writer.cursor == 0:
            raise SessionNotFoundError(session.id)
        return await self._view_live(session)

    async def inspect(self, session_id: str, *, signal: AbortSignal | None = None) -> StoredSession:
        """Return the same view as `load` without changing storage."""
        return await _abortable(signal, self._inspect, session_id)

    async def _inspect(self, session_id: str) -> StoredSession:
        writer = self._writers.get(session_id)
        if writer is not None and writer.session is not None:
            return await self._view_live(writer.session)
        stored = await self._read_cold(session_id)
        return await self._view(stored, closers_for(stored), stored.revision)

    async def read_from(
        self, session_id: str, from_seq: int, *, signal: AbortSignal | None = None
    ) -> tuple[SessionEvent, ...]:
        """Return the committed events from `from_seq` on, without closers."""
        if type(from_seq) is not int or from_seq < 0:
            raise TypeError(f"from_seq must be a non-negative integer, got {from_seq!r}")
        events = await _abortable(signal, self.read_committed, session_id)
        return events[from_seq:]

    async def list(self, *, signal: AbortSignal | None = None) -> list[SessionHeader]:
        """Return the headers of all sessions that this build can read, oldest first."""
        snapshots = await self.list_snapshots(signal=signal)
        return [snapshot.header for snapshot in snapshots if snapshot.header is not None]

    async def list_snapshots(
        self, *, signal: AbortSignal | None = None
    ) -> Sequence[SessionSnapshot]:
        """Describe all sessions, also those that this build cannot read, oldest first."""
        found = {s.id: s for s in await _abortable(signal, self._backend.snapshots)}
        for header in self._writers.headers():
            found.setdefault(header.id, _unwritten(header))
        return sorted(found.values(), key=_age)

    async def stat(self, session_id: str) -> SessionSnapshot | None:
        """Describe one session from its header, or return None."""
        snapshot = await self._backend.snapshot(session_id)
        writer = self._writers.get(session_id)
        if snapshot is None and writer is not None:
            return _unwritten(writer.header)
        return snapshot

    async def flush(self) -> None:
        """Make everything that this process has buffered durable."""
        await self._writers.flush_all()

    async def read_raw(self, session_id: str) -> RawArtifact:
        """Return the stored text of a session."""
        await self._stored_header(session_id)
        raw = await self._backend.read_raw(session_id)
        if raw is None:
            raise SessionNotFoundError(session_id)
        return raw

    # -- behind the handles ------------------------------------------------------------------

    async def read_committed(self, session_id: str) -> tuple[SessionEvent, ...]:
        """Return what is stored now; empty while nothing has been."""
        writer = self._writers.get(session_id)
        committed = None if writer is None else writer.committed()
        if committed is not None:
            return committed
        stored = await self._cold.read(session_id)
        if stored is None and writer is None:
            raise SessionNotFoundError(session_id)
        return () if stored is None else stored.events

    async def append_to(self, writer: SessionWriter, events: Sequence[SessionEvent]) -> None:
        """Store a batch, to its end also when the caller is cancelled."""
        await self._writers.run(lambda: writer.append(events))

    async def flush_writer(self, writer: SessionWriter) -> None:
        """Create the log when nothing was stored yet, and make everything durable."""
        await self._writers.run(writer.materialize)
        await writer.flush()

    async def close_writer(self, writer: SessionWriter) -> None:
        """Drain, release the lease and forget the claim."""
        self._live.leave(writer)
        await self._writers.retire(writer)

    # -- inside ------------------------------------------------------------------------------

    async def _stored_header(self, session_id: str) -> SessionHeader:
        """Return a stored header, or raise why there is none."""
        snapshot = await self._backend.snapshot(session_id)
        if snapshot is None:
            raise SessionNotFoundError(session_id)
        if snapshot.header is None:
            return (await self._read_cold(session_id)).header  # raises why there is none
        return snapshot.header

    async def _read_cold(self, session_id: str) -> RawStored:
        stored = await self._cold.read(session_id)
        if stored is None:
            raise SessionNotFoundError(session_id)
        return stored

    async def _view(
        self, stored: RawStored, closers: tuple[SessionEvent, ...], revision: Revision
    ) -> StoredSession:
        if self._writers.get(stored.header.id) is not None:
            lease = "held-here"
        else:
            leased = await self._backend.is_leased(stored.header)
            lease = "held-elsewhere" if leased else "free"
        return StoredSession(
            header=stored.header,
            events=(*stored.events, *closers) if closers else stored.events,
            revision=revision,
            closers=len(closers),
            lease=lease,
        )

    async def _view_live(self, session: Session) -> StoredSession:
        snapshot = await self._backend.snapshot(session.id)
        events = session.events
        closers = tuple(interrupted_turn_closers(events))
        return StoredSession(
            header=session.header,
            events=(*events, *closers) if closers else events,
            revision=Revision("") if snapshot is None else snapshot.revision,
            closers=len(closers),
            lease="held-here",
        )


async def _abortable(
    signal: AbortSignal | None, work: Callable[..., Awaitable[T]], *args: Any
) -> T:
    return await (work(*args) if signal is None else run_abortable(signal, work, *args))


def _unwritten(header: SessionHeader) -> SessionSnapshot:
    return SessionSnapshot(id=header.id, header=header, revision=Revision(""), size_bytes=None)


def _age(snapshot: SessionSnapshot) -> tuple[int, str]:
    created_at = 0 if snapshot.header is None else snapshot.header.created_at
    return created_at, snapshot.id
