"""The companion of sessions: refuses an event that breaks a rule of the log."""

from harness.invariants import InvariantError, LogChecker
from harness.session import (
    SESSION_CREATED,
    SESSION_DISPOSED,
    SESSION_EVENT,
    SESSION_VALIDATE,
    Session,
    SessionEvent,
    SessionStore,
)
from vendor_shims.cordis import Context

PACKAGE = "harness.session"


class SessionCompanion:
    """Follow every live session with a checker of its own.

    Invariants: a checker has seen exactly the committed events of its session.
    """

    def __init__(self, ctx: Context) -> None:
        """Watch the live sessions and those to come; an illegal log is reported at once."""
        self._checkers: dict[Session, LogChecker] = {}
        sessions: SessionStore = ctx.require("sessions")
        for session in sessions.list():
            self._adopt(session)
        ctx.on(SESSION_CREATED, self._adopt, unfiltered=True, prepend=True)
        ctx.on(SESSION_VALIDATE, self._validate, unfiltered=True)
        ctx.on(SESSION_EVENT, self._commit, unfiltered=True, prepend=True)
        ctx.on(SESSION_DISPOSED, self._forget, unfiltered=True)

    def _adopt(self, session: Session) -> None:
        if session in self._checkers:
            return
        checker = LogChecker()
        for event in session.events:
            if event.seq >= session.first_live_seq or session.header.imported_from is None:
                _raise_for(checker, event)
            checker.commit(event)
        self._checkers[session] = checker

    def _validate(self, session: Session, event: SessionEvent) -> None:
        checker = self._checkers.get(session)
        if checker is not None:
            _raise_for(checker, event)

    def _commit(self, session: Session, event: SessionEvent) -> None:
        checker = self._checkers.get(session)
        if checker is not None:
            checker.commit(event)

    def _forget(self, session: Session) -> None:
        self._checkers.pop(session, None)


def _raise_for(checker: LogChecker, event: SessionEvent) -> None:
    violation = checker.check(event)
    if violation is not None:
        raise InvariantError(
            f"event {violation.seq} ({event.type}): {violation.message}",
            package=PACKAGE,
            rule=violation.rule,
        )
