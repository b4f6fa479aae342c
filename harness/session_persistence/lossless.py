"""Take events of unknown origin as they are now, if JSON can hold them exactly."""

from collections.abc import Iterable

from harness.session import SessionEvent
from harness.session_persistence.errors import NotLosslessJsonError
from harness.wire import FrozenDict, NotJsonError, snapshot_json


def lossless_batch(events: Iterable[SessionEvent]) -> tuple[SessionEvent, ...]:
    """Return detached copies, checked in the same pass that copies them.

    Raises:
        NotLosslessJsonError: a payload is no exact JSON; names the event type and the place.
    """
    return tuple(event._replace(data=_detach(event)) for event in events)


def _detach(event: SessionEvent) -> FrozenDict:
    try:
        return snapshot_json(event.data)
    except NotJsonError as error:
        raise NotLosslessJsonError(event.type, error.path, error.reason) from error
