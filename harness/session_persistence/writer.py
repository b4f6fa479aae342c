"""Write one session behind its back: buffer events, write them in batches, never lose one.

The window is fixed: it starts with the first buffered event and later ones do not extend it, so a
chatty stream still reaches the disk several times a second. A batch leaves the buffer only when it
is stored; a failed one stays in front of what came later.
"""

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, Protocol

import anyio
from attrs import frozen

from harness.session import Session, SessionEvent, SessionHeader
from harness.session_persistence.backend import Lease, PersistenceBackend, RawStored, TornTail
from harness.session_persistence.errors import (
    AppendSequenceError,
    SessionAlreadyExistsError,
    SessionBusyError,
    SessionOwnershipLostError,
)
from harness.session_persistence.records import encoded_size, same_events
from harness.session_persistence.types import Revision
from vendor_shims.cordis import TimerHandle

_TURN_END = "turn/end"


@frozen(kw_only=True)
class WriteBehind:
    """Set how long events may wait and how many may pile up.

    `max_delay_s` is the window in seconds. Beyond `max_buffered_events` or `max_buffered_bytes`
    the session's agent is stopped, because going on would lose work at the next crash.
    """

    max_delay_s: float = 0.2
    max_buffered_events: int = 100_000
    max_buffered_bytes: int = 256 * 1024 * 1024


class WriterHost(Protocol):
    """Offer a writer the clock, the tasks and the ears of its service."""

    def spawn(
        self, work: Callable[[], Coroutine[Any, Any, BaseException | None]]
    ) -> asyncio.Task[BaseException | None] | None:
        """Run work that nothing cancels; None when the service is going away."""
        ...

    def call_later(self, delay_s: float, callback: Callable[[], None]) -> TimerHandle:
        """Call back once, on the service's clock."""
        ...

    def degraded(self, writer: "SessionWriter", error: BaseException) -> None:
        """Hear that a failure episode began."""
        ...

    def recovered(self, writer: "SessionWriter", written: int) -> None:
        """Hear that it ended."""
        ...

    def dropped(self, writer: "SessionWriter", n_bytes: int) -> None:
        """Hear that a torn tail was cut off."""
        ...

    def stalled(self, writer: "SessionWriter") -> None:
        """Hear that the buffer is over its limit."""
        ...


class SessionWriter:
    """Hold the write claim of one session in this process, with everything not yet stored.

    Invariants:
        `pending[k].seq == cursor + k`, also while a batch is being written.
        `cursor` and the lease change only under `_chain`, so one write is in flight at most.
        `_unsynced` says that `_lease` wrote something that `sync` was not called for.
        `_verified` is False while `cursor` has not been compared with what storage holds.
        A timer runs only while something is pending and no failure pauses it.
    """

    def __init__(
        self,
        header: SessionHeader,
        backend: PersistenceBackend,
        host: WriterHost,
        settings: WriteBehind,
    ) -> None:
        self.header = header
        self.session: Session | None = None
        self.pending: list[SessionEvent] = []
        self.cursor = 0
        self.refusal: Exception | None = None
        self.claimed = False
        """Whether a handle owns this writer; without one the live session does."""
        self.reserved = False
        """Whether it waits for the live session that takes a preparation over."""
        self.closing = False
        """Whether it is being drained for the last time."""
        self.retired = asyncio.Event()
        """Set when that is over, also when it failed."""
        self._backend = backend
        self._host = host
        self._settings = settings
        self._lease: Lease | None = None
        self._torn: TornTail | None = None
        self._verified = False
        self._unsynced = False
        self._chain = anyio.Lock(fast_acquire=True)
        self._drain: asyncio.Task[BaseException | None] | None = None
        self._timer: TimerHandle | None = None
        self._due = False
        self._barrier = False
        self._failing = False
        self._stalled = False
        self._n_bytes = 0

    # -- live sessions -----------------------------------------------------------------------

    def attach(self, session: Session, *, known: Sequence[SessionEvent] | None = None) -> None:
        """Follow a live session; `known` are the stored events when the caller has them.

        A session that continues `known` goes on at the cursor; otherwise the first write compares
        the session with what is stored, and refuses one that does not continue it.
        """
        self.session, self.reserved = session, False
        events = session.events
        if known is not None and events[: len(known)] == tuple(known):
            self.pending = list(events[self.cursor :])
        else:
            self.pending = list(events)
            self._verified = self._verified and self.cursor == 0
            self.cursor = 0
        if self.pending:
            self._arm()

    def detach(self) -> None:
        """Stop following the live session; what it left in the buffer is still written."""
        self.session = None
        if self.pending:
            self._expired()

    def admit(self, event: SessionEvent) -> None:
        """Buffer one event of the live session. Runs once per delta."""
        if self.refusal is not None:
            return
        self.pending.append(event)
        if self._timer is None:
            self._arm()
        if event.type == _TURN_END:
            self._expired()
        if self._drain is not None or self._failing:
            self._n_bytes += encoded_size(event)
            self._guard()

    async def flush(self) -> None:
        """Return once everything admitted before or meanwhile is stored and durable.

        Callers share one drain; one that is cancelled only stops waiting.

        Raises:
            Exception: what made the drain fail; the events stay buffered.
        """
        while self.pending or self._unsynced or self._drain is not None:
            await self._join_drain()
        if self.refusal is not None:
            raise self.refusal

    # -- direct use: handles, repair ---------------------------------------------------------

    async def claim(self) -> None:
        """Take the lease of a stored session.

        Raises:
            SessionAlreadyOwnedError: another process writes it.
        """
        async with self._chain:
            self._lease = await self._backend.acquire_lease(self.header)

    async def reread(self) -> RawStored:
        """Read the log under the lease and take its end as the cursor."""
        stored = await self._backend.load_stored(self.header.id)
        if stored is None:
            raise SessionOwnershipLostError(self.header.id, "its log is gone")
        self.cursor, self._torn, self._verified = len(stored.events), stored.torn, True
        return stored

    def expect_new(self) -> None:
        """Take for granted that nothing is stored; creating the log finds out otherwise."""
        self._verified = True

    def committed(self) -> tuple[SessionEvent, ...] | None:
        """Return what the live session has stored so far, or None when only storage knows."""
        if self.session is None or not self._verified:
            return None
        return self.session.events[: self.cursor]

    async def repair(self, closers: Sequence[SessionEvent]) -> Revision:
        """Drop the torn tail and store the closers of an interrupted turn, as one step."""
        async with self._chain:
            return await self._cut(await self._claimed(), closers)

    async def append(self, events: Sequence[SessionEvent]) -> None:
        """Store a batch now; when that fails the log is as before.

        Raises:
            SessionBusyError: a live session writes here.
            AppendSequenceError: the events do not continue the log.
        """
        async with self._chain:
            if self.session is not None or self.reserved:
                raise SessionBusyError(self.header.id, "append through the live session")
            if self._lease is not None and not self._lease.usable:
                raise SessionOwnershipLostError(self.header.id, "a write failed half way")
            if not events:
                return
            lease = await self._ready()
            for index, event in enumerate(events):
                if event.seq != self.cursor + index:
                    raise AppendSequenceError(
                        self.header.id,
                        index=index,
                        expected=self.cursor + index,
                        actual=event.seq,
                    )
            await self._backend.append_batch(lease, events)
            self.cursor += len(events)
            self._unsynced = True

    async def materialize(self) -> None:
        """Create the log with its header alone when nothing has been stored yet."""
        async with self._chain:
            lease = await self._ready()
            await self._backend.append_batch(lease, ())
            self._unsynced = True

    async def close(self) -> None:
        """Store what is buffered and give the lease back, also when storing fails.

        Raises:
            Exception: what made the last write fail; the events that it lost are counted in it.
        """
        self._stop_timer()
        try:
            await self.flush()
        finally:
            self._stop_timer()
            lease, self._lease = self._lease, None
            self._verified = self._unsynced = False
            if lease is not None:
                await lease.release()

    # -- draining ----------------------------------------------------------------------------

    def _arm(self) -> None:
        self._timer = self._host.call_later(self._settings.max_delay_s, self._expired)

    def _stop_timer(self) -> None:
        timer, self._timer = self._timer, None
        if timer is not None:
            timer.cancel()

    def _expired(self) -> None:
        """Write what is buffered: now, or right after the write that is going on."""
        self._stop_timer()
        self._due = True
        if self._drain is None:
            self._drain = self._host.spawn(self._run_drain)

    async def _join_drain(self) -> None:
        self._barrier = True
        if self._drain is None:
            self._drain = self._host.spawn(self._run_drain)
        error = await (self._run_drain() if self._drain is None else asyncio.shield(self._drain))
        if error is not None:
            raise error

    async def _run_drain(self) -> BaseException | None:
        """Write while batches are due; return what failed instead of raising it."""
        try:
            async with self._chain:
                while self._has_work():
                    if self.pending:
                        self._due = False
                        await self._write_batch()
                    else:
                        self._unsynced = False
                        await self._backend.sync(await self._claimed())
        except Exception as error:  # noqa: BLE001  # told to whoever flushes
            self._failed(error)
            return error
        finally:
            self._drain, self._barrier, self._due = None, False, False
        return None

    def _has_work(self) -> bool:
        if self.pending:
            return self._due or self._barrier
        return self._barrier and self._unsynced

    async def _write_batch(self) -> None:
        self._stop_timer()
        lease = await self._ready()
        batch = self.pending[:]
        if batch:  # taking up a stored log may have found everything there
            self._unsynced = True
            await self._backend.append_batch(lease, batch)
            del self.pending[: len(batch)]
            self.cursor += len(batch)
        self._n_bytes = 0
        if self._failing:
            self._failing = self._stalled = False
            self._host.recovered(self, len(batch))

    async def _ready(self) -> Lease:
        """Return a lease on a log that ends at the cursor, without a torn tail."""
        lease = await self._claimed()
        if self._torn is not None:
            await self._cut(lease, ())
        return lease

    async def _cut(self, lease: Lease, closers: Sequence[SessionEvent]) -> Revision:
        torn = self._torn
        revision = await self._backend.commit_repair(lease, torn, closers)
        self._torn = None
        self.cursor += len(closers)
        if torn is not None:
            self._host.dropped(self, torn.n_bytes)
        return revision

    async def _claimed(self) -> Lease:
        """Return a lease, claiming the session and comparing it with storage as needed."""
        if self._lease is not None and not self._lease.usable:
            await self._lease.release()
            self._lease, self._verified, self._unsynced = None, False, False
        if self._lease is None:
            self._lease = await self._backend.acquire_lease(self.header)
        if not self._verified:
            await self._adopt()
        return self._lease

    async def _adopt(self) -> None:
        """Continue a log that storage holds already, if what we have begins with it."""
        stored = await self._backend.load_stored(self.header.id)
        n_stored = 0 if stored is None else len(stored.events)
        if n_stored < self.cursor:
            raise SessionOwnershipLostError(self.header.id, "its log lost events")
        if stored is not None:
            ahead = stored.events[self.cursor :]
            if stored.header.cwd != self.header.cwd:
                raise self._collision(f"it belongs to the directory {stored.header.cwd!r}")
            if not same_events(ahead, self.pending[: len(ahead)]):
                raise self._collision("the stored log does not begin like this session")
            del self.pending[: len(ahead)]
            self._torn = stored.torn
        self.cursor, self._verified = n_stored, True

    def _collision(self, detail: str) -> SessionAlreadyExistsError:
        return SessionAlreadyExistsError(self.header.id, detail)

    # -- trouble -----------------------------------------------------------------------------

    def _failed(self, error: Exception) -> None:
        """Open a failure episode: told once; the next event or flush tries again."""
        self._stop_timer()
        if isinstance(error, SessionAlreadyExistsError):
            self.refusal = error
            self.pending.clear()
        if not self._failing:
            self._failing = True
            self._host.degraded(self, error)

    def _guard(self) -> None:
        """Have the agent stopped when more waits than may be lost."""
        over = (
            len(self.pending) > self._settings.max_buffered_events
            or self._n_bytes > self._settings.max_buffered_bytes
        )
        if over and not self._stalled:
            self._stalled = True
            self._host.stalled(self)
