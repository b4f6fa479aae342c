"""Play a script in the place of a model, and record what it was asked.

model = ScriptedModel(calls("bash", {"command": "ls"}), says("Done."))
ctx.plugin(model)                     # serves the route "scripted"
...
assert [m.role for m in model.requests[1].messages] == ["user", "assistant", "user"]
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import Any, TypeAlias

from attrs import evolve, frozen

from harness.llm import (
    BlockEnd,
    BlockStart,
    Finish,
    FinishReason,
    GenerateOptions,
    LlmAdapter,
    LlmError,
    LlmFailure,
    LlmModelInfo,
    LlmResolvedModelInfo,
    ReasoningBlock,
    ReasoningDelta,
    ReasoningInfo,
    RetryPolicy,
    StreamChunk,
    TextBlock,
    TextDelta,
    TokenUsage,
    ToolCallBlock,
    ToolCallDelta,
    UsageChunk,
)
from harness.wire import dumps_text
from vendor_shims.cordis import AbortSignal, Context, run_abortable

DEFAULT_USAGE = TokenUsage(10, 5)


@frozen
class Hang:
    """Wait until the request's signal aborts, then raise its reason."""


Gate: TypeAlias = Callable[[], Awaitable[object]]
"""Something to await at a point of the stream, whatever the signal says: `event.wait`."""

Item: TypeAlias = StreamChunk | Exception | Hang | Gate
Reply: TypeAlias = Sequence[Item] | Callable[[GenerateOptions], Sequence[Item]]
"""What one request gets: chunks to yield, an exception to raise, a hang or a gate; or a function of
the request that returns those."""


def says(
    text: str | Sequence[str], *, reasoning: str = "", usage: TokenUsage | None = DEFAULT_USAGE
) -> list[Item]:
    """Answer with text; a list of strings gives one delta each."""
    items = _reasoning(reasoning)
    return [*items, *_text(text, bool(items)), *_end(FinishReason.STOP, usage)]


def calls(
    name: str,
    arguments: dict[str, Any] | str,
    *,
    call_id: str = "call-1",
    text: str = "",
    reasoning: str = "",
    split: int = 0,
    usage: TokenUsage | None = DEFAULT_USAGE,
) -> list[Item]:
    """Call one tool; a string of arguments is sent as it is, `split` cuts it every n characters."""
    return calls_all(
        [(call_id, name, arguments)], text=text, reasoning=reasoning, split=split, usage=usage
    )


def calls_all(
    calls: Sequence[tuple[str, str, dict[str, Any] | str]],
    *,
    text: str = "",
    reasoning: str = "",
    split: int = 0,
    usage: TokenUsage | None = DEFAULT_USAGE,
) -> list[Item]:
    """Call several tools in one answer, as (call id, name, arguments)."""
    items = _reasoning(reasoning)
    if text:
        items.extend(_text(text, bool(items)))
    index = sum(isinstance(item, BlockStart) for item in items)
    for call_id, name, arguments in calls:
        raw = arguments if isinstance(arguments, str) else dumps_text(arguments)
        items.append(BlockStart(index, "tool-call"))
        width = split or len(raw) or 1
        for start in range(0, len(raw) or 1, width):
            items.append(ToolCallDelta(index, call_id, name, raw[start : start + width]))
        items.append(BlockEnd(index, ToolCallBlock(call_id, name, raw)))
        index += 1
    return [*items, *_end(FinishReason.TOOL_CALLS, usage)]


def fails(code: str, message: str = "scripted failure", **facts: Any) -> list[Item]:
    """Fail inside the stream, with facts such as `status` or `provider_retry_after_ms`."""
    kind = "aborted" if code == "ABORTED" else "error"
    return [Finish(FinishReason(kind, LlmFailure(message, code, **facts)))]


def partly(text: str, *rest: Item) -> list[Item]:
    """Send text without closing its block, then go on with `rest`: a failure, a hang or a gate."""
    return [BlockStart(0, "text"), TextDelta(0, text), *rest]


class ScriptedModel(LlmAdapter):
    """Answer request n with reply n; mount it as a plugin or register it by hand.

    `requests` holds every request in order of arrival. A request beyond the script fails with the
    code `SCRIPT_EXHAUSTED`, unless `repeat_last` is set.
    """

    name = "scripted-model"
    inject = ("llm",)

    def __init__(
        self,
        *replies: Reply,
        provider: str = "scripted",
        model: str = "test",
        context_window: int | None = None,
        input_modalities: tuple[str, ...] | None = None,
        default_max_tokens: int | None = None,
        reasoning: ReasoningInfo | None = None,
        retry_policy: RetryPolicy | None = None,
        repeat_last: bool = False,
    ) -> None:
        self.provider = provider
        self.model = model
        self.requests: list[GenerateOptions] = []
        self._replies = list(replies)
        self._repeat_last = repeat_last
        self._retry_policy = retry_policy or RetryPolicy()
        self._info = LlmResolvedModelInfo(
            provider,
            model,
            model,
            context_window=context_window,
            input_modalities=input_modalities,
            default_max_tokens=default_max_tokens,
            reasoning=reasoning,
        )

    def apply(self, ctx: Context) -> None:
        """Serve the route until the plugin ends."""
        ctx.require("llm").register_adapter([self.provider], self)

    def add(self, *replies: Reply) -> None:
        """Append replies to the script."""
        self._replies.extend(replies)

    @property
    def n_left(self) -> int:
        """Return how many replies were not asked for yet."""
        return max(0, len(self._replies) - len(self.requests))

    def provider_retry_policy(self, provider: str) -> RetryPolicy:  # noqa: ARG002 - one route
        """Return the policy given to the constructor."""
        return self._retry_policy

    async def list_models(self, provider: str) -> Sequence[LlmModelInfo]:
        """List the one model."""
        return (LlmModelInfo(provider, self.model, self.model),)

    async def resolve_model(
        self,
        provider: str,
        model: str,
        signal: AbortSignal | None = None,  # noqa: ARG002 - nothing is awaited
    ) -> LlmResolvedModelInfo:
        """Return the facts given to the constructor."""
        return evolve(self._info, provider=provider, id=model, name=model)

    async def stream(self, options: GenerateOptions) -> AsyncIterator[StreamChunk]:
        """Play the next reply."""
        number = len(self.requests)
        self.requests.append(options)
        if number >= len(self._replies) and not (self._repeat_last and self._replies):
            raise LlmError(
                f"the script has {len(self._replies)} replies, this is request {number + 1}",
                "SCRIPT_EXHAUSTED",
            )
        reply = self._replies[min(number, len(self._replies) - 1)]
        for item in reply(options) if callable(reply) else reply:
            if isinstance(item, Exception):
                raise item
            if isinstance(item, Hang):
                await _until_aborted(options.signal)
            elif callable(item):
                await item()
            else:
                yield item


async def _until_aborted(signal: AbortSignal | None) -> None:
    signal = signal or AbortSignal.never()
    await run_abortable(signal, AbortSignal.never().wait)


def _reasoning(text: str) -> list[Item]:
    if not text:
        return []
    block = ReasoningBlock(text)
    return [BlockStart(0, "reasoning"), ReasoningDelta(0, text), BlockEnd(0, block)]


def _text(text: str | Sequence[str], is_second: bool) -> list[Item]:  # noqa: FBT001 - an index
    index = int(is_second)
    parts = [text] if isinstance(text, str) else list(text)
    deltas = [TextDelta(index, part) for part in parts]
    return [BlockStart(index, "text"), *deltas, BlockEnd(index, TextBlock("".join(parts)))]


def _end(reason: FinishReason, usage: TokenUsage | None) -> list[Item]:
    return [*([] if usage is None else [UsageChunk(usage)]), Finish(reason)]
