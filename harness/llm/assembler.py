"""Put the chunks of one answer together, whatever order and damage they arrive with."""

from typing import cast

from attrs import define, field

from harness.llm.blocks import ContentBlock, ReasoningBlock, TextBlock, ToolCallBlock
from harness.llm.chunks import (
    BlockEnd,
    BlockStart,
    Finish,
    ReasoningDelta,
    StreamChunk,
    TextDelta,
    ToolCallDelta,
    UsageChunk,
)
from harness.llm.errors import LlmError
from harness.llm.finish import FinishReason, TokenUsage
from harness.llm.message import Message, create_message
from harness.llm.sources import MessageSource, plugin_source
from harness.wire import Json, freeze_json

_DELTA_TYPES = {TextDelta: "text", ReasoningDelta: "reasoning"}
ASSEMBLER_SOURCE = plugin_source("llm/assembler")


@define(eq=False)
class _Partial:
    """Collect one block. `closed` is set by its first block-end and never changes after that."""

    index: int
    type: str
    parts: list[str] = field(factory=list[str])
    id: str = ""
    name: str | None = None
    closed: ContentBlock | None = None


class BlockAssembler:
    """Collect chunks into blocks; tolerant, because checking the grammar is another's job.

    Invariants: blocks stand in first-seen order, at most one per index; a closed block never
    changes; every read may be repeated at any time and changes nothing.
    """

    def __init__(self) -> None:
        self._partials: dict[int, _Partial] = {}
        self._finish: Finish | None = None
        self._usage: TokenUsage | None = None

    def push(self, chunk: StreamChunk) -> None:
        """Take the next chunk; an object that is no chunk raises `TypeError` naming its tag."""
        if isinstance(chunk, (TextDelta, ReasoningDelta)):
            partial = self._partials.get(chunk.index)
            if partial is None:
                partial = self._open(chunk.index, _DELTA_TYPES[type(chunk)])
            if partial.closed is None:
                partial.parts.append(chunk.text)
        elif isinstance(chunk, ToolCallDelta):
            partial = self._partials.get(chunk.index) or self._open(chunk.index, "tool-call")
            if partial.closed is None:
                partial.id = chunk.id
                partial.name = chunk.name or partial.name
                partial.parts.append(chunk.arguments_delta)
        elif isinstance(chunk, BlockStart):
            if chunk.index not in self._partials:
                self._open(chunk.index, chunk.block_type)
        elif isinstance(chunk, BlockEnd):
            partial = self._partials.get(chunk.index) or self._open(chunk.index, chunk.block.type)
            if partial.closed is None:
                partial.closed = chunk.block
        elif isinstance(chunk, UsageChunk):
            self._usage = chunk.usage
        elif isinstance(chunk, Finish):  # pyright: ignore[reportUnnecessaryIsInstance] - or a stranger
            self._finish = chunk
        else:
            tag: object = getattr(chunk, "type", type(chunk).__name__)
            raise TypeError(f"not a stream chunk: {tag!r}")

    @property
    def usage(self) -> TokenUsage | None:
        """Return the last reported usage."""
        return self._usage

    @property
    def finish(self) -> FinishReason:
        """Return the last finish reason; `stop` when none arrived."""
        return FinishReason.STOP if self._finish is None else self._finish.reason

    @property
    def replay_state(self) -> Json:
        """Return the adapter's replay state, with its `blocks` aligned to `blocks()`.

        A `blocks` list that does not have one entry per block makes the whole state unusable:
        `None`.
        """
        state: Json = None if self._finish is None else self._finish.replay_state
        if not isinstance(state, dict) or "blocks" not in state:
            return cast("Json", state)
        envelope = cast("dict[str, Json]", state)
        entries: Json = envelope["blocks"]
        blocks = self._assemble()
        if not isinstance(entries, (list, tuple)) or len(cast("list[Json]", entries)) != len(
            blocks
        ):
            return None
        pairs = zip(cast("list[Json]", entries), blocks, strict=True)
        kept = [entry for entry, block in pairs if self._keeps(block)]
        return freeze_json({**envelope, "blocks": kept})

    def blocks(self) -> list[ContentBlock]:
        """Return the blocks so far; a max-tokens finish drops tool calls, which may be cut.

        An open block of an unknown type cannot be assembled and raises `LlmError`
        (`INVALID_RESPONSE`).
        """
        return [block for block in self._assemble() if self._keeps(block)]

    def interrupted_blocks(self) -> list[ContentBlock]:
        """Return the text and reasoning that a reader has already seen, without blank ones."""
        seen: list[ContentBlock] = []
        for partial in self._partials.values():
            block = partial.closed
            if block is None and partial.type in ("text", "reasoning"):
                block = _close(partial)
            if isinstance(block, (TextBlock, ReasoningBlock)) and block.text.strip():
                seen.append(block)
        return seen

    def message(
        self, source: MessageSource = ASSEMBLER_SOURCE, *, message_id: str | None = None
    ) -> Message:
        """Return the assistant message over `blocks()`."""
        return create_message("assistant", self.blocks(), source=source, message_id=message_id)

    def _open(self, index: int, block_type: str) -> _Partial:
        partial = self._partials[index] = _Partial(index, block_type)
        return partial

    def _assemble(self) -> list[ContentBlock]:
        return [partial.closed or _close(partial) for partial in self._partials.values()]

    def _keeps(self, block: ContentBlock) -> bool:
        return self.finish.kind != "max-tokens" or not isinstance(block, ToolCallBlock)


def _close(partial: _Partial) -> ContentBlock:
    text = "".join(partial.parts)
    if partial.type == "text":
        return TextBlock(text)
    if partial.type == "reasoning":
        return ReasoningBlock(text)
    if partial.type == "tool-call":
        return ToolCallBlock(partial.id or f"call-{partial.index}", partial.name or "", text)
    raise LlmError(
        f"block {partial.index} of the unknown type {partial.type!r} was never closed",
        "INVALID_RESPONSE",
    )
