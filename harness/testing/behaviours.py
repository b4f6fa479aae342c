"""Name the ways a model server behaves, good and bad, for scripts that are text.

Source: the behaviour table of the specification of the mock model server.
"""

import random
from collections.abc import Callable, Mapping
from math import ceil
from typing import Final

import attrs

from harness.testing.chat_replies import (
    DONE,
    ReplyToolCall,
    chat_chunk,
    error_reply,
    sse_data,
    text_reply,
    tool_call_reply,
    with_comments,
)
from harness.testing.reply import Part, Reply, raw_reply
from harness.wire import loads


@attrs.frozen
class BehaviourOptions:
    """Texts, sizes and pauses that the named behaviours use."""

    success_text: str = "Mock response"
    partial_text: str = "Partial mock"
    reasoning_text: str = "Mock reasoning"
    chunk_size: int = 8
    chunk_delay_s: float = 0.025
    disconnect_delay_s: float = 0.01
    retry_after_s: float = 1.0
    request_id: str | None = None
    tool_name: str = "mock_tool"
    tool_arguments: str = '{"value":"mock"}'
    keepalive_s: float = 0.05
    keepalives: int = 3


DEFAULT_WEIGHTS: Final[Mapping[str, int]] = {
    "success": 48,
    "slow_success": 10,
    "max_tokens": 2,
    "connection_reset": 5,
    "stream_disconnect": 5,
    "partial_disconnect": 10,
    "empty": 5,
    "stall": 2,
    "rate_limit": 5,
    "server_error": 4,
    "service_unavailable": 2,
    "partial_eof": 1,
    "malformed_json": 1,
}
"""How often the behaviour `random` picks each of the others."""


def behaviour_names() -> tuple[str, ...]:
    """Return every name that a script may use, `random` included."""
    return (*_BEHAVIOURS, "random")


def behaviour_reply(name: str, options: BehaviourOptions) -> Reply:
    """Return the answer that the behaviour of this name, any but `random`, gives."""
    reply = _BEHAVIOURS[name](options)
    if options.request_id is not None:
        reply = reply.with_headers(x_request_id=options.request_id)
    return attrs.evolve(reply, name=name)


def check_options(options: BehaviourOptions) -> BehaviourOptions:
    """Return usable options or refuse them.

    Raises:
        ValueError: an empty text, a size below one, a negative pause, arguments that are no JSON.
    """
    for field in ("success_text", "partial_text", "reasoning_text", "tool_name"):
        if not getattr(options, field):
            raise ValueError(f"{field} must not be empty")
    if options.chunk_size < 1:
        raise ValueError(f"chunk_size must be at least 1, got {options.chunk_size!r}")
    for field in ("chunk_delay_s", "disconnect_delay_s", "retry_after_s", "keepalive_s"):
        if getattr(options, field) < 0:
            raise ValueError(f"{field} must not be negative, got {getattr(options, field)!r}")
    loads(options.tool_arguments)
    return options


class BehaviourPicker:
    """Pick behaviours at random, the same ones for the same seed."""

    def __init__(self, seed: int | None = None, weights: Mapping[str, int] | None = None) -> None:
        """Make or take the seed.

        Raises:
            ValueError: an unknown name, a negative weight, or no positive one.
        """
        weights = DEFAULT_WEIGHTS if weights is None else weights
        unknown = [name for name in weights if name not in _BEHAVIOURS]
        if unknown or any(weight < 0 for weight in weights.values()) or not any(weights.values()):
            raise ValueError(
                f"random weights need known names and at least one positive weight, got {weights!r}"
            )
        self.seed: int = random.SystemRandom().getrandbits(32) if seed is None else seed
        """What makes the sequence repeatable."""
        self._names = list(weights)
        self._weights = list(weights.values())
        self._random = random.Random(self.seed)  # noqa: S311 - repeatable on purpose

    def pick(self) -> str:
        """Return the next behaviour's name."""
        return self._random.choices(self._names, self._weights)[0]


def _success(options: BehaviourOptions) -> Reply:
    return text_reply(options.success_text, chunk_size=options.chunk_size)


def _slow_success(options: BehaviourOptions) -> Reply:
    return _success(options).paced(options.chunk_delay_s)


def _reasoning_success(options: BehaviourOptions) -> Reply:
    return text_reply(
        options.success_text, reasoning=options.reasoning_text, chunk_size=options.chunk_size
    )


def _max_tokens(options: BehaviourOptions) -> Reply:
    return text_reply(options.success_text, finish_reason="length", chunk_size=options.chunk_size)


def _finish_only(reason: str) -> Reply:
    usage = {"prompt_tokens": 3, "completion_tokens": 0}
    return raw_reply([chat_chunk({"content": ""}, finish_reason=reason, usage=usage), DONE])


def _partial(options: BehaviourOptions) -> Reply:
    whole = text_reply(options.partial_text, chunk_size=options.chunk_size)
    return whole.ending_with("complete", after_parts=-2)


def _partial_disconnect(options: BehaviourOptions) -> Reply:
    partial = _partial(options)
    pause = Part(b"", options.disconnect_delay_s)
    return attrs.evolve(partial, parts=(*partial.parts, pause), ending="reset")


def _stream_disconnect(options: BehaviourOptions) -> Reply:
    return Reply((Part(b"", options.disconnect_delay_s),), ending="reset")


def _wrong_content_type(options: BehaviourOptions) -> Reply:
    return attrs.evolve(_success(options), headers=(("content-type", "application/json"),))


def _rate_limit(options: BehaviourOptions) -> Reply:
    retry_after = str(ceil(options.retry_after_s))
    return error_reply(429, "rate limit reached", code="rate_limit", retry_after=retry_after)


def _keepalive(options: BehaviourOptions) -> Reply:
    comments = ["keep-alive"] * options.keepalives
    return with_comments(_success(options), comments, delay_s=options.keepalive_s)


def _parallel_tools(options: BehaviourOptions) -> Reply:
    name, arguments = options.tool_name, options.tool_arguments
    calls = [ReplyToolCall(name, arguments, f"mock-call-{number}") for number in (1, 2)]
    return text_reply("", tool_calls=calls)


def _missing_tool_index(options: BehaviourOptions) -> Reply:
    call = {"id": "mock-call-1", "type": "function"}
    function = {"name": options.tool_name, "arguments": options.tool_arguments}
    return raw_reply(
        [
            chat_chunk({"role": "assistant", "content": ""}),
            chat_chunk({"tool_calls": [{**call, "function": function}]}),
            chat_chunk({"content": ""}, finish_reason="tool_calls"),
            DONE,
        ]
    )


def _inband_error(options: BehaviourOptions) -> Reply:
    error = {"message": "insufficient balance", "type": "mock_error", "code": None}
    return raw_reply([chat_chunk({"content": options.partial_text}), sse_data({"error": error})])


_BEHAVIOURS: Final[Mapping[str, Callable[[BehaviourOptions], Reply]]] = {
    "success": _success,
    "slow_success": _slow_success,
    "reasoning_success": _reasoning_success,
    "tool_call_success": lambda o: tool_call_reply(o.tool_name, o.tool_arguments),
    "max_tokens": _max_tokens,
    "empty": lambda _: _finish_only("stop"),
    "empty_body": lambda _: Reply(),
    "stream_eof": lambda _: raw_reply([chat_chunk({"role": "assistant", "content": ""})]),
    "partial_eof": _partial,
    "partial_disconnect": _partial_disconnect,
    "stream_disconnect": _stream_disconnect,
    "connection_reset": lambda _: Reply(has_head=False, ending="reset"),
    "stall": lambda _: Reply(ending="stall"),
    "malformed_json": lambda _: raw_reply([b"data: {not-json\n\n", DONE]),
    "malformed_event": lambda _: raw_reply([sse_data({"choices": [None]}), DONE]),
    "wrong_content_type": _wrong_content_type,
    "rate_limit": _rate_limit,
    "server_error": lambda _: error_reply(500, "internal error", code="server_error"),
    "service_unavailable": lambda _: error_reply(503, "overloaded", code="unavailable"),
    "auth_error": lambda _: error_reply(401, "invalid key", code="invalid_api_key"),
    "invalid_request": lambda _: error_reply(
        400, "invalid request", code="invalid_request", kind="invalid_request_error"
    ),
    "context_overflow": lambda _: error_reply(
        400,
        "the request exceeds the model's context",
        code="context_length_exceeded",
        kind="invalid_request_error",
    ),
    "quota_exceeded": lambda _: error_reply(429, "quota exceeded", code="insufficient_quota"),
    "keepalive": _keepalive,
    "trailing_usage": lambda o: text_reply(
        o.success_text, trailing_usage=True, chunk_size=o.chunk_size
    ),
    "parallel_tools": _parallel_tools,
    "missing_tool_index": _missing_tool_index,
    "content_filter": lambda _: _finish_only("content_filter"),
    "insufficient_system_resource": lambda _: _finish_only("insufficient_system_resource"),
    "inband_error": _inband_error,
}
