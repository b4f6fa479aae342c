"""Pack runs of streamed deltas into one storage row, and read rows back.

A run is three or more consecutive `assistant/chunk` events of one kind, turn, step and block whose
shape is exactly the known one. Texts stay apart, because tokens and their white space are data.
Packing is pure and stateless: a run that a flush splits becomes two rows.
"""

from collections.abc import Iterable
from itertools import accumulate, count, pairwise
from typing import Any, TypeAlias, cast

from harness.session import ASSISTANT_CHUNK, SessionEvent, event_to_json
from harness.session_persistence.errors import MalformedRecordError
from harness.session_persistence.records import read_event
from harness.wire import FrozenDict

MIN_RUN = 3
"""Shorter runs stay verbatim: two rows of one delta are no longer than a row of two."""

MAX_SAFE_INT = 2**53 - 1
_DATA_KEYS = ("turn", "step", "chunk")
_TEXT_KEYS = ("type", "index", "text")
_CALL_KEYS = ("type", "index", "id", "argumentsDelta")
_NAMED_CALL_KEYS = ("type", "index", "id", "name", "argumentsDelta")
_TEXT_KINDS = ("text-delta", "reasoning-delta")
_CALL_KIND = "tool-call-delta"
_ROW_KEYS = {"type", "seq0", "time0", "data"}
_ROW_TAGS = {
    "text-delta": "text-chunks",
    "reasoning-delta": "reasoning-chunks",
    "tool-call-delta": "tool-call-chunks",
}
CHUNK_ROW_TAGS = frozenset(_ROW_TAGS.values())
"""The `type` of a packed row; no session event type has one of these names."""


_RunKey: TypeAlias = tuple[str, int, int, int, str | None, str | None]
"""What the members of one run share: delta kind, turn, step, block index, call id, tool name.

The last two are None for text, and the name also while it is unknown.
"""


def pack_chunk_runs(events: Iterable[SessionEvent]) -> list[dict[str, Any]]:
    """Return the storage records of events, in order: packed rows and verbatim envelopes."""
    records: list[dict[str, Any]] = []
    run: list[SessionEvent] = []
    key: _RunKey | None = None
    for event in events:
        own = _run_key(event) if event.type == ASSISTANT_CHUNK else None
        if own is not None and own == key and _follows(event, run[-1]):
            run.append(event)
            continue
        _close_run(run, key, records)
        key = own
        if own is None:
            records.append(event_to_json(event))
        else:
            run = [event]
    _close_run(run, key, records)
    return records


def decode_storage_record(value: object) -> list[SessionEvent]:
    """Return the events of one storage record: many for a chunk row, one for anything else.

    Raises:
        MalformedRecordError: a row without exactly the known keys, types and arity, or a value
            that is no event envelope.
    """
    if isinstance(value, dict):
        record = cast("dict[str, Any]", value)
        if record.get("type") in CHUNK_ROW_TAGS:
            return _decode_row(record)
        return [read_event(record)]
    raise MalformedRecordError(f"expected a JSON object, got {type(value).__name__}")


def _run_key(event: SessionEvent) -> _RunKey | None:
    """Return what a delta shares with its run, or None when its shape is not the known one.

    Runs once per delta, so it looks at each part once.
    """
    _, _, time, data, surface_op, sources, ignorable = event
    if surface_op is not None or sources is not None or ignorable or tuple(data) != _DATA_KEYS:
        return None
    if type(time) is not int or not -MAX_SAFE_INT <= time <= MAX_SAFE_INT:
        return None
    turn, step, chunk = data.values()
    if type(turn) is not int or type(step) is not int or not isinstance(chunk, dict):
        return None
    delta = cast("dict[str, Any]", chunk)
    keys = tuple(delta)
    if keys == _TEXT_KEYS:
        kind, index, text = delta.values()
        if type(index) is int and type(text) is str and kind in _TEXT_KINDS:
            return kind, turn, step, index, None, None
        return None
    if keys == _NAMED_CALL_KEYS:
        kind, index, call_id, name, text = delta.values()
    elif keys == _CALL_KEYS:
        (kind, index, call_id, text), name = delta.values(), None
    else:
        return None
    texts = type(call_id) is type(text) is str and (name is None or type(name) is str)
    if (
        kind != _CALL_KIND
        or type(index) is not int
        or not texts
        or (name is None) is (len(keys) == 5)
    ):
        return None
    return kind, turn, step, index, call_id, name


def _follows(event: SessionEvent, last: SessionEvent) -> bool:
    return event.seq == last.seq + 1 and abs(event.time - last.time) <= MAX_SAFE_INT


def _close_run(run: list[SessionEvent], key: _RunKey | None, records: list[dict[str, Any]]) -> None:
    """Append the records of a finished run and empty it."""
    if key is not None:
        records.extend([_row(run, key)] if len(run) >= MIN_RUN else map(event_to_json, run))
    run.clear()


def _row(run: list[SessionEvent], key: _RunKey) -> dict[str, Any]:
    kind, turn, step, index, call_id, name = key
    times = [event.time for event in run]
    data: dict[str, Any] = {"turn": turn, "step": step, "index": index}
    data["dt"] = [later - earlier for earlier, later in pairwise(times)]
    if call_id is None:
        data["texts"] = [event.data["chunk"]["text"] for event in run]
    else:
        data["id"] = call_id
        if name is not None:
            data["name"] = name
        data["args"] = [event.data["chunk"]["argumentsDelta"] for event in run]
    return {"type": _ROW_TAGS[kind], "seq0": run[0].seq, "time0": times[0], "data": data}


def _decode_row(row: dict[str, Any]) -> list[SessionEvent]:
    tag: str = row["type"]
    data = row.get("data")
    if row.keys() != _ROW_KEYS or not isinstance(data, dict):
        raise MalformedRecordError(f"a {tag} row needs exactly the keys {sorted(_ROW_KEYS)}")
    body = cast("dict[str, Any]", data)
    is_call = tag == "tool-call-chunks"
    members_key = "args" if is_call else "texts"
    head = _chunk_head(tag, body, members_key)
    members: list[Any] = body[members_key]
    gaps: list[Any] = body["dt"]
    _check_ints(tag, [row["seq0"], row["time0"], body["turn"], body["step"], body["index"], *gaps])
    if not members or len(gaps) != len(members) - 1 or row["seq0"] < 0:
        raise MalformedRecordError(f"a {tag} row has {len(members)} members, {len(gaps)} gaps")
    if set(map(type, members)) != {str}:
        raise MalformedRecordError(f"a {tag} row holds a member that is no text")
    turn, step, seq0 = body["turn"], body["step"], row["seq0"]
    times: list[int] = list(accumulate(gaps, initial=row["time0"]))
    if seq0 + len(members) > MAX_SAFE_INT or not _are_safe(times):
        raise MalformedRecordError(f"the running seq or time of a {tag} row leaves the safe range")
    # A log is mostly these: what follows runs once a delta, and so without a call of our own.
    if is_call:
        chunks = [FrozenDict(head, argumentsDelta=member) for member in members]
    else:
        chunks = [FrozenDict(head, text=member) for member in members]
    return [
        SessionEvent(ASSISTANT_CHUNK, seq, time, FrozenDict(turn=turn, step=step, chunk=chunk))
        for seq, time, chunk in zip(count(seq0), times, chunks, strict=False)
    ]


def _chunk_head(tag: str, body: dict[str, Any], members_key: str) -> dict[str, Any]:
    """Check the keys of a row's data and return what all its chunks begin with."""
    optional = {"id", "name"} if tag == "tool-call-chunks" else set[str]()
    wanted = {"turn", "step", "index", "dt", members_key} | (optional & {"id"})
    if not wanted <= body.keys() <= wanted | optional:
        raise MalformedRecordError(f"the data of a {tag} row has the keys {sorted(body)}")
    if not (isinstance(body[members_key], list) and isinstance(body["dt"], list)):
        raise MalformedRecordError(f"{members_key!r} and 'dt' of a {tag} row must be lists")
    index = body["index"]
    if tag != "tool-call-chunks":
        kind = "text-delta" if tag == "text-chunks" else "reasoning-delta"
        return {"type": kind, "index": index}
    call_id, name = body["id"], body.get("name")
    if type(call_id) is not str or ("name" in body and type(name) is not str):
        raise MalformedRecordError("'id' and 'name' of a tool-call-chunks row must be texts")
    head: dict[str, Any] = {"type": "tool-call-delta", "index": index, "id": call_id}
    if "name" in body:
        head["name"] = name
    return head


def _are_safe(values: list[Any]) -> bool:
    """Return whether there are values, and all are safe integers."""
    return (
        set(map(type, values)) == {int}
        and min(values) >= -MAX_SAFE_INT
        and max(values) <= MAX_SAFE_INT
    )


def _check_ints(tag: str, values: list[Any]) -> None:
    if not _are_safe(values):
        wrong = next(value for value in values if not _are_safe([value]))
        raise MalformedRecordError(f"a {tag} row holds {wrong!r} where a safe integer belongs")
