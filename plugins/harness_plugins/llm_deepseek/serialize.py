"""Write a request in the chat-completions format; each message is converted once."""

from collections.abc import Mapping, Sequence
from typing import Any

from harness.llm import (
    GenerateOptions,
    ImageBlock,
    LlmError,
    Message,
    ReasoningBlock,
    TextBlock,
    ToolCallBlock,
    ToolResultBlock,
    ToolSchema,
    fold_history,
)
from harness.wire import JsonEncodeError, dumps_request

MAX_STOPS = 16
_WIRE_FORM = object()
"""Names the fold that holds the wire form of a history."""


def request_body(
    options: GenerateOptions, fields: Mapping[str, Any], *, features: Mapping[str, Any]
) -> bytes:
    """Return the JSON body of a request.

    Args:
        options: the request; its messages are written in order.
        fields: further members, such as `thinking`, placed after `stream_options`.
        features: opt-in features of one request: `responseFormat` and `prefix`.

    Raises:
        LlmError: `UNSUPPORTED_CONTENT`, `UNSUPPORTED_OPTION` or `INVALID_REQUEST`.
    """
    config = options.config
    if config.stop is not None and len(config.stop) > MAX_STOPS:
        raise LlmError(
            f"at most {MAX_STOPS} stop strings are possible, got {len(config.stop)}",
            "UNSUPPORTED_OPTION",
        )
    messages = _messages(options, is_prefix=features.get("prefix") is True)
    rest: dict[str, Any] = {
        "stream": True,
        "stream_options": {"include_usage": True},
        **fields,
        **_response_format(features.get("responseFormat"), messages),
    }
    if options.tools:
        rest["tools"] = [_tool(tool) for tool in options.tools]
    chosen = {
        "temperature": config.temperature,
        "max_tokens": config.max_tokens,
        "stop": config.stop,
    }
    rest.update({key: value for key, value in chosen.items() if value is not None})
    head = _encode({"model": config.model})
    return b"".join((head[:-1], b',"messages":[', *messages, b"],", _encode(rest)[1:]))


def _messages(options: GenerateOptions, *, is_prefix: bool) -> list[bytes | bytearray]:
    """Return the members of `messages` in pieces, so that a long history is copied once only."""
    history = fold_history(options.messages, _WIRE_FORM, start=bytearray, extend=_append_wire)
    pieces: list[bytes | bytearray] = [history]
    if is_prefix:
        if not options.messages or options.messages[-1].role != "assistant":
            raise LlmError(
                "prefix completion needs an assistant message at the end", "UNSUPPORTED_OPTION"
            )
        pieces = [history[:-1], b',"prefix":true}']
    if options.system is not None:
        system = _encode({"role": "system", "content": options.system})
        pieces = [system, b"," if history else b"", *pieces]
    return pieces


def _append_wire(history: bytearray, messages: Sequence[Message]) -> bytearray:
    new = b",".join([wire_message(message) for message in messages])
    if history and new:
        history += b","
    history += new
    return history


def wire_message(message: Message) -> bytes:
    """Return the wire messages of one message, joined by commas.

    A user message gives its text and one `tool` message per tool result; blocks of unknown types
    are skipped.
    """
    if message.role == "assistant":
        return _encode(_assistant(message))
    if message.role == "system":
        return _encode({"role": "system", "content": message.text})
    results = [block for block in message.content if isinstance(block, ToolResultBlock)]
    _refuse_images(message)
    text = message.text
    wire = [_encode({"role": "user", "content": text})] if text or not results else []
    wire.extend(_encode(_tool_result(result)) for result in results)
    return b",".join(wire)


def _assistant(message: Message) -> dict[str, Any]:
    _refuse_images(message)
    wire: dict[str, Any] = {"role": "assistant", "content": message.text}
    blocks = message.content
    reasoning = "".join([block.text for block in blocks if isinstance(block, ReasoningBlock)])
    if reasoning:
        wire["reasoning_content"] = reasoning
    calls = [_call(block) for block in blocks if isinstance(block, ToolCallBlock)]
    if calls:
        wire["tool_calls"] = calls
    return wire


def _call(block: ToolCallBlock) -> dict[str, Any]:
    function = {"name": block.name, "arguments": block.arguments}
    return {"id": block.id, "type": "function", "function": function}


def _tool_result(block: ToolResultBlock) -> dict[str, Any]:
    if any(isinstance(part, ImageBlock) for part in block.content):
        raise _image_error()
    text = "".join([part.text for part in block.content if isinstance(part, TextBlock)])
    return {"role": "tool", "tool_call_id": block.tool_call_id, "content": text or "(no output)"}


def _tool(tool: ToolSchema) -> dict[str, Any]:
    function = {
        "name": tool.name,
        "description": tool.description,
        "parameters": tool.parameters,
    }
    return {"type": "function", "function": function}


def _response_format(value: object, messages: Sequence[bytes | bytearray]) -> dict[str, Any]:
    if value is None:
        return {}
    if value != "json_object":
        raise LlmError(f"unknown responseFormat {value!r}", "UNSUPPORTED_OPTION")
    if not any(b"json" in piece.lower() for piece in messages):
        raise LlmError(
            "JSON mode needs the word 'json' in a message; without it the model may never stop",
            "UNSUPPORTED_OPTION",
        )
    return {"response_format": {"type": "json_object"}}


def _refuse_images(message: Message) -> None:
    if any(isinstance(block, ImageBlock) for block in message.content):
        raise _image_error()


def _image_error() -> LlmError:
    return LlmError("this adapter sends text only, not images", "UNSUPPORTED_CONTENT")


def _encode(value: object) -> bytes:
    try:
        return dumps_request(value)
    except JsonEncodeError as error:
        raise LlmError(
            f"the request cannot be written as JSON: {error}", "INVALID_REQUEST"
        ) from error
