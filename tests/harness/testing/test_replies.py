"""Scripted answers have the bytes that DeepSeek and OpenAI send."""

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.testing import (
    DONE,
    BehaviourOptions,
    MockServer,
    Part,
    Reply,
    ReplyToolCall,
    behaviour_names,
    chat_chunk,
    error_reply,
    raw_reply,
    text_reply,
    tool_call_reply,
    with_comments,
)
from harness.wire import SseDecoder, loads

CHAT = "/chat/completions"


def chunks_of(reply):
    """Return the JSON payloads of a streamed answer, without the end marker."""
    events = [event.data for event in SseDecoder().feed(reply.body)]
    assert events.pop() == "[DONE]"
    return [loads(event) for event in events]


def deltas_of(reply):
    return [chunk["choices"][0]["delta"] for chunk in chunks_of(reply) if chunk["choices"]]


def test_the_bytes_of_one_chunk():
    assert (
        chat_chunk({"content": "é"})
        == (
            'data: {"id":"chatcmpl-mock","object":"chat.completion.chunk","created":1700000000,'
            '"model":"mock","choices":[{"index":0,"delta":{"content":"é"},"finish_reason":null}]}\n\n'
        ).encode()
    )
    assert DONE == b"data: [DONE]\n\n"


@given(st.text(max_size=30), st.text(max_size=10), st.integers(1, 9))
def test_texts_come_in_deltas_of_whole_characters(text, reasoning, size):
    reply = text_reply(text, reasoning=reasoning, chunk_size=size)
    first, *deltas, last = deltas_of(reply)
    assert first == {"role": "assistant", "content": ""}
    assert last == {"content": ""}
    assert "".join(delta.get("reasoning_content", "") for delta in deltas) == reasoning
    assert "".join(delta.get("content", "") for delta in deltas) == text
    assert all(len(value) <= size for delta in deltas for value in delta.values())


def test_the_last_chunk_holds_finish_and_usage_unless_usage_trails():
    *_, last = chunks_of(text_reply("😀a"))
    assert last["choices"][0]["finish_reason"] == "stop"
    assert last["usage"] == {"prompt_tokens": 3, "completion_tokens": 2}
    *_, finish, trailing = chunks_of(text_reply("x", trailing_usage=True, usage={"n": 1}))
    assert finish["choices"][0]["finish_reason"] == "stop"
    assert "usage" not in finish
    assert (trailing["choices"], trailing["usage"]) == ([], {"n": 1})
    *_, cut = chunks_of(text_reply("x", finish_reason="length"))
    assert cut["choices"][0]["finish_reason"] == "length"


@pytest.mark.parametrize("fragments", [1, 2, 3, 100])
def test_a_tool_call_comes_in_fragments_and_only_the_first_has_id_and_name(fragments):
    reply = tool_call_reply("read", {"path": "a/b"}, fragments=fragments, text="t", reasoning="r")
    calls = [delta["tool_calls"][0] for delta in deltas_of(reply) if "tool_calls" in delta]
    assert (calls[0]["id"], calls[0]["type"]) == ("mock-call-1", "function")
    assert calls[0]["function"]["name"] == "read"
    assert all(set(call) == {"index", "function"} for call in calls[1:])
    assert "".join(call["function"]["arguments"] for call in calls) == '{"path":"a/b"}'
    assert chunks_of(reply)[-1]["choices"][0]["finish_reason"] == "tool_calls"
    assert chunks_of(reply)[-1]["usage"]["completion_tokens"] == 2


def test_parallel_calls_take_turns_and_an_id_can_be_missing():
    calls = [ReplyToolCall("a", '{"x":1}', "c1", 3), ReplyToolCall("b", "", None, 2)]
    deltas = [delta["tool_calls"][0] for delta in deltas_of(text_reply("", tool_calls=calls))[1:-1]]
    assert [delta["index"] for delta in deltas] == [0, 1, 0, 0]
    assert "id" not in deltas[1]
    assert deltas[1]["function"] == {"name": "b", "arguments": ""}


def test_comments_come_before_the_first_event():
    decoder = SseDecoder()
    events = decoder.feed(with_comments(text_reply("x"), ["keep-alive"] * 3).body)
    assert decoder.comments == 3
    assert len(events) == 4


@given(st.lists(st.integers(-3, 60), max_size=6))
def test_slicing_keeps_the_bytes_and_cuts_where_it_says(offsets):
    reply = text_reply("hello").sliced(*offsets)
    assert reply.body == text_reply("hello").body
    edges = {offset for offset in offsets if offset > 0}
    assert len(reply.parts) == len(edges) + 1


def test_replies_can_be_cut_paced_and_marked():
    reply = raw_reply([b"a", Part(b"b"), b"c"], status=201, headers=[("x", "1")])
    assert reply.ending_with("reset", after_parts=2).body == b"ab"
    assert [part.delay_s for part in reply.paced(0.5).parts] == [0, 0.5, 0.5]
    assert reply.with_headers(retry_after="1").headers == (("x", "1"), ("retry-after", "1"))
    assert Reply().paced(1).parts == ()


def test_errors_have_the_body_that_servers_send():
    reply = error_reply(429, "slow", code="c", kind="k", retry_after="2", request_id="r")
    assert loads(reply.body) == {"error": {"message": "slow", "type": "k", "code": "c"}}
    assert dict(reply.headers)["retry-after"] == "2"
    assert dict(reply.headers)["x-request-id"] == "r"


EXPECTED = {
    "success": (200, "stop"),
    "slow_success": (200, "stop"),
    "reasoning_success": (200, "stop"),
    "tool_call_success": (200, "tool_calls"),
    "max_tokens": (200, "length"),
    "empty": (200, "stop"),
    "empty_body": (200, ""),
    "stream_eof": (200, None),
    "partial_eof": (200, None),
    "partial_disconnect": (200, "broken"),
    "stream_disconnect": (200, "broken"),
    "connection_reset": (0, "broken"),
    "stall": (200, "silent"),
    "malformed_json": (200, "malformed"),
    "malformed_event": (200, "malformed"),
    "wrong_content_type": (200, "stop"),
    "rate_limit": (429, "rate_limit"),
    "server_error": (500, "server_error"),
    "service_unavailable": (503, "unavailable"),
    "auth_error": (401, "invalid_api_key"),
    "invalid_request": (400, "invalid_request"),
    "context_overflow": (400, "context_length_exceeded"),
    "quota_exceeded": (429, "insufficient_quota"),
    "keepalive": (200, "stop"),
    "trailing_usage": (200, "stop"),
    "parallel_tools": (200, "tool_calls"),
    "missing_tool_index": (200, "tool_calls"),
    "content_filter": (200, "content_filter"),
    "insufficient_system_resource": (200, "insufficient_system_resource"),
    "inband_error": (200, "error"),
    "random": None,
}


async def observed(name):
    """Ask for one behaviour; return the status and what the body amounts to."""
    options = BehaviourOptions(chunk_delay_s=0.001, disconnect_delay_s=0.001, keepalive_s=0.001)
    body, status = b"", 0
    patience_s = 0.5 if name == "stall" else 30
    async with MockServer(name, options=options) as server, httpx.AsyncClient() as client:
        try:
            url = server.base_url + CHAT
            async with client.stream("POST", url, json={}, timeout=patience_s) as response:
                status = response.status_code
                async for piece in response.aiter_raw():
                    body += piece
        except httpx.ReadTimeout:
            return status, "silent"
        except httpx.TransportError:
            return status, "broken"
    if status >= 400:
        return status, loads(body)["error"]["code"]
    finish = "" if not body else None
    for event in SseDecoder().feed(body):
        if event.data == "[DONE]":
            continue
        if event.data == "{not-json" or loads(event.data).get("choices") == [None]:
            return status, "malformed"
        if "error" in loads(event.data):
            return status, "error"
        for choice in loads(event.data)["choices"]:
            finish = choice["finish_reason"] or finish
    return status, finish


def test_every_behaviour_is_listed():
    assert set(behaviour_names()) == set(EXPECTED)


@pytest.mark.parametrize("name", [name for name in EXPECTED if name != "random"])
async def test_each_behaviour_does_what_its_name_says(name):
    assert await observed(name) == EXPECTED[name]
