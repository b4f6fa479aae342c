"""Define the envelope of a session event, and read and write it."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Literal, NamedTuple, TypeAlias, cast

from harness.session.errors import SessionEventError, SurfaceError
from harness.wire import FrozenDict, NotJsonError, snapshot_json

_KEYS = {"type", "seq", "time", "data", "surfaceOp", "sourceEventSeqs", "ignorable"}
MAX_SAFE_INTEGER = 2**53 - 1
_MAX_SOURCES = 1_000_000


class Replace(NamedTuple):
    """Replace the surface nodes from `start` to `end`: seqs of current nodes, both included."""

    start: int
    end: int


SurfaceOp: TypeAlias = Literal["append"] | Replace


class SessionEvent(NamedTuple):
    """One immutable entry of a session log.

    Attributes:
        type: the event type, such as `user/message`.
        seq: the position in the log, from 0.
        time: wall clock in milliseconds since the epoch; may step backwards.
        data: deeply frozen JSON object.
        surface_op: how a surface event entered the surface; `None` on every other type.
        source_event_seqs: earlier events that a surface event was made from.
        ignorable: whether a reader that does not know the type may skip the event.
    """

    type: str
    seq: int
    time: int
    data: FrozenDict
    surface_op: SurfaceOp | None = None
    source_event_seqs: tuple[int, ...] | None = None
    ignorable: bool = False


_new: Callable[[type[SessionEvent], tuple[Any, ...]], SessionEvent] = cast("Any", tuple).__new__


def make_event(fields: tuple[Any, ...]) -> SessionEvent:
    """Make an event of all its members, at half the cost of calling the class."""
    return _new(SessionEvent, fields)


def event_to_json(event: SessionEvent) -> dict[str, Any]:
    """Return the stored form of an event; its data is shared, not copied."""
    stored: dict[str, Any] = {
        "type": event.type,
        "seq": event.seq,
        "time": event.time,
        "data": event.data,
    }
    if event.surface_op is not None:
        op = event.surface_op
        stored["surfaceOp"] = (
            op if isinstance(op, str) else {"op": "replace", "start": op.start, "end": op.end}
        )
    if event.source_event_seqs is not None:
        stored["sourceEventSeqs"] = list(event.source_event_seqs)
    if event.ignorable:
        stored["ignorable"] = True
    return stored


def event_from_json(value: object, *, freeze: bool = True) -> SessionEvent:
    """Read the stored form of an event.

    Args:
        value: one decoded storage record.
        freeze: copy and freeze the data; a caller that owns freshly decoded JSON still needs it,
            because a decoder returns mutable containers.

    Raises:
        SessionEventError: the envelope is malformed; names the member.
    """
    if not isinstance(value, (dict, Mapping)):  # the first is the usual one, and quickly seen
        raise SessionEventError(f"expected an event object, found {type(value).__name__}")
    stored = cast("Mapping[str, Any]", value)
    is_plain = len(stored) == 4 and "data" in stored
    if not is_plain and not stored.keys() <= _KEYS:
        unknown = sorted(str(key) for key in stored.keys() - _KEYS)
        raise SessionEventError(f"unknown event member {unknown[0]!r}; expected {sorted(_KEYS)}")
    kind, seq, time = stored.get("type"), stored.get("seq"), stored.get("time")
    if not isinstance(kind, str) or not kind:
        raise SessionEventError(f"event type must be a non-empty string, found {kind!r}")
    if type(seq) is not int or not 0 <= seq <= MAX_SAFE_INTEGER:
        raise SessionEventError(f"seq must be a non-negative integer, found {seq!r}")
    if type(time) is not int or not -MAX_SAFE_INTEGER <= time <= MAX_SAFE_INTEGER:
        raise SessionEventError(f"time of event {seq} must be an integer, found {time!r}")
    data = stored.get("data")
    frozen = freeze_data(kind, data) if freeze else cast("FrozenDict", data)
    if is_plain:
        return make_event((kind, seq, time, frozen, None, None, False))
    if "ignorable" in stored and stored["ignorable"] is not True:
        raise SessionEventError(f"ignorable of event {seq} may only be true")
    op = read_surface_op(stored["surfaceOp"]) if "surfaceOp" in stored else None
    sources = read_sources(stored["sourceEventSeqs"], seq) if "sourceEventSeqs" in stored else None
    return make_event((kind, seq, time, frozen, op, sources, "ignorable" in stored))


def freeze_data(kind: str, data: object) -> FrozenDict:
    """Return event data as a frozen copy; data that is frozen already is taken as it is.

    Raises:
        SessionEventError: it is no JSON object, or holds a value that JSON cannot.
    """
    if type(data) is FrozenDict:
        return data
    try:
        frozen = snapshot_json(data)
    except NotJsonError as error:
        raise SessionEventError(f"data of {kind!r}: {error}") from error
    if type(frozen) is not FrozenDict:
        raise SessionEventError(f"data of {kind!r} must be an object, found {type(data).__name__}")
    return frozen


def read_surface_op(value: object) -> SurfaceOp:
    """Read a surface marker; accepts the bound names of newer upstream logs too."""
    if value == "append":
        return "append"
    if isinstance(value, Replace):
        value = {"op": "replace", "start": value.start, "end": value.end}
    if isinstance(value, Mapping):
        op = cast("Mapping[str, Any]", value)
        for first, last in (("start", "end"), ("startSeq", "endSeq")):
            if set(op) == {"op", first, last} and op["op"] == "replace":
                start, end = op[first], op[last]
                if type(start) is int and type(end) is int and start >= 0 and end >= 0:
                    return Replace(start, end)
    raise SurfaceError(
        f"malformed surface operation {value!r}; expected 'append' or"
        " {'op': 'replace', 'start': seq, 'end': seq}"
    )


def read_sources(value: object, seq: int) -> tuple[int, ...]:
    """Read the source seqs of event `seq`; accepts `[start, end]` pairs for ascending runs."""
    if not isinstance(value, (list, tuple)):
        raise SurfaceError(f"source event seqs must be a list, found {value!r}")
    items = tuple(cast("Iterable[Any]", value))
    if _are_seqs(items, seq):
        return items
    seqs: list[int] = []
    for item in items:
        if isinstance(item, (list, tuple)):
            seqs.extend(_run(cast("list[object]", item), seq))
        elif type(item) is int and 0 <= item < seq:
            seqs.append(item)
        else:
            raise SurfaceError(f"source event {item!r} is not earlier than event {seq}")
        if len(seqs) > min(seq, _MAX_SOURCES):
            break  # more than there are earlier events: some are named twice
    if len(set(seqs)) != len(seqs) or len(seqs) > _MAX_SOURCES:
        raise SurfaceError("source event seqs hold a seq twice, or too many")
    return tuple(seqs)


def _are_seqs(items: tuple[Any, ...], seq: int) -> bool:
    """Return whether nothing is to be expanded or refused; an answer has a source a delta."""
    return (
        0 < len(items) <= _MAX_SOURCES
        and set(map(type, items)) == {int}
        and min(items) >= 0
        and max(items) < seq
        and len(set(items)) == len(items)
    )


def _run(pair: list[object], seq: int) -> range:
    if len(pair) == 2:
        start, end = pair
        if type(start) is int and type(end) is int and 0 <= start <= end < seq:
            return range(start, min(end, start + _MAX_SOURCES) + 1)
    raise SurfaceError(f"malformed run of source event seqs {pair!r}")


def check_planted(event: SessionEvent, index: int) -> SessionEvent:
    """Return the event that stands at `index` of a seed, frozen where its maker left that out.

    Raises:
        SessionEventError: its envelope is malformed.
    """
    if type(event) is not SessionEvent:
        raise SessionEventError(f"expected a session event, found {type(event)!r}")
    kind, seq, time, data, op, sources, _ = event
    if type(seq) is not int or seq != index:
        raise SessionEventError(f"expected seq {index}, found {seq!r}")
    if type(time) is not int:
        raise SessionEventError(f"time of event {index} must be an integer, found {time!r}")
    if type(data) is not FrozenDict:
        event = event._replace(data=freeze_data(kind, data))
    if op is not None and op != "append":
        event = event._replace(surface_op=read_surface_op(op))
    if sources is not None and type(sources) is not tuple:
        event = event._replace(source_event_seqs=read_sources(sources, index))
    return event
