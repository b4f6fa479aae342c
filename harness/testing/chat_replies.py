"""Build chat-completions answers in the wire format of DeepSeek and OpenAI."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import zip_longest
from typing import Final

import attrs

from harness.testing.reply import Part, Reply
from harness.wire import dumps, dumps_text

DONE: Final = b"data: [DONE]\n\n"
"""The end marker of a chat-completions stream."""

_ENVELOPE = {"object": "chat.completion.chunk", "created": 1_700_000_000}


@attrs.frozen
class ReplyToolCall:
    """One tool call of a scripted answer; `arguments` is JSON text, whole or deliberately not."""

    name: str
    arguments: str
    id: str | None = "mock-call-1"
    """The call's id; None leaves it out, as some gateways do."""
    fragments: int = 2
    """In how many deltas the arguments come."""


def sse_data(payload: object) -> bytes:
    """Return one event: a `data:` line with the payload as JSON and a blank line."""
    return b"data: " + dumps(payload) + b"\n\n"


def chat_chunk(
    delta: Mapping[str, object] | None = None,
    *,
    finish_reason: str | None = None,
    usage: Mapping[str, object] | None = None,
    model: str = "mock",
) -> bytes:
    """Return one stream chunk as an event; a delta of None makes one without choices."""
    choice = {"index": 0, "delta": delta, "finish_reason": finish_reason}
    payload: dict[str, object] = {
        "id": "chatcmpl-mock",
        **_ENVELOPE,
        "model": model,
        "choices": [] if delta is None else [choice],
    }
    if usage is not None:
        payload["usage"] = usage
    return sse_data(payload)


def usage_of(text: str) -> dict[str, object]:
    """Return the usage that a scripted answer of this text reports."""
    return {"prompt_tokens": 3, "completion_tokens": len(text)}


def text_reply(
    text: str,
    *,
    reasoning: str = "",
    tool_calls: Sequence[ReplyToolCall] = (),
    finish_reason: str | None = None,
    usage: Mapping[str, object] | None = None,
    trailing_usage: bool = False,
    chunk_size: int = 8,
    chunk_delay_s: float = 0.0,
) -> Reply:
    """Return a streamed answer: role, reasoning, text, tool calls, finish, end marker.

    Args:
        text: the content, in deltas of `chunk_size` code points.
        reasoning: sent before the text as `reasoning_content`.
        tool_calls: sent after the text, their fragments taking turns.
        finish_reason: `stop`, or `tool_calls` when there are any, unless given.
        usage: counters; by default 3 prompt tokens and one per code point of the text.
        trailing_usage: send the counters in a chunk of their own after the finish.
        chunk_size: code points per delta.
        chunk_delay_s: pause before each delta, in seconds.
    """
    deltas: list[dict[str, object]] = [{"role": "assistant", "content": ""}]
    deltas.extend({"reasoning_content": piece} for piece in _pieces(reasoning, chunk_size))
    deltas.extend({"content": piece} for piece in _pieces(text, chunk_size))
    deltas.extend(_call_deltas(tool_calls))
    finish = finish_reason or ("tool_calls" if tool_calls else "stop")
    counters = usage_of(text) if usage is None else usage
    events = [chat_chunk(delta) for delta in deltas]
    last = {"content": ""}
    if trailing_usage:
        events += [chat_chunk(last, finish_reason=finish), chat_chunk(usage=counters)]
    else:
        events.append(chat_chunk(last, finish_reason=finish, usage=counters))
    reply = Reply(tuple(Part(event) for event in [*events, DONE]), name="text")
    return reply.paced(chunk_delay_s) if chunk_delay_s else reply


def tool_call_reply(
    name: str,
    arguments: Mapping[str, object] | str,
    *,
    call_id: str | None = "mock-call-1",
    text: str = "",
    reasoning: str = "",
    fragments: int = 2,
) -> Reply:
    """Return a streamed answer that calls one tool, optionally after text."""
    arguments = arguments if isinstance(arguments, str) else dumps_text(arguments)
    call = ReplyToolCall(name, arguments, call_id, fragments)
    usage = {"prompt_tokens": 3, "completion_tokens": 2}
    reply = text_reply(text, reasoning=reasoning, tool_calls=(call,), usage=usage)
    return attrs.evolve(reply, name="tool-call")


def error_reply(
    status: int,
    message: str = "the scripted request has failed",
    *,
    code: str | None = None,
    kind: str = "mock_error",
    retry_after: str | None = None,
    request_id: str | None = None,
) -> Reply:
    """Return an error answer with the JSON body that chat-completions servers send.

    Args:
        status: the HTTP status.
        message: `error.message` of the body.
        code: `error.code` of the body.
        kind: `error.type` of the body.
        retry_after: the `retry-after` header, seconds or an HTTP date.
        request_id: the `x-request-id` header.
    """
    headers = [("content-type", "application/json")]
    if retry_after is not None:
        headers.append(("retry-after", retry_after))
    if request_id is not None:
        headers.append(("x-request-id", request_id))
    body = dumps({"error": {"message": message, "type": kind, "code": code}})
    return Reply((Part(body),), status, tuple(headers), framing="length", name=f"error-{status}")


def with_comments(reply: Reply, comments: Iterable[str], *, delay_s: float = 0.0) -> Reply:
    """Return the reply with comment lines, as keep-alives are sent, before its first event."""
    parts = [Part(f": {comment}\n\n".encode(), delay_s) for comment in comments]
    return attrs.evolve(reply, parts=(*parts, *reply.parts))


def _pieces(text: str, size: int) -> list[str]:
    return [text[at : at + size] for at in range(0, len(text), max(1, size))]


def _call_deltas(calls: Sequence[ReplyToolCall]) -> list[dict[str, object]]:
    """Return the deltas of parallel calls, one fragment of each in turn."""
    fragments = [_fragments(index, call) for index, call in enumerate(calls)]
    rounds = zip_longest(*fragments)
    return [{"tool_calls": [part]} for turn in rounds for part in turn if part is not None]


def _fragments(index: int, call: ReplyToolCall) -> list[dict[str, object]]:
    count = max(1, call.fragments)
    size = -(-len(call.arguments) // count) or 1
    pieces = _pieces(call.arguments, size) or [""]
    head: dict[str, object] = {"index": index}
    if call.id is not None:
        head["id"] = call.id
    head |= {"type": "function", "function": {"name": call.name, "arguments": pieces[0]}}
    deltas = [head]
    deltas.extend({"index": index, "function": {"arguments": piece}} for piece in pieces[1:])
    return deltas
