"""Declare the bus events of sessions."""

from typing import TYPE_CHECKING, Any

from vendor_shims.cordis import Emit, Parallel

if TYPE_CHECKING:
    from harness.session.event import SessionEvent
    from harness.session.session import Session
else:
    Session = SessionEvent = Any


def _session(session: Any, *_: Any) -> Any:
    return session


SESSION_CREATED = Emit[["Session"]](
    "session/created",
    scoped=_session,
    doc="A session entered the store. An error of a listener vetoes it.",
)
SESSION_VALIDATE = Emit[["Session", "SessionEvent"]](
    "session/validate",
    scoped=_session,
    doc="An event is about to be appended. An error of a listener vetoes it; nothing changed.",
)
SESSION_EVENT = Emit[["Session", "SessionEvent"]](
    "session/event",
    contain=True,
    scoped=_session,
    doc="An event was appended. Listeners must not append to the same session.",
)
SESSION_DISPOSED = Emit[["Session"]](
    "session/disposed",
    contain=True,
    scoped=_session,
    doc="A session left the store; paired exactly with session/created.",
)
SESSION_FLUSH = Parallel[["Session"]](
    "session/flush",
    scoped=_session,
    doc="Make everything appended so far durable; awaited, failures reach the caller.",
)
