"""Generate streams for property tests: valid ones, and valid ones with damage.

Needs `hypothesis`, which is not a dependency of this package; nothing else imports this module.
"""

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

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
from harness.llm.finish import FinishReason, LlmFailure, TokenUsage

__all__ = ["chunk_streams", "failures", "malformed_chunk_streams", "usages"]

_CODES = ("RATE_LIMIT", "SERVER", "TRANSPORT", "AUTH", "QUOTA", "UNKNOWN")
_TEXT = st.text(st.characters(exclude_categories=("Cs",)), max_size=12)


def usages() -> SearchStrategy[TokenUsage]:
    """Generate token usage with and without the optional counters."""
    count = st.integers(0, 10**7)
    optional = st.none() | count
    return st.builds(
        TokenUsage,
        count,
        count,
        cache_read_tokens=optional,
        cache_write_tokens=optional,
        reasoning_tokens=optional,
    )


def failures() -> SearchStrategy[LlmFailure]:
    """Generate failures with and without the optional facts."""
    return st.builds(
        LlmFailure,
        _TEXT.filter(bool),
        st.sampled_from(_CODES),
        status=st.none() | st.integers(100, 599),
        provider_retry_after_ms=st.none() | st.floats(1, 10**6),
        request_id=st.none() | st.just("req-1"),
    )


@st.composite
def chunk_streams(draw: st.DrawFn) -> list[StreamChunk]:
    """Generate a valid stream: up to five interleaved blocks, usage perhaps, and a finish."""
    pending = [_block_chunks(draw, index) for index in range(draw(st.integers(0, 5)))]
    chunks: list[StreamChunk] = []
    n_opened = 0
    while any(pending):
        ready = [i for i, rest in enumerate(pending) if rest and i <= n_opened]
        index = draw(st.sampled_from(ready))
        n_opened = max(n_opened, index + 1)
        chunks.append(pending[index].pop(0))
    if draw(st.booleans()):
        chunks.append(UsageChunk(draw(usages())))
    reasons = st.sampled_from([FinishReason.STOP, FinishReason.TOOL_CALLS])
    failed = failures().map(FinishReason.error)
    chunks.append(Finish(draw(reasons | failed)))
    return chunks


@st.composite
def malformed_chunk_streams(draw: st.DrawFn) -> list[StreamChunk]:
    """Generate a stream with chunks dropped, repeated, moved, re-indexed or mistyped."""
    chunks = draw(chunk_streams())
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, len(chunks) - 1))
        kinds = ["repeat", "move", "index", "type", *(["drop"] if len(chunks) > 1 else [])]
        damage = draw(st.sampled_from(kinds))
        chunk = chunks[at]
        if damage == "drop":
            del chunks[at]
        elif damage == "repeat":
            chunks.insert(at, chunk)
        elif damage == "move":
            chunks.insert(draw(st.integers(0, len(chunks) - 1)), chunks.pop(at))
        elif damage == "index":
            chunks[at] = TextDelta(draw(st.integers(0, 7)), "x")
        else:
            chunks[at] = BlockEnd(draw(st.integers(0, 7)), TextBlock("y"))
    return chunks


def _block_chunks(draw: st.DrawFn, index: int) -> list[StreamChunk]:
    kind = draw(st.sampled_from(["text", "reasoning", "tool-call"]))
    parts = draw(st.lists(_TEXT, max_size=4))
    text = "".join(parts)
    deltas: list[StreamChunk]
    block: ContentBlock
    if kind == "text":
        deltas, block = [TextDelta(index, part) for part in parts], TextBlock(text)
    elif kind == "reasoning":
        deltas, block = [ReasoningDelta(index, part) for part in parts], ReasoningBlock(text)
    else:
        ident, name = f"id-{index}", draw(st.sampled_from(["bash", "read"]))
        deltas = [ToolCallDelta(index, ident, name, part) for part in ["", *parts]]
        block = ToolCallBlock(ident, name, text)
    return [BlockStart(index, kind), *deltas, BlockEnd(index, block)]
