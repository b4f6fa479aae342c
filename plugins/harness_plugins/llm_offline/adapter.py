"""Answer as the offline guide, streaming like any other adapter."""

import re
from collections.abc import AsyncIterator, Iterator, Sequence

from harness.llm import (
    BlockEnd,
    BlockStart,
    Finish,
    FinishReason,
    GenerateOptions,
    LlmAdapter,
    LlmError,
    LlmModelInfo,
    LlmProviderInfo,
    LlmResolvedModelInfo,
    StreamChunk,
    TextBlock,
    TextDelta,
    TokenUsage,
    ToolCallBlock,
    ToolCallDelta,
    ToolResultBlock,
    UsageChunk,
)
from harness.wire import dumps_text
from harness_plugins.llm_offline.intents import read_intent
from harness_plugins.llm_offline.moves import ToolMove, next_move
from harness_plugins.llm_offline.replies import (
    NOTICE,
    answer_text,
    compaction_text,
    title_text,
)
from harness_plugins.llm_offline.situation import Situation, read_situation
from vendor_shims.cordis import AbortSignal, Clock, run_abortable

PROVIDER = "offline"
MODEL = "guide"
_NAME = "Offline guide"
_CONTEXT_WINDOW = 128_000
_CHARS_PER_TOKEN = 4
_WORD = re.compile(r"\s*\S+\s*|\s+")
_ARGUMENT_CHARS = 24


class GuideAdapter(LlmAdapter):
    """Serve `offline/guide`: deterministic, without network or weights.

    `delay_s` separates the chunks, for surfaces where somebody watches.
    """

    def __init__(self, *, delay_s: float, clock: Clock) -> None:
        self._delay_s = delay_s
        self._clock = clock

    def provider_info(self, provider: str) -> LlmProviderInfo:
        """Name the route."""
        return LlmProviderInfo(provider, _NAME)

    async def list_models(self, provider: str) -> Sequence[LlmModelInfo]:
        """List the one model."""
        return (LlmModelInfo(provider, MODEL, _NAME, "Follows fixed rules; not a language model"),)

    async def resolve_model(
        self,
        provider: str,
        model: str,
        signal: AbortSignal | None = None,  # noqa: ARG002 - nothing is awaited
    ) -> LlmResolvedModelInfo:
        """Return the facts of `guide`; another model raises `UNKNOWN_MODEL`."""
        if model != MODEL:
            raise LlmError(
                f"the provider {provider!r} has the one model {MODEL!r}, not {model!r}",
                "UNKNOWN_MODEL",
            )
        return LlmResolvedModelInfo(
            provider, model, _NAME, input_modalities=("text",), context_window=_CONTEXT_WINDOW
        )

    async def stream(self, options: GenerateOptions) -> AsyncIterator[StreamChunk]:
        """Answer in word-sized chunks; the signal is looked at before each."""
        for chunk in _answer(options):
            if options.signal is not None:
                options.signal.throw_if_aborted()
            if self._delay_s > 0:
                signal = options.signal or AbortSignal.never()
                await run_abortable(signal, self._clock.sleep, self._delay_s)
            yield chunk


def _answer(options: GenerateOptions) -> Iterator[StreamChunk]:
    situation = read_situation(options)
    text, move = _decide(options, situation)
    yield from _text_chunks(text)
    written = len(text)
    if move is not None:
        arguments = dumps_text(move.arguments)
        written += len(arguments)
        yield from _call_chunks(move.tool, arguments, call_id=f"guide-{situation.n_calls + 1}")
    yield UsageChunk(TokenUsage(_tokens(_input_chars(options)), _tokens(written)))
    yield Finish(FinishReason.STOP if move is None else FinishReason.TOOL_CALLS)


def _decide(options: GenerateOptions, situation: Situation) -> tuple[str, ToolMove | None]:
    if options.purpose == "session-title":
        return title_text(situation), None
    if options.purpose == "compaction":
        tasks = [m.text for m in options.messages if m.source.get("kind") == "user" and m.text]
        return compaction_text(tasks), None
    intent = read_intent(situation.task)
    move = next_move(intent, situation)
    text = answer_text(intent, situation) if move is None else move.lead
    return (f"{NOTICE}\n\n{text}" if situation.is_new_here else text), move


def _text_chunks(text: str) -> Iterator[StreamChunk]:
    yield BlockStart(0, "text")
    for word in _WORD.findall(text):
        yield TextDelta(0, word)
    yield BlockEnd(0, TextBlock(text))


def _call_chunks(name: str, arguments: str, *, call_id: str) -> Iterator[StreamChunk]:
    yield BlockStart(1, "tool-call")
    for start in range(0, len(arguments), _ARGUMENT_CHARS):
        yield ToolCallDelta(1, call_id, name, arguments[start : start + _ARGUMENT_CHARS])
    yield BlockEnd(1, ToolCallBlock(call_id, name, arguments))


def _tokens(n_chars: int) -> int:
    return -(-n_chars // _CHARS_PER_TOKEN)


def _input_chars(options: GenerateOptions) -> int:
    total = len(options.system or "")
    for message in options.messages:
        total += len(message.text)
        for block in message.content:
            if isinstance(block, ToolCallBlock):
                total += len(block.arguments)
            elif isinstance(block, ToolResultBlock):
                total += sum(len(p.text) for p in block.content if isinstance(p, TextBlock))
    return total
