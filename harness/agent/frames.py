"""Frames of a live answer: transient, never stored, in gapless order."""

from typing import Any, ClassVar, Literal, NamedTuple, TypeAlias

import attrs

from harness.llm import StreamChunk


@attrs.frozen
class StreamStart:
    """An attempt has its stream; comes before its first chunk.

    `revision` rises by one with every frame of an agent.
    """

    type: ClassVar[Literal["start"]] = "start"
    attempt_id: str
    revision: int
    turn: int
    step: int


@attrs.frozen
class StreamChunkFrame:
    """One chunk, after it was appended to the log; `index` counts from 0 without gaps."""

    type: ClassVar[Literal["chunk"]] = "chunk"
    attempt_id: str
    revision: int
    index: int
    time: int
    chunk: StreamChunk


@attrs.frozen
class StreamEnd:
    """The attempt is settled; `event_type` and `seq` name its event, or it was abandoned."""

    type: ClassVar[Literal["end"]] = "end"
    attempt_id: str
    revision: int
    index: int
    event_type: str | None
    seq: int | None


StreamFrame: TypeAlias = StreamStart | StreamChunkFrame | StreamEnd


class LiveAttempt(NamedTuple):
    """What a late observer joins with: start, packed chunks so far, next revision."""

    start: StreamStart
    records: tuple[Any, ...]
    next_revision: int


def frame_to_json(frame: StreamFrame) -> dict[str, Any]:
    """Return a frame as clients get it."""
    common = {"type": frame.type, "attemptId": frame.attempt_id, "revision": frame.revision}
    if isinstance(frame, StreamStart):
        return {**common, "turn": frame.turn, "step": frame.step}
    if isinstance(frame, StreamChunkFrame):
        return {**common, "index": frame.index, "time": frame.time, "chunk": frame.chunk.to_json()}
    if frame.seq is None:
        outcome: dict[str, Any] = {"kind": "abandoned"}
    else:
        outcome = {"kind": "committed", "eventType": frame.event_type, "seq": frame.seq}
    return {**common, "index": frame.index, "outcome": outcome}
