"""Refuse events that this build cannot interpret."""

from harness.session import EVENT_TYPES, SessionEvent
from harness.session_persistence.errors import SessionFormatUnsupportedError


def require_known_type(event: SessionEvent, path: str) -> None:
    """Raise unless the type of an event is declared, or the event says that it may be skipped.

    Raises:
        SessionFormatUnsupportedError: nobody declared the type; `path` is the log that has it.
    """
    if event.type not in EVENT_TYPES and not event.ignorable:
        raise SessionFormatUnsupportedError(
            path,
            f"event {event.seq} has the type {event.type!r}, which nothing in this build declares;"
            " add the plugin that wrote it",
        )
