import pytest
from hypothesis import given

from harness.llm import (
    BlockEnd,
    BlockStart,
    ChunkGrammar,
    Finish,
    FinishReason,
    InvariantError,
    LlmFailure,
    ReasoningDelta,
    StreamChunk,
    TextBlock,
    TextDelta,
    TokenUsage,
    ToolCallBlock,
    UsageChunk,
    checked_stream,
)
from harness.llm.testing import chunk_streams

STOP = Finish(FinishReason.STOP)
ERROR = Finish(FinishReason.error(LlmFailure("m", "SERVER")))
USAGE = UsageChunk(TokenUsage(1, 1))
START = BlockStart(0, "text")
END = BlockEnd(0, TextBlock("x"))


def check(*chunks: StreamChunk) -> None:
    grammar = ChunkGrammar()
    for chunk in chunks:
        grammar.push(chunk)
    grammar.close()


@pytest.mark.spec("02-25")
@given(chunk_streams())
def test_a_valid_stream_has_no_violation(chunks: list[StreamChunk]) -> None:
    check(*chunks)


async def test_a_checked_stream_passes_any_iterator_through() -> None:
    class Chunks:
        def __init__(self, *chunks: StreamChunk) -> None:
            self.left = list(chunks)

        def __aiter__(self) -> "Chunks":
            return self

        async def __anext__(self) -> StreamChunk:
            if not self.left:
                raise StopAsyncIteration
            return self.left.pop(0)

    chunks = [START, END, STOP]
    assert [chunk async for chunk in checked_stream(Chunks(*chunks))] == chunks


@pytest.mark.spec("02-33")
def test_a_failed_stream_may_leave_blocks_open() -> None:
    check(START, TextDelta(0, "x"), ERROR)


@pytest.mark.spec("02-26", "02-27", "02-28", "02-29", "02-30", "02-31", "02-32", "02-33", "02-34")
@pytest.mark.parametrize(
    ("chunks", "word"),
    [
        ([TextDelta(4, "x")], "block 4.*text"),
        ([START, ReasoningDelta(0, "x")], "reasoning.*opened as text"),
        ([START, START], "opened twice"),
        ([START, END, START], "opened twice"),
        ([END], "not open"),
        ([START, END, TextDelta(0, "x")], "not open"),
        ([START, BlockEnd(0, ToolCallBlock("c", "n", ""))], "opened as text"),
        ([USAGE, USAGE], "twice"),
        ([STOP, USAGE], "follows the finish"),
        ([STOP, STOP], "follows the finish"),
        ([START, STOP], "leaves blocks open"),
        ([START, END], "neither a finish"),
    ],
)
def test_a_violation_says_what_is_wrong(chunks: list[StreamChunk], word: str) -> None:
    with pytest.raises(InvariantError, match=word) as caught:
        check(*chunks)
    assert caught.value.code == "INVARIANT"


@pytest.mark.spec("02-35")
@pytest.mark.parametrize("index", [-1, 1.0, True, 2**53])
def test_an_index_that_is_no_count_is_a_violation(index: int) -> None:
    with pytest.raises(InvariantError, match="index"):
        check(BlockStart(index, "text"))
    with pytest.raises(InvariantError, match="not open"):
        check(BlockStart(1, "text"), TextDelta(index, "x"))
