from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.llm import (
    BlockAssembler,
    BlockEnd,
    BlockStart,
    ChunkGrammar,
    Finish,
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
from harness.testing import DONE, chat_chunk
from harness.testing.strategies import sse_streams
from harness.wire import dumps_text
from harness_plugins.llm_deepseek import ChunkTranslator, PayloadReader


def translate(*payloads: object, warnings: list[str] | None = None) -> list[StreamChunk]:
    """Translate payloads to the end of the stream and check the grammar on the way."""
    translator = ChunkTranslator((warnings if warnings is not None else []).append)
    chunks: list[StreamChunk] = []
    for payload in payloads:
        chunks += translator.push(payload if isinstance(payload, str) else dumps_text(payload))
    chunks += translator.finish()
    grammar = ChunkGrammar()
    for chunk in chunks:
        grammar.push(chunk)
    grammar.close()
    return chunks


def delta(**members: object) -> dict:
    return {"choices": [{"index": 0, "delta": members}]}


def call(index: int | None, arguments: object = None, **members: object) -> dict:
    name = members.pop("name", None)
    function = {"arguments": arguments, **({} if name is None else {"name": name})}
    place = {} if index is None else {"index": index}
    return {**place, **members, "function": function}


def stop(reason: str | None) -> dict:
    return {"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]}


def blocks(chunks: list[StreamChunk]) -> list[Any]:
    return [chunk.block for chunk in chunks if isinstance(chunk, BlockEnd)]


def finish(chunks: list[StreamChunk]) -> Any:
    [chunk] = [chunk for chunk in chunks if isinstance(chunk, Finish)]
    return chunk


@pytest.mark.spec("02-148")
def test_empty_deltas_open_no_block() -> None:
    chunks = translate(
        delta(role="assistant", content="", reasoning_content=""),
        delta(content=None, tool_calls=None),
        delta(content="a"),
        {"choices": [{"index": 0, "delta": None}]},
        {"choices": None},
        {},
    )
    assert chunks[:2] == [BlockStart(0, "text"), TextDelta(0, "a")]


@pytest.mark.spec("02-149")
def test_one_payload_opens_reasoning_then_text_then_calls() -> None:
    chunks = translate(
        delta(tool_calls=[call(0, "{}", id="c", name="n")], content="t", reasoning_content="r")
    )
    assert blocks(chunks) == [ReasoningBlock("r"), TextBlock("t"), ToolCallBlock("c", "n", "{}")]
    assert chunks[1] == ReasoningDelta(0, "r")


def test_servers_that_name_reasoning_otherwise_are_understood() -> None:
    assert blocks(translate(delta(reasoning="r"))) == [ReasoningBlock("r")]


@pytest.mark.spec("02-150")
def test_interleaved_calls_keep_their_arguments_apart() -> None:
    chunks = translate(
        delta(tool_calls=[call(0, '{"a"', id="c0", name="n0"), call(1, "", id="c1", name="n1")]),
        delta(tool_calls=[call(1, '{"b"')]),
        delta(tool_calls=[call(0, ":1}"), call(1, ":2}", name=None)]),
        stop("tool_calls"),
    )
    assert blocks(chunks) == [
        ToolCallBlock("c0", "n0", '{"a":1}'),
        ToolCallBlock("c1", "n1", '{"b":2}'),
    ]
    deltas = [chunk for chunk in chunks if isinstance(chunk, ToolCallDelta)]
    assert all((d.id, d.name) == (f"c{d.index}", f"n{d.index}") for d in deltas)
    assert finish(chunks).reason.kind == "tool-calls"


@pytest.mark.spec("02-151", "02-152")
def test_fragments_without_an_index_find_their_call() -> None:
    chunks = translate(
        delta(tool_calls=[call(None, "{", id="a", name="n")]),
        delta(tool_calls=[call(None, "1")]),
        delta(tool_calls=[call(None, "2", id="b", name="m")]),
        delta(tool_calls=[call(None, "}", id="a")]),
        delta(tool_calls=[call(None, "x")]),
    )
    assert blocks(chunks) == [
        ToolCallBlock("a", "n", "{1}"),
        ToolCallBlock("b", "m", "2"),
        ToolCallBlock("call-2", "", "x"),
    ]
    assert chunks[-2] == BlockEnd(2, ToolCallBlock("call-2", "", "x"))
    unnamed = [c for c in chunks if isinstance(c, ToolCallDelta) and c.index == 2]
    assert unnamed == [ToolCallDelta(2, "", None, "x")]


def test_a_reused_wire_index_with_another_id_is_a_new_call() -> None:
    chunks = translate(
        delta(tool_calls=[call(0, "", id="a", name="n")]),
        delta(tool_calls=[call(0, "{}", id="a")]),
        delta(tool_calls=[call(0, "[]", id="b", name="m")]),
        delta(tool_calls=[call(0, " ")]),
    )
    assert blocks(chunks) == [ToolCallBlock("a", "n", "{}"), ToolCallBlock("b", "m", "[] ")]
    early = translate(
        delta(tool_calls=[call(0, "", id="a", name="n")]),
        delta(tool_calls=[call(0, "{}", id="b")]),
    )
    assert blocks(early) == [ToolCallBlock("b", "n", "{}")]


def test_parsed_arguments_become_text_again() -> None:
    chunks = translate(delta(tool_calls=[call(0, {"a": [1]}, id="c", name="n")]))
    assert blocks(chunks) == [ToolCallBlock("c", "n", '{"a":[1]}')]


@pytest.mark.spec("02-153")
def test_the_last_usage_is_reported_once_before_the_finish() -> None:
    first, last = {"prompt_tokens": 1, "completion_tokens": 1}, {
        "prompt_tokens": 9, "completion_tokens": 4,
    }  # fmt: skip
    chunks = translate(
        delta(content="x"),
        {**stop("stop"), "usage": first},
        {"choices": [], "usage": last},
        {"choices": [], "usage": None},
        {"choices": [], "usage": {"prompt_tokens": "many"}},
        {"choices": [], "usage": 3},
    )
    assert chunks[-2] == UsageChunk(TokenUsage(9, 4))
    assert sum(isinstance(chunk, UsageChunk) for chunk in chunks) == 1


@pytest.mark.spec("02-154")
@pytest.mark.parametrize(
    ("usage", "expected", "n_warnings"),
    [
        ({"prompt_cache_hit_tokens": 30}, TokenUsage(70, 5, cache_read_tokens=30), 0),
        (
            {"prompt_cache_hit_tokens": 30, "prompt_tokens_details": {"cached_tokens": 20}},
            TokenUsage(80, 5, cache_read_tokens=20),
            0,
        ),
        ({"prompt_cache_hit_tokens": 130}, TokenUsage(0, 5, cache_read_tokens=130), 1),
        (
            {"completion_tokens_details": {"reasoning_tokens": 2}, "prompt_tokens_details": None},
            TokenUsage(100, 5, reasoning_tokens=2),
            0,
        ),
        ({"prompt_cache_hit_tokens": -3}, TokenUsage(100, 5), 0),
    ],
)
def test_counters_become_disjoint(usage: dict, expected: TokenUsage, n_warnings: int) -> None:
    warnings: list[str] = []
    payload = {"choices": [], "usage": {"prompt_tokens": 100, "completion_tokens": 5, **usage}}
    assert UsageChunk(expected) in translate(delta(content="x"), payload, warnings=warnings)
    assert len(warnings) == n_warnings


@pytest.mark.spec("02-155")
@pytest.mark.parametrize(
    ("reason", "kind", "code"),
    [
        ("stop", "stop", None),
        ("tool_calls", "tool-calls", None),
        ("function_call", "tool-calls", None),
        ("length", "max-tokens", None),
        (None, "stop", None),
        ("content_filter", "error", "CONTENT_FILTER"),
        ("insufficient_system_resource", "error", "INSUFFICIENT_SYSTEM_RESOURCE"),
        ("foo_bar", "error", "FOO_BAR"),
    ],
)
def test_each_stop_reason_has_its_finish(reason: str | None, kind: str, code: str | None) -> None:
    result = finish(translate(delta(content="x"), stop(reason))).reason
    assert result.kind == kind
    assert (result.failure.code if result.failure else None) == code


@pytest.mark.spec("02-156")
def test_only_an_answer_with_nothing_at_all_is_empty() -> None:
    for reason in ("stop", None):
        assert finish(translate(stop(reason))).reason.failure.code == "EMPTY_RESPONSE"
    assert finish(translate(stop("length"))).reason.kind == "max-tokens"
    assert finish(translate(delta(reasoning_content="r"), stop("stop"))).reason.kind == "stop"
    called = translate(delta(tool_calls=[call(0, "{}", id="c", name="n")]), stop("stop"))
    assert finish(called).reason.kind == "stop"


@pytest.mark.spec("02-158")
@pytest.mark.parametrize(
    "payload",
    [
        "{not json" + "x" * 500,
        "[]",
        "3",
        {"choices": [None]},
        {"choices": 7},
        {"choices": "no"},
        {"choices": {"a": 1}},
        {"choices": [{"delta": "text"}]},
        {"choices": [{"delta": [1]}]},
        {"choices": [{"delta": {"content": ["part"]}}]},
        {"choices": [{"delta": {"reasoning_content": 3}}]},
        {"choices": [{"delta": {"tool_calls": 3}}]},
        {"choices": [{"delta": {"tool_calls": [None]}}]},
        {"choices": [{"delta": {"tool_calls": [{"index": 0, "function": "f"}]}}]},
        {"choices": [{"delta": {"tool_calls": [{"index": 0, "id": 7}]}}]},
        {"choices": [{"delta": {"tool_calls": [{"function": {"arguments": 1}}]}}]},
        {"choices": [{"delta": {"tool_calls": [{"function": {"name": ["n"]}}]}}]},
        {"choices": [{"finish_reason": 3}]},
    ],
)
def test_a_payload_of_another_shape_is_malformed(payload: object) -> None:
    with pytest.raises(LlmError) as caught:
        translate(payload)
    assert caught.value.code == "MALFORMED_RESPONSE"
    assert len(caught.value.failure.message) < 220


@pytest.mark.spec("02-159")
@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        ({"message": "insufficient balance"}, "QUOTA", "insufficient balance"),
        ({"code": "insufficient_quota", "message": "no"}, "QUOTA", "no"),
        ({"message": "context length exceeded"}, "CONTEXT_WINDOW_EXCEEDED", "context"),
        ({"message": "overloaded " + "x" * 9000}, "SERVER", "overloaded"),
        ("overloaded", "SERVER", "overloaded"),
        ({"code": 7}, "SERVER", "reported an error"),
    ],
)
def test_an_error_inside_the_stream_is_mapped(error: object, code: str, message: str) -> None:
    with pytest.raises(LlmError, match=message) as caught:
        translate({"error": error})
    assert caught.value.code == code
    assert len(caught.value.failure.message) <= 2_000


@pytest.mark.spec("02-160")
def test_characters_cut_into_two_escapes_are_joined() -> None:
    high, low = (
        r'{"choices":[{"delta":{"%s":"a\ud83d"}}]}',
        r'{"choices":[{"delta":{"%s":"\ude00b"}}]}',
    )
    for member, build in (("content", TextBlock), ("reasoning_content", ReasoningBlock)):
        assert blocks(translate(high % member, low % member)) == [build("a😀b")]
        alone = (high % member).replace("a\\ud", "\\ud")
        assert blocks(translate(alone, low % member)) == [build("😀b")]
        lonely: list[Any] = translate(high % member)
        assert blocks(lonely) == [build("a\ufffd")]
        assert lonely[2].text == "\ufffd"
        assert blocks(translate(low % member)) == [build("\ufffdb")]
    fragment = (
        r'{"choices":[{"delta":{"tool_calls":'
        r'[{"index":0,"id":"c","function":{"arguments":"%s"}}]}}]}'
    )
    assert blocks(translate(fragment % r"\ud83d", fragment % r"\ude00")) == [
        ToolCallBlock("c", "", "😀")
    ]
    lonely = translate(fragment % r"x\ud83d")
    assert blocks(lonely) == [ToolCallBlock("c", "", "x\ufffd")]


STREAM = b"".join(
    [
        b"\xef\xbb\xbf: hello\r\n\r\n",
        chat_chunk({"role": "assistant", "content": ""}),
        chat_chunk({"reasoning_content": "Überlegung 🤔"}),
        chat_chunk({"content": "naïve "}),
        chat_chunk({"content": "日本語 😀"}).replace(b"\n", b"\r\n"),
        chat_chunk({"tool_calls": [call(0, '{"a":', id="c", name="n")]}).replace(b"\n", b"\r"),
        b'id: 1\n\n\ndata: {"choices":\ndata: [{"delta":{"tool_calls":[{"index":0,\n',
        b'data: "function":{"arguments":"1}"}}]}}]}\n\n',
        b"event: ping\ndata:\n\n",
        chat_chunk(
            {}, finish_reason="tool_calls", usage={"prompt_tokens": 3, "completion_tokens": 4}
        ),
        DONE,
        b"data: garbage after the end\n\n",
    ]
)


def decode(pieces: list[bytes]) -> list[StreamChunk]:
    reader, translator = PayloadReader(), ChunkTranslator(lambda _: None)
    chunks: list[StreamChunk] = []
    for piece in pieces:
        for payload in reader.feed(piece):
            chunks += translator.push(payload)
        if reader.is_done:
            return chunks + translator.finish()
    raise AssertionError("no end marker")


@pytest.mark.spec("02-137", "02-138", "02-139", "02-140", "02-143", "02-146")
@settings(max_examples=200)
@given(st.lists(st.integers(0, len(STREAM)), max_size=40))
def test_any_slicing_of_the_same_bytes_gives_the_same_chunks(cuts: list[int]) -> None:
    edges = [0, *sorted(cuts), len(STREAM)]
    sliced = [STREAM[a:b] for a, b in pairwise(edges)]
    chunks = decode(sliced)
    assert chunks == decode([STREAM])
    assert blocks(chunks) == [
        ReasoningBlock("Überlegung 🤔"),
        TextBlock("naïve 日本語 😀"),
        ToolCallBlock("c", "n", '{"a":1}'),
    ]


def test_every_single_byte_alone_gives_the_same_chunks() -> None:
    assert decode([STREAM[i : i + 1] for i in range(len(STREAM))]) == decode([STREAM])


FRAGMENTS = st.fixed_dictionaries(
    {},
    optional={
        "index": st.none() | st.integers(0, 2),
        "id": st.none() | st.sampled_from(["", "a", "b"]),
        "function": st.none()
        | st.fixed_dictionaries(
            {},
            optional={
                "name": st.none() | st.sampled_from(["", "bash", "read"]),
                "arguments": st.none() | st.text(max_size=4),
            },
        ),
    },
)
DELTAS = st.fixed_dictionaries(
    {},
    optional={
        "content": st.none() | st.text(max_size=4),
        "reasoning_content": st.none() | st.text(max_size=4),
        "tool_calls": st.none() | st.lists(FRAGMENTS, max_size=3),
    },
)
PAYLOADS = st.builds(
    lambda d, r: {"choices": [{"index": 0, "delta": d, "finish_reason": r}]},
    DELTAS,
    st.none() | st.sampled_from(["stop", "tool_calls", "length", "odd"]),
)


@given(st.lists(PAYLOADS, max_size=12))
def test_any_sequence_of_deltas_gives_a_valid_stream_that_assembles_to_its_blocks(
    payloads: list[dict],
) -> None:
    chunks = translate(*payloads)
    assembler = BlockAssembler()
    deltas_only = BlockAssembler()
    for chunk in chunks:
        assembler.push(chunk)
        if not isinstance(chunk, (BlockEnd, Finish)):
            deltas_only.push(chunk)
    ends = blocks(chunks)
    if finish(chunks).reason.kind != "max-tokens":
        assert assembler.blocks() == ends
    assert deltas_only.blocks() == ends
    text = "".join(p["choices"][0]["delta"].get("content") or "" for p in payloads)
    assert text.encode("utf-16", "surrogatepass").decode("utf-16", "replace") == "".join(
        block.text for block in ends if isinstance(block, TextBlock)
    )
    ids = [block.id for block in ends if isinstance(block, ToolCallBlock)]
    assert all(ids)


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(st.sampled_from(
        ["choices", "delta", "content", "tool_calls", "function", "arguments", "index", "id",
         "usage", "error", "finish_reason", "prompt_tokens"]), inner, max_size=4),
    max_leaves=12))  # fmt: skip
def test_any_json_at_all_is_translated_or_refused_as_malformed(payload: object) -> None:
    translator = ChunkTranslator(lambda _: None)
    try:
        translator.push(dumps_text(payload))
    except LlmError as error:
        assert error.code in ("MALFORMED_RESPONSE", "SERVER")  # noqa: PT017 - both are fine
    translator.finish()


TEXTS = st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\r\n"), max_size=6)


@given(st.data())
def test_events_written_in_any_legal_way_are_read_alike(data: st.DataObject) -> None:
    payloads = [dumps_text({"x": text}) for text in data.draw(st.lists(TEXTS, max_size=5))]
    stream = data.draw(sse_streams([*payloads, "[DONE]", '{"late":1}']))
    reader = PayloadReader()
    read: list[str] = []
    for piece in stream.pieces:
        if not reader.is_done:
            read += [p if isinstance(p, str) else p.decode() for p in reader.feed(piece)]
    assert reader.is_done
    assert read == payloads


def test_a_broken_character_in_a_payload_is_replaced() -> None:
    reader, translator = PayloadReader(), ChunkTranslator(lambda _: None)
    [payload] = reader.feed(b'data: {"choices":[{"delta":{"content":"a\xff"}}]}\n\n')
    assert translator.push(payload)[-1] == TextDelta(0, "a\ufffd")
    with pytest.raises(LlmError, match="not a completion chunk"):
        translator.push(b"{\xff")
