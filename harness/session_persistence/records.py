"""Turn single events into storage records and back, exactly and fast."""

from collections.abc import Sequence
from typing import Any

from harness.session import SessionError, SessionEvent, event_from_json, event_to_json
from harness.session_persistence.errors import MalformedRecordError
from harness.wire import dumps, freeze_json


def read_event(record: dict[str, Any]) -> SessionEvent:
    """Return the event of one verbatim record; its data is a frozen copy.

    Raises:
        MalformedRecordError: the record is no event envelope.
    """
    data = record.get("data")
    if type(data) is not dict:
        raise MalformedRecordError(f"the data of an event must be an object, found {data!r:.80}")
    record["data"] = freeze_json(data)
    try:
        return event_from_json(record, freeze=False)
    except SessionError as error:
        raise MalformedRecordError(str(error)) from error


def encoded_size(event: SessionEvent) -> int:
    """Return how many bytes an event takes in the log, unpacked."""
    return len(dumps(event_to_json(event)))


def same_events(some: Sequence[SessionEvent], others: Sequence[SessionEvent]) -> bool:
    """Return whether two runs of events are the same on disk."""
    if len(some) != len(others):
        return False
    return all(
        one is other or dumps(event_to_json(one)) == dumps(event_to_json(other))
        for one, other in zip(some, others, strict=True)
    )
