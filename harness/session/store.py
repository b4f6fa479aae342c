"""The service `ctx.sessions`: which sessions are live, and who hears of their events."""

import time
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

import attrs

from harness.scope import scope_of, scope_target
from harness.session.errors import SessionForkError, SessionHeaderError, SessionStoreError
from harness.session.event import SessionEvent
from harness.session.event_types import SeedDialect
from harness.session.events import (
    SESSION_CREATED,
    SESSION_DISPOSED,
    SESSION_EVENT,
    SESSION_FLUSH,
    SESSION_VALIDATE,
)
from harness.session.fork import fork_prefix
from harness.session.header import SessionHeader
from harness.session.ids import SessionId, new_session_id
from harness.session.session import Session
from vendor_shims.cordis import Context, Service

_META = {one.name for one in attrs.fields(SessionHeader)} - {"id", "created_at", "extra"}


@attrs.define(eq=False)
class _Entry:
    """A session in the store. Invariant: `detach` has run at most once."""

    session: Session
    is_announced: bool = False
    is_announcing: bool = False
    wants_detach: bool = False
    is_detached: bool = False


class SessionStore(Service):
    """Hold the live sessions of a tree and publish their events.

    A session is prepared (built), entered (found by id), and announced (others hear of it). Its
    events reach listeners of the scope it was entered from and of every scope around that.

    Invariants: ids are unique among live sessions; each begun announcement is followed by exactly
    one `session/disposed`.
    """

    key = "sessions"

    def __init__(
        self,
        ctx: Context,
        *,
        new_id: Callable[[], SessionId] = new_session_id,
        now_ms: Callable[[], int] | None = None,
    ) -> None:
        """Provide the store.

        Args:
            ctx: the owning context.
            new_id: makes session ids, injectable for tests.
            now_ms: the wall clock of new sessions, injectable for tests.
        """
        super().__init__(ctx)
        self._entries: dict[str, _Entry] = {}
        self._publication = _Publication(self.ctx)
        self._new_id = new_id
        self._now_ms = now_ms

    # -- looking -----------------------------------------------------------------------------

    def get(self, session_id: str) -> Session | None:
        """Return a live session."""
        entry = self._entries.get(session_id)
        return None if entry is None else entry.session

    def list(self) -> list[Session]:
        """Return the live sessions, in the order they entered; a fresh list."""
        return [entry.session for entry in self._entries.values()]

    # -- making ------------------------------------------------------------------------------

    def prepare(
        self,
        session_id: str | None = None,
        *,
        seed: Iterable[SessionEvent] | None = None,
        meta: Mapping[str, Any] | None = None,
        header: SessionHeader | None = None,
        seed_dialect: SeedDialect | None = None,
    ) -> Session:
        """Build a session that is not in the store yet.

        Args:
            session_id: minted when omitted.
            seed: the events it begins with.
            meta: header fields by attribute name, such as `cwd`; for a new header.
            header: a complete header, as read from storage.
            seed_dialect: by default `upstream` exactly when the header has `imported_from`.

        Raises:
            SessionStoreError: the id is taken.
            SessionHeaderError: the header or a member of `meta` is malformed or unknown.
            SessionEventError: the seed is malformed.
        """
        if header is None:
            header = self._header(SessionId(session_id or self._mint()), meta or {})
        ident = header.id if session_id is None else session_id
        self._require_free(ident)
        dialect = seed_dialect or ("upstream" if header.imported_from is not None else "native")
        return Session.create(ident, seed, header, seed_dialect=dialect, now_ms=self._now_ms)

    def enter(self, session: Session) -> Callable[[], None]:
        """Make a session findable and its appends observable; returns the detach.

        Raises:
            SessionStoreError: the id is taken or the session is in a store already.
        """
        self._require_free(session.id)
        if session.is_attached:
            raise SessionStoreError(f"session {session.id} is in a store already")
        admits = scope_target(None, scope_of(self.caller)).__event_filter__
        session.attach(self._publication, admits)
        entry = self._entries[session.id] = _Entry(session)
        return partial(self._detach, entry)

    def announce(self, session: Session) -> None:
        """Tell others of an entered session, once; an error of a listener vetoes it.

        Raises:
            SessionStoreError: the session is not live or was announced before.
            Exception: what a listener raised; the session has left the store.
        """
        entry = self._entries.get(session.id)
        if entry is None or entry.session is not session:
            raise SessionStoreError(f"session {session.id} is not in the store")
        if entry.is_announced:
            raise SessionStoreError(f"session {session.id} was announced before")
        entry.is_announced = entry.is_announcing = True
        try:
            self.ctx.emit(SESSION_CREATED, session, target=session)
        except BaseException:
            entry.wants_detach = True
            raise
        finally:
            entry.is_announcing = False
            if entry.wants_detach:
                self._detach(entry)

    def create(
        self,
        session_id: str | None = None,
        *,
        seed: Iterable[SessionEvent] | None = None,
        meta: Mapping[str, Any] | None = None,
    ) -> Session:
        """Prepare, enter and announce a session that leaves with the calling fiber."""
        session = self.prepare(session_id, seed=seed, meta=meta)

        def body() -> Callable[[], None]:
            detach = self.enter(session)
            self.announce(session)
            return detach

        self.caller.effect(body, "ctx.sessions.create()")
        return session

    def fork(
        self,
        source: Session | str,
        boundary: int | None = None,
        child_id: str | None = None,
    ) -> Session:
        """Create a session that begins with a copy of another one's history.

        Args:
            source: a live session or its id.
            boundary: the last seq to copy, by default the newest; it must end a turn.
            child_id: minted when omitted.

        Raises:
            SessionForkError: see its codes.
        """
        live = self.get(source if isinstance(source, str) else source.id)
        if live is None:
            code = "SESSION_NOT_FOUND" if isinstance(source, str) else "SESSION_NOT_LIVE"
            raise SessionForkError(f"no live session {source!r} to fork", code=code)
        if not isinstance(source, str) and live is not source:
            raise SessionForkError(f"{source.id} is not the live session", code="SESSION_NOT_LIVE")
        if child_id is not None and child_id in self._entries:
            raise SessionForkError(f"{child_id} is taken", code="SESSION_ALREADY_EXISTS")
        prefix = fork_prefix(live, boundary)
        meta = {
            "cwd": live.header.cwd,
            "parent_session": live.id,
            "seed_length": len(prefix),
            "imported_from": live.header.imported_from,  # the prefix keeps its relaxed rules
        }
        return self.create(child_id, seed=prefix, meta=meta)

    async def flush(self, session: Session) -> bool:
        """Wait until everybody who keeps the session has made it durable.

        Returns:
            Whether anybody keeps it.

        Raises:
            SessionStoreError: the session is not live.
            Exception: the failure of the first listener; notes tell of others.
        """
        if self.get(session.id) is not session:
            raise SessionStoreError(f"session {session.id} is not live and cannot be flushed")
        if not self.ctx.events.has_listeners(SESSION_FLUSH, session):
            return False
        try:
            await self.ctx.parallel(SESSION_FLUSH, session, target=session)
        except ExceptionGroup as group:
            first, *others = group.exceptions
            for other in others:
                first.add_note(f"also failed to flush: {other!r}")
            raise first from None
        return True

    # -- leaving -----------------------------------------------------------------------------

    def _detach(self, entry: _Entry) -> None:
        session = entry.session
        if entry.is_detached:
            return
        if entry.is_announcing:
            entry.wants_detach = True
            return
        if session.is_publishing:
            session.after_publication(lambda: self._detach(entry))
            return
        entry.is_detached = True
        del self._entries[session.id]  # an id is taken until its entry is detached
        session.attach(None, session.__event_filter__)
        if entry.is_announced:
            self.ctx.emit(SESSION_DISPOSED, session, target=session)
        if not session.is_attached:  # nobody has put it into a store meanwhile
            session.attach(None)

    def _header(self, ident: SessionId, meta: Mapping[str, Any]) -> SessionHeader:
        unknown = meta.keys() - _META
        if unknown:
            raise SessionHeaderError(f"unknown header member {min(unknown)!r} in meta")
        now_ms = self._now_ms or _header_clock
        return SessionHeader(id=ident, created_at=now_ms(), **meta)

    def _mint(self) -> SessionId:
        ident = self._new_id()
        while ident in self._entries:
            ident = self._new_id()
        return ident

    def _require_free(self, session_id: str) -> None:
        if session_id in self._entries:
            raise SessionStoreError(f"session id {session_id!r} is taken by a live session")


class _Publication:
    """Dispatches the two events of an append, on the bus itself: each is sent once a delta."""

    __slots__ = ("_bus", "_logger")

    def __init__(self, ctx: Context) -> None:
        self._bus = ctx.events
        self._logger = ctx.logger

    def validate(self, session: Session, event: SessionEvent) -> None:
        self._bus.emit(SESSION_VALIDATE, (session, event), session, contain=None)

    def publish(self, session: Session, event: SessionEvent) -> None:
        try:
            self._bus.emit(SESSION_EVENT, (session, event), session, contain=None)
        except Exception as error:  # noqa: BLE001 - whoever observes dispatches may raise anything
            self.fail(session, error)

    def fail(self, session: Session, error: Exception) -> None:
        error.add_note(f"after an append to session {session.id}")
        self._logger.error(error)


def _header_clock() -> int:
    return time.time_ns() // 1_000_000
