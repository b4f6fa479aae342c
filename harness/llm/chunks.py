"""Define the seven chunks of a streamed answer.

A chunk is a small frozen record. `to_json()` builds its persisted form directly, without
validation, because it runs once per delta. Ordering rules live in `grammar`.
"""

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, ClassVar, Literal, TypeAlias, cast

from attrs import frozen

from harness.llm.blocks import ContentBlock, block_from_json
from harness.llm.finish import FinishReason, TokenUsage
from harness.wire import FrozenDict, Json, freeze_json


@frozen
class BlockStart:
    """Open block `index`; indices are allocated 0, 1, 2, … in first-seen order."""

    type: ClassVar[Literal["block-start"]] = "block-start"
    index: int
    block_type: str

    def to_json(self) -> FrozenDict:
        """Return the persisted form."""
        return _block_start(self.index, self.block_type)


@frozen
class TextDelta:
    """Append text to an open text block."""

    type: ClassVar[Literal["text-delta"]] = "text-delta"
    index: int
    text: str

    def to_json(self) -> FrozenDict:
        """Return the persisted form."""
        return FrozenDict({"type": "text-delta", "index": self.index, "text": self.text})


@frozen
class ReasoningDelta:
    """Append text to an open reasoning block."""

    type: ClassVar[Literal["reasoning-delta"]] = "reasoning-delta"
    index: int
    text: str

    def to_json(self) -> FrozenDict:
        """Return the persisted form."""
        return FrozenDict({"type": "reasoning-delta", "index": self.index, "text": self.text})


@frozen
class ToolCallDelta:
    """Append raw argument text to an open tool call; `id` and `name` repeat once known."""

    type: ClassVar[Literal["tool-call-delta"]] = "tool-call-delta"
    index: int
    id: str
    name: str | None
    arguments_delta: str

    def to_json(self) -> FrozenDict:
        """Return the persisted form; an unknown name has no key."""
        if self.name is None:
            return FrozenDict(
                {
                    "type": "tool-call-delta",
                    "index": self.index,
                    "id": self.id,
                    "argumentsDelta": self.arguments_delta,
                }
            )
        return FrozenDict(
            {
                "type": "tool-call-delta",
                "index": self.index,
                "id": self.id,
                "name": self.name,
                "argumentsDelta": self.arguments_delta,
            }
        )


@frozen
class BlockEnd:
    """Close block `index`; the complete `block` is authoritative."""

    type: ClassVar[Literal["block-end"]] = "block-end"
    index: int
    block: ContentBlock

    def to_json(self) -> FrozenDict:
        """Return the persisted form."""
        return FrozenDict({"type": "block-end", "index": self.index, "block": self.block.to_json()})


@frozen
class UsageChunk:
    """Report the token usage of the call, at most once and before `Finish`."""

    type: ClassVar[Literal["usage"]] = "usage"
    usage: TokenUsage

    def to_json(self) -> FrozenDict:
        """Return the persisted form."""
        return FrozenDict({"type": "usage", "usage": self.usage.to_json()})


@frozen
class Finish:
    """End the stream, exactly once. `replay_state` is frozen JSON that the adapter wants back."""

    type: ClassVar[Literal["finish"]] = "finish"
    reason: FinishReason
    replay_state: Json = None

    def to_json(self) -> FrozenDict:
        """Return the persisted form."""
        if self.replay_state is None and self.reason.failure is None:
            return _finish(self.reason.kind)
        data: dict[str, Any] = {"type": "finish", "reason": self.reason.to_json()}
        if self.replay_state is not None:
            data["replayState"] = self.replay_state
        return FrozenDict(data)


StreamChunk: TypeAlias = (
    BlockStart | TextDelta | ReasoningDelta | ToolCallDelta | BlockEnd | UsageChunk | Finish
)


# Each answer begins a block and ends: their few forms are one object each for all logs.


@lru_cache(maxsize=256, typed=True)
def _block_start(index: int, block_type: str) -> FrozenDict:
    return FrozenDict({"type": "block-start", "index": index, "blockType": block_type})


@lru_cache(maxsize=64)
def _finish(kind: str) -> FrozenDict:
    return FrozenDict({"type": "finish", "reason": FinishReason(kind).to_json()})


def is_token_delta(chunk: StreamChunk) -> bool:
    """Tell whether a chunk carries model output: for first-token timing and idle indicators."""
    if isinstance(chunk, (TextDelta, ReasoningDelta)):
        return chunk.text != ""
    return isinstance(chunk, ToolCallDelta) and bool(chunk.arguments_delta or chunk.name)


def chunk_from_json(value: Mapping[str, Any]) -> StreamChunk:
    """Read a persisted chunk; an unknown tag or a missing member raises `ValueError`."""
    tag = value.get("type")
    reader = _READERS.get(cast("str", tag))
    if reader is None:
        raise ValueError(f"unknown stream chunk type {tag!r}")
    try:
        return reader(value)
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"malformed {tag!r} chunk: {error!r}") from error


_READERS: dict[str, Callable[[Mapping[str, Any]], StreamChunk]] = {
    "block-start": lambda v: BlockStart(v["index"], v["blockType"]),
    "text-delta": lambda v: TextDelta(v["index"], v["text"]),
    "reasoning-delta": lambda v: ReasoningDelta(v["index"], v["text"]),
    "tool-call-delta": lambda v: ToolCallDelta(
        v["index"], v["id"], v.get("name"), v["argumentsDelta"]
    ),
    "block-end": lambda v: BlockEnd(v["index"], block_from_json(v["block"])),
    "usage": lambda v: UsageChunk(TokenUsage.from_json(v["usage"])),
    "finish": lambda v: Finish(
        FinishReason.from_json(v["reason"]), freeze_json(v.get("replayState"))
    ),
}
