"""Define what listeners of the loop's waterfalls decide."""

from collections.abc import Sequence
from typing import TypeAlias

import attrs

from harness.agent.types import Envelope
from harness.llm import ContentBlock, FinishReason, LlmCallConfig, Message, TokenUsage, ToolSchema
from harness.wire import as_tuple
from vendor_shims.cordis import AbortSignal

Content: TypeAlias = str | Sequence[ContentBlock]


@attrs.frozen
class ContextItem:
    """A message that enters the log as `context/message`."""

    message: Message
    envelope: Envelope = "context"


@attrs.frozen(kw_only=True)
class Allow:
    """Let a prompt enter, with other content or with context behind it if given."""

    content: Content | None = None
    additional_contexts: tuple[ContextItem, ...] = attrs.field(default=(), converter=as_tuple)


@attrs.frozen
class Block:
    """Keep a prompt out of the log."""

    reason: str | None = None


PromptDecision: TypeAlias = Allow | Block


@attrs.frozen
class Enter:
    """Let a step begin, after these messages entered the log."""

    messages: tuple[ContextItem, ...] = attrs.field(default=(), converter=as_tuple)


@attrs.frozen
class Reject:
    """End the turn before the step begins."""

    message: str | None = None


PreStepDecision: TypeAlias = Enter | Reject


@attrs.frozen
class Retry:
    """Send the request of a failed attempt again, in the same step.

    `delay_logged` says that whoever asks for it has recorded the wait.
    """

    delay_logged: bool = attrs.field(default=False, kw_only=True)


RequestErrorAction: TypeAlias = Retry | None


@attrs.frozen
class Continue:
    """Run another step; a `reason` reaches the model as steering."""

    reason: Content | None = None


@attrs.frozen
class Stop:
    """End the turn."""

    reason: str | None = None


ContinuationDecision: TypeAlias = Continue | Stop


@attrs.define(kw_only=True)
class RequestDraft:
    """A request that is being made; listeners of `agent/request` may change it.

    `messages` belong to the log: changing them is honoured for one attempt and recorded.
    """

    config: LlmCallConfig
    system: str
    tools: tuple[ToolSchema, ...]
    messages: tuple[Message, ...]
    signal: AbortSignal
    attempt: int


@attrs.frozen(kw_only=True)
class AssistantDraft:
    """A successful answer that is about to enter the log."""

    content: tuple[ContentBlock, ...] = attrs.field(converter=as_tuple)
    usage: TokenUsage | None = None
    finish: FinishReason = FinishReason.STOP
