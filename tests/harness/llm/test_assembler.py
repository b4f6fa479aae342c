import pytest
from hypothesis import given

from harness.llm import (
    ASSEMBLER_SOURCE,
    BlockAssembler,
    BlockEnd,
    BlockStart,
    Finish,
    FinishReason,
    FrozenDict,
    LlmError,
    ReasoningBlock,
    ReasoningDelta,
    StreamChunk,
    TextBlock,
    TextDelta,
    TokenUsage,
    ToolCallBlock,
    ToolCallDelta,
    UsageChunk,
)
from harness.llm.testing import chunk_streams, malformed_chunk_streams


def assemble(*chunks: StreamChunk) -> BlockAssembler:
    assembler = BlockAssembler()
    for chunk in chunks:
        assembler.push(chunk)
    return assembler


CALL = ToolCallBlock("c1", "read", "{}")


@pytest.mark.spec("02-38")
def test_deltas_alone_make_blocks_in_first_seen_order() -> None:
    assembler = assemble(
        ReasoningDelta(3, "why"),
        TextDelta(0, "a"),
        ToolCallDelta(7, "c", "n", "{"),
        TextDelta(0, "b"),
        ToolCallDelta(7, "c", "n", "}"),
    )
    assert assembler.blocks() == [
        ReasoningBlock("why"),
        TextBlock("ab"),
        ToolCallBlock("c", "n", "{}"),
    ]


@pytest.mark.spec("02-39", "02-40", "02-41", "02-42")
def test_the_first_start_and_the_first_end_of_a_block_win() -> None:
    assembler = assemble(BlockStart(0, "text"), BlockStart(0, "reasoning"), TextDelta(0, "a"))
    assert assembler.blocks() == [TextBlock("a")]
    assembler.push(BlockEnd(0, TextBlock("final")))
    assembler.push(TextDelta(0, "late"))
    assembler.push(BlockEnd(0, TextBlock("later")))
    assembler.push(BlockEnd(1, CALL))
    assembler.push(ToolCallDelta(1, "late", "late", "late"))
    assert assembler.blocks() == [TextBlock("final"), CALL]


@pytest.mark.spec("02-43", "02-44")
def test_ids_and_names_follow_the_latest_fragment_that_has_one() -> None:
    assembler = assemble(
        ToolCallDelta(0, "", None, "{"),
        ToolCallDelta(0, "c9", "read", ""),
        ToolCallDelta(0, "c9", None, "}"),
        ToolCallDelta(4, "", None, "x"),
    )
    assert assembler.blocks() == [
        ToolCallBlock("c9", "read", "{}"),
        ToolCallBlock("call-4", "", "x"),
    ]


@pytest.mark.spec("02-45")
def test_an_open_block_of_an_unknown_type_cannot_be_assembled() -> None:
    assembler = assemble(BlockStart(0, "video"), TextDelta(1, "seen"))
    with pytest.raises(LlmError, match="video"):
        assembler.blocks()
    assert assembler.interrupted_blocks() == [TextBlock("seen")]


@pytest.mark.spec("02-46")
def test_an_object_that_is_no_chunk_is_a_type_error() -> None:
    class Noise:
        type = "noise"

    with pytest.raises(TypeError, match="noise"):
        assemble(Noise())  # pyright: ignore[reportArgumentType]
    with pytest.raises(TypeError, match="dict"):
        assemble({})  # pyright: ignore[reportArgumentType]


@pytest.mark.spec("02-47")
def test_finish_and_usage_default_and_the_last_one_wins() -> None:
    assembler = BlockAssembler()
    assert assembler.finish == FinishReason.STOP
    assert assembler.usage is None
    assert assembler.replay_state is None
    for usage in (TokenUsage(1, 1), TokenUsage(2, 2)):
        assembler.push(UsageChunk(usage))
    assembler.push(Finish(FinishReason.STOP))
    assembler.push(Finish(FinishReason.TOOL_CALLS))
    assert assembler.finish == FinishReason.TOOL_CALLS
    assert assembler.usage == TokenUsage(2, 2)


@pytest.mark.spec("02-48", "02-49", "02-51")
def test_a_truncated_answer_keeps_text_and_drops_calls() -> None:
    state = FrozenDict({"response": 1, "blocks": ("a", "b")})
    chunks = [BlockEnd(0, TextBlock("x")), BlockEnd(1, CALL), UsageChunk(TokenUsage(1, 2))]
    assembler = assemble(*chunks, Finish(FinishReason.MAX_TOKENS, state))
    assert assembler.blocks() == [TextBlock("x")]
    assert assembler.replay_state == {"response": 1, "blocks": ("a",)}
    assert assembler.usage == TokenUsage(1, 2)
    bare = FrozenDict({"response": 1})
    assert assemble(*chunks, Finish(FinishReason.MAX_TOKENS, bare)).replay_state is bare


@pytest.mark.spec("02-50")
@pytest.mark.parametrize("entries", [("a",), "ab", None])
def test_replay_state_that_does_not_fit_the_blocks_is_dropped(entries: object) -> None:
    state = FrozenDict({"blocks": entries})
    assembler = assemble(
        BlockEnd(0, TextBlock("x")), BlockEnd(1, CALL), Finish(FinishReason.STOP, state)
    )
    assert assembler.replay_state is None
    assert assembler.blocks() == [TextBlock("x"), CALL]


@pytest.mark.spec("02-52")
def test_an_interrupted_answer_keeps_what_a_reader_saw() -> None:
    assembler = assemble(
        TextDelta(0, "  \n"),
        ReasoningDelta(1, "x"),
        BlockEnd(2, CALL),
        BlockEnd(3, TextBlock("done")),
        ToolCallDelta(4, "c", "n", "{"),
        BlockEnd(5, ReasoningBlock(" ")),
    )
    assert assembler.interrupted_blocks() == [ReasoningBlock("x"), TextBlock("done")]


@pytest.mark.spec("02-53", "02-57")
def test_reads_may_be_repeated_and_change_nothing() -> None:
    assembler = assemble(TextDelta(0, "a"))
    assert assembler.blocks() == assembler.blocks()
    assembler.push(TextDelta(0, "b"))
    message = assembler.message(message_id="m")
    assert (message.role, message.source, message.id) == ("assistant", ASSEMBLER_SOURCE, "m")
    assert ASSEMBLER_SOURCE == {"kind": "plugin", "plugin": "llm/assembler"}
    assert message.content == (TextBlock("ab"),)


@pytest.mark.spec("02-55")
@given(chunk_streams())
def test_a_valid_stream_gives_its_closed_blocks(chunks: list[StreamChunk]) -> None:
    ends = {chunk.index: chunk.block for chunk in chunks if isinstance(chunk, BlockEnd)}
    assert assemble(*chunks).blocks() == [ends[index] for index in sorted(ends)]


@pytest.mark.spec("02-54", "02-56")
@given(malformed_chunk_streams())
def test_any_damage_is_survived_with_at_most_one_block_per_index(
    chunks: list[StreamChunk],
) -> None:
    assembler = assemble(*chunks)
    seen: list[int] = []
    for chunk in chunks:
        index = getattr(chunk, "index", None)
        if index is not None and index not in seen:
            seen.append(index)
    partials = assembler.blocks()
    assert len(partials) <= len(seen)
    if assembler.finish.kind != "max-tokens":
        assert len(partials) == len(seen)
    assembler.interrupted_blocks()
    assembler.message()
    assert assembler.replay_state is None
