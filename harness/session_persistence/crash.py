"""Find the events that close the turn that a crash interrupted."""

from harness.session import SessionEvent, interrupted_turn_closers
from harness.session_persistence.backend import RawStored
from harness.session_persistence.errors import SessionPersistenceCorruptionError


def closers_for(stored: RawStored) -> tuple[SessionEvent, ...]:
    """Return the closers of a stored log; none when it is balanced.

    Raises:
        SessionPersistenceCorruptionError: an event lacks what its type promises.
    """
    try:
        return tuple(interrupted_turn_closers(stored.events))
    except (LookupError, TypeError, AttributeError) as error:
        raise SessionPersistenceCorruptionError(
            stored.header.id, f"an event does not have the shape of its type: {error!r}"
        ) from error
