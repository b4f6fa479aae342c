"""Find the prefix that a fork of a session starts from."""

from harness.session.errors import SessionForkError
from harness.session.event import SessionEvent
from harness.session.repair import balanced_prefix
from harness.session.session import Session


def fork_prefix(source: Session, boundary: int | None) -> tuple[SessionEvent, ...]:
    """Return the events up to and including `boundary`, by default all of them.

    Raises:
        SessionForkError: INVALID_BOUNDARY for no seq of the log, OPEN_TURN for one inside a turn.
    """
    events = source.events
    if boundary is None:
        boundary = len(events) - 1
    elif type(boundary) is not int or not 0 <= boundary < len(events):
        raise SessionForkError(
            f"boundary {boundary!r} is no seq of {source.id}, which has {len(events)} events",
            code="INVALID_BOUNDARY",
        )
    prefix = events[: boundary + 1]
    if len(balanced_prefix(prefix)) != len(prefix):
        raise SessionForkError(
            f"event {boundary} of {source.id} is inside a turn; fork at a turn/end",
            code="OPEN_TURN",
        )
    return prefix
