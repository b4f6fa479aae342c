"""Collect the one text block, or the one reasoning block, of a stream."""

from typing import Literal, TypeAlias

from harness.llm import (
    BlockEnd,
    BlockStart,
    ReasoningBlock,
    ReasoningDelta,
    StreamChunk,
    TextBlock,
    TextDelta,
)
from harness.wire import SurrogateJoiner

RunType: TypeAlias = Literal["text", "reasoning"]


class TextRun:
    """Turn pieces of text into deltas of one block.

    Invariant: the deltas concatenate to the final block and hold no lone surrogate.
    """

    def __init__(self, index: int, block_type: RunType) -> None:
        self.index = index
        self._type: RunType = block_type
        self._delta = TextDelta if block_type == "text" else ReasoningDelta
        self._parts: list[str] = []
        self._joiner = SurrogateJoiner()

    def start(self) -> BlockStart:
        """Return the chunk that opens the block."""
        return BlockStart(self.index, self._type)

    def push(self, text: object, out: list[StreamChunk]) -> None:
        """Append the delta of a piece to `out`; what is no text raises `TypeError`."""
        if type(text) is not str:
            raise TypeError(f"expected text, found {text!r}")
        whole = self._joiner.feed(text)
        if whole:
            self._parts.append(whole)
            out.append(self._delta(self.index, whole))

    def finish(self) -> list[StreamChunk]:
        """Close the block; half a character that is still held becomes U+FFFD."""
        out: list[StreamChunk] = []
        rest = self._joiner.finish()
        if rest:
            self._parts.append(rest)
            out.append(self._delta(self.index, rest))
        text = "".join(self._parts)
        block = TextBlock(text) if self._type == "text" else ReasoningBlock(text)
        return [*out, BlockEnd(self.index, block)]
