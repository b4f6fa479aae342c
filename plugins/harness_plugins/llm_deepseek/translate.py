"""Translate the payloads of a chat-completions stream into chunks."""

from collections.abc import Callable
from typing import Any, TypeAlias, cast

from harness.llm import (
    Finish,
    FinishReason,
    LlmError,
    LlmFailure,
    StreamChunk,
    TokenUsage,
    UsageChunk,
    is_context_window_wording,
    is_quota_wording,
)
from harness.wire import JsonDecodeError, loads
from harness_plugins.llm_deepseek.http_errors import MAX_MESSAGE_CHARS
from harness_plugins.llm_deepseek.text_run import RunType, TextRun
from harness_plugins.llm_deepseek.tool_calls import ToolCall, ToolCalls
from harness_plugins.llm_deepseek.usage import read_usage

Warn: TypeAlias = Callable[[str], None]
JsonObject: TypeAlias = dict[str, Any]
_QUOTED_CHARS = 120
_STOPS = {
    "stop": FinishReason.STOP,
    "tool_calls": FinishReason.TOOL_CALLS,
    "function_call": FinishReason.TOOL_CALLS,
    "length": FinishReason.MAX_TOKENS,
}


class ChunkTranslator:
    """Follow one stream: at most one text block, one reasoning block, and tool calls.

    Finish and usage are held until the end marker, so that `finish()` can order them.

    Invariants: block indices are allocated in first-seen order; what it emits holds no lone
    surrogate; the deltas of a block concatenate to its final block.
    """

    def __init__(self, warn: Warn) -> None:
        self._blocks: list[TextRun | ToolCall] = []
        self._reasoning: TextRun | None = None
        self._text: TextRun | None = None
        self._calls = ToolCalls(self._blocks)
        self._stop: str | None = None
        self._usage: TokenUsage | None = None
        self._warn = warn

    def push(self, data: str | bytes) -> list[StreamChunk]:
        """Return the chunks of one event's data.

        Raises:
            LlmError: `MALFORMED_RESPONSE`, or the mapped code of an error that the provider
                reports inside the stream.
        """
        try:
            payload = loads(data)
        except JsonDecodeError as error:
            if isinstance(data, bytes):  # perhaps only a character is broken, which is legal
                return self.push(data.decode("utf-8", "replace"))
            raise _malformed(data) from error
        out: list[StreamChunk] = []
        try:
            self._payload(payload, out)
        except (TypeError, AttributeError) as error:
            raise _malformed(data) from error
        return out

    def finish(self) -> list[StreamChunk]:
        """Return what closes the stream: block ends in order of opening, usage, finish."""
        out: list[StreamChunk] = []
        for block in self._blocks:
            out.extend(block.finish())
        if self._usage is not None:
            out.append(UsageChunk(self._usage))
        out.append(Finish(self._reason()))
        return out

    def _payload(self, payload: JsonObject, out: list[StreamChunk]) -> None:
        error = payload.get("error")
        if error:
            raise _in_band_error(error)
        for choice in payload.get("choices") or ():
            delta = choice.get("delta")
            if delta:
                self._choice(delta, out)
            stop = choice.get("finish_reason")
            if stop:
                if type(stop) is not str:
                    raise TypeError(f"expected a stop reason, found {stop!r}")
                self._stop = stop
        usage = payload.get("usage")
        if usage is not None:
            self._usage = read_usage(usage, self._warn) or self._usage

    def _choice(self, delta: JsonObject, out: list[StreamChunk]) -> None:
        reasoning = delta.get("reasoning_content") or delta.get("reasoning")
        if reasoning:
            run = self._reasoning
            if run is None:
                run = self._reasoning = self._open("reasoning", out)
            run.push(reasoning, out)
        content = delta.get("content")
        if content:
            run = self._text
            if run is None:
                run = self._text = self._open("text", out)
            run.push(content, out)
        fragments = delta.get("tool_calls")
        if fragments:
            for fragment in fragments:
                self._calls.push(fragment, out)

    def _open(self, block_type: RunType, out: list[StreamChunk]) -> TextRun:
        run = TextRun(len(self._blocks), block_type)
        self._blocks.append(run)
        out.append(run.start())
        return run

    def _reason(self) -> FinishReason:
        if not self._blocks and self._stop in (None, "stop"):
            failure = LlmFailure("the model answered with nothing at all", "EMPTY_RESPONSE")
            return FinishReason.error(failure)
        if self._stop is None:
            return FinishReason.STOP
        known = _STOPS.get(self._stop)
        if known is not None:
            return known
        message = f"the provider stopped the answer: {self._stop[:_QUOTED_CHARS]}"
        return FinishReason.error(LlmFailure(message, self._stop[:_QUOTED_CHARS].upper()))


def _malformed(data: str | bytes) -> LlmError:
    text = data if isinstance(data, str) else data.decode("utf-8", "replace")
    return LlmError(
        f"the provider sent a stream event that is not a completion chunk: {text[:_QUOTED_CHARS]}",
        "MALFORMED_RESPONSE",
    )


def _in_band_error(error: object) -> LlmError:
    facts = cast("JsonObject", error) if isinstance(error, dict) else {"message": error}
    message = str(facts.get("message") or "the provider reported an error inside the stream")
    message = message[:MAX_MESSAGE_CHARS]
    wording = " ".join(str(facts.get(key) or "") for key in ("code", "type", "message"))
    if is_quota_wording(wording):
        return LlmError(message, "QUOTA")
    if is_context_window_wording(wording):
        return LlmError(message, "CONTEXT_WINDOW_EXCEEDED")
    return LlmError(message, "SERVER")
