"""Record a stream compactly: runs of deltas share one record and keep their boundaries and times.

Record shapes (JSON objects with exactly these keys):

    {"type": "text-chunks" | "reasoning-chunks", "time0", "index", "dt": [...], "texts": [...]}
    {"type": "tool-call-chunks", "time0", "index", "dt": [...], "id", "name"?, "args": [...]}
    {"type": "chunk", "time", "chunk": <chunk>}

`dt` has one gap in milliseconds less than there are members; gaps may be negative.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias, cast

from harness.llm.chunks import (
    ReasoningDelta,
    StreamChunk,
    TextDelta,
    ToolCallDelta,
    chunk_from_json,
)
from harness.llm.numbers import is_safe_int

StreamRecord: TypeAlias = Mapping[str, Any]
_TEXT_KEYS = {"type", "time0", "index", "dt", "texts"}
_CALL_KEYS = {"type", "time0", "index", "dt", "id", "name", "args"}


class AssistantStreamPacker:
    """Collect timed chunks into compact records as they arrive.

    Invariant: expanding `records` gives back exactly the chunks and times that were added.
    """

    def __init__(self) -> None:
        self.records: list[dict[str, Any]] = []
        self._run: tuple[object, ...] | None = None
        self._gaps: list[int] = []
        self._members: list[str] = []
        self._last_ms = 0

    def add(self, time_ms: int, chunk: StreamChunk) -> None:
        """Take the next chunk with its wall-clock time in milliseconds."""
        run: tuple[object, ...]
        if isinstance(chunk, (TextDelta, ReasoningDelta)):
            run, member = (type(chunk), chunk.index), chunk.text
        elif isinstance(chunk, ToolCallDelta) and chunk.id and chunk.name != "":
            run = (ToolCallDelta, chunk.index, chunk.id, chunk.name)
            member = chunk.arguments_delta
        else:
            self._run = None
            self.records.append({"type": "chunk", "time": time_ms, "chunk": chunk.to_json()})
            return
        gap = time_ms - self._last_ms
        if run == self._run and is_safe_int(gap):
            self._gaps.append(gap)
            self._members.append(member)
        else:
            self._start(run, time_ms, member)
        self._last_ms = time_ms

    def _start(self, run: tuple[object, ...], time_ms: int, member: str) -> None:
        self._run, self._gaps, self._members = run, [], [member]
        head: dict[str, Any] = {"time0": time_ms, "index": run[1], "dt": self._gaps}
        if run[0] is ToolCallDelta:
            head = {"type": "tool-call-chunks", **head, "id": run[2]}
            if run[3] is not None:
                head["name"] = run[3]
            head["args"] = self._members
        else:
            tag = "text-chunks" if run[0] is TextDelta else "reasoning-chunks"
            head = {"type": tag, **head, "texts": self._members}
        self.records.append(head)


def pack_assistant_stream(timed: Iterable[tuple[int, StreamChunk]]) -> list[dict[str, Any]]:
    """Return the compact records of chunks with their times in milliseconds."""
    packer = AssistantStreamPacker()
    for time_ms, chunk in timed:
        packer.add(time_ms, chunk)
    return packer.records


def expand_assistant_stream(records: Iterable[StreamRecord]) -> Iterator[tuple[int, StreamChunk]]:
    """Yield the timed chunks of compact records; a malformed record raises `ValueError`."""
    for record in records:
        tag = record.get("type")
        if tag == "chunk":
            _expect_keys(record, {"type", "time", "chunk"})
            yield _time(record["time"]), chunk_from_json(record["chunk"])
        elif tag in ("text-chunks", "reasoning-chunks"):
            _expect_keys(record, _TEXT_KEYS)
            build = TextDelta if tag == "text-chunks" else ReasoningDelta
            for time_ms, text in _members(record, "texts"):
                yield time_ms, build(record["index"], text)
        elif tag == "tool-call-chunks":
            named = "name" in record
            _expect_keys(record, _CALL_KEYS if named else _CALL_KEYS - {"name"})
            _expect_texts([record["id"], *([record["name"]] if named else [])], allow_empty=False)
            for time_ms, text in _members(record, "args"):
                yield (
                    time_ms,
                    ToolCallDelta(record["index"], record["id"], record.get("name"), text),
                )
        else:
            raise ValueError(f"unknown stream record type {tag!r}")


def _members(record: StreamRecord, key: str) -> Iterator[tuple[int, str]]:
    if not is_safe_int(record["index"]) or record["index"] < 0:
        raise ValueError(f"stream record index must be non-negative, got {record['index']!r}")
    members, gaps = _list(record[key], key), _list(record["dt"], "dt")
    _expect_texts(members, allow_empty=True)
    if len(members) == 0 or len(gaps) != len(members) - 1:
        raise ValueError(f"stream record has {len(members)} members and {len(gaps)} gaps")
    time_ms = _time(record["time0"])
    timed = [(time_ms, cast("str", members[0]))]
    for gap, member in zip(gaps, members[1:], strict=True):
        time_ms = _time(time_ms + _time(gap))
        timed.append((time_ms, cast("str", member)))
    return iter(timed)


def _list(value: object, key: str) -> Sequence[object]:
    if not isinstance(value, (list, tuple)):
        message = f"stream record member {key!r} must be a list, got {value!r}"
        raise ValueError(message)
    return cast("Sequence[object]", value)


def _time(value: object) -> int:
    if not is_safe_int(value):
        raise ValueError(f"stream record time must be a safe integer, got {value!r}")
    return value


def _expect_texts(values: Sequence[object], *, allow_empty: bool) -> None:
    for value in values:
        if not isinstance(value, str) or not (value or allow_empty):
            raise ValueError(f"stream record text is missing or not text: {value!r}")


def _expect_keys(record: StreamRecord, keys: set[str]) -> None:
    if set(record) != keys:
        raise ValueError(
            f"stream record {record.get('type')!r} must have the keys {sorted(keys)}, "
            f"got {sorted(record)}"
        )
