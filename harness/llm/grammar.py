"""Check that a stream obeys the chunk grammar: a companion for tests and invariants."""

from collections.abc import AsyncIterator, Callable

from harness.llm.call_config import GenerateOptions
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
from harness.llm.errors import InvariantError
from harness.llm.events import STREAM
from harness.llm.numbers import is_safe_int
from vendor_shims.cordis import Context

_DELTA_TYPES = {TextDelta: "text", ReasoningDelta: "reasoning", ToolCallDelta: "tool-call"}


class ChunkGrammar:
    """Follow one stream chunk by chunk and raise `InvariantError` at the first violation."""

    def __init__(self) -> None:
        self._open: dict[int, str] = {}
        self._used: set[int] = set()
        self._has_usage = False
        self._finish: Finish | None = None

    def push(self, chunk: StreamChunk) -> None:
        """Check the next chunk."""
        if self._finish is not None:
            raise InvariantError(f"chunk {chunk.type!r} follows the finish of its stream")
        if isinstance(chunk, BlockStart):
            self._start(chunk)
        elif isinstance(chunk, (TextDelta, ReasoningDelta, ToolCallDelta)):
            self._expect(chunk.index, _DELTA_TYPES[type(chunk)], chunk.type)
        elif isinstance(chunk, BlockEnd):
            self._expect(chunk.index, chunk.block.type, "block-end")
            del self._open[chunk.index]
        elif isinstance(chunk, UsageChunk):
            if self._has_usage:
                raise InvariantError("a stream reported its usage twice")
            self._has_usage = True
        else:
            self._end(chunk)

    def close(self) -> None:
        """Check the end of the stream: it needs a finish."""
        if self._finish is None:
            raise InvariantError("the stream ended with neither a finish nor an error")

    def _start(self, chunk: BlockStart) -> None:
        index = chunk.index
        if not is_safe_int(index) or index < 0:
            raise InvariantError(f"block index must be a non-negative integer, got {index!r}")
        if index in self._used:
            raise InvariantError(f"block {index} was opened twice")
        self._used.add(index)
        self._open[index] = chunk.block_type

    def _expect(self, index: int, block_type: str, what: str) -> None:
        if not is_safe_int(index) or index not in self._open:
            raise InvariantError(
                f"{what} addresses block {index!r}, which is not open; expected an open "
                f"{block_type} block"
            )
        if self._open[index] != block_type:
            raise InvariantError(
                f"{what} of type {block_type} addresses block {index}, opened as "
                f"{self._open[index]}"
            )

    def _end(self, chunk: Finish) -> None:
        if self._open and not chunk.reason.is_failure:
            raise InvariantError(
                f"finish {chunk.reason.kind!r} leaves blocks open: {sorted(self._open)}"
            )
        self._finish = chunk


async def checked_stream(stream: AsyncIterator[StreamChunk]) -> AsyncIterator[StreamChunk]:
    """Pass a stream through and raise `InvariantError` where it breaks the grammar."""
    grammar = ChunkGrammar()
    try:
        async for chunk in stream:
            grammar.push(chunk)
            yield chunk
        grammar.close()
    finally:
        close = getattr(stream, "aclose", None)
        if close is not None:
            await close()


def check_every_stream(ctx: Context) -> None:
    """Check every stream of the tree, outermost: a plugin."""

    def check(
        _options: GenerateOptions, proceed: Callable[[], AsyncIterator[StreamChunk]]
    ) -> AsyncIterator[StreamChunk]:
        return checked_stream(proceed())

    ctx.on(STREAM, check, prepend=True)
