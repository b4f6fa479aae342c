"""Turn single events into storage records and back, exactly and fast."""

from collections.abc import Sequence
from typing import Any, cast

from harness.session import SessionError, SessionEvent, event_from_json, event_to_json
from harness.session_persistence.errors import MalformedRecordError
from harness.wire import FrozenDict, Json, dumps, snapshot_json

_SCALARS = frozenset({str, int, float, bool, type(None)})


def read_event(record: dict[str, Any]) -> SessionEvent:
    """Return the event of one verbatim record; its data is frozen in place of a copy.

    Raises:
        MalformedRecordError: the record is no event envelope.
    """
    data = record.get("data")
    if type(data) is not dict:
        raise MalformedRecordError(f"the data of an event must be an object, found {data!r:.80}")
    record["data"] = _frozen_object(cast("dict[str, Any]", data))
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


def _frozen_object(value: dict[str, Any]) -> FrozenDict:
    try:
        return cast("FrozenDict", _frozen(value))
    except RecursionError:  # deeper than any real payload: slower, and at any depth
        return cast("FrozenDict", snapshot_json(value))


def _frozen(value: Json) -> Json:
    """Freeze JSON that was just decoded and that nobody else holds."""
    if type(value) is dict:
        fields = cast("dict[str, Any]", value)
        for key, item in fields.items():
            if type(item) not in _SCALARS:
                fields[key] = _frozen(item)
        return FrozenDict(fields)
    return tuple(
        item if type(item) in _SCALARS else _frozen(item) for item in cast("list[Any]", value)
    )
