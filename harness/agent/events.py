"""Declare the bus events of agents.

Every payload carries its agent, and every dispatch is scoped to it: a listener on `agent.ctx` hears
of that agent only, one on a wider context of all agents below it.
"""

from collections.abc import Callable, Sequence
from typing import Any, Literal

import attrs

from harness.agent.agent import Agent
from harness.agent.decisions import (
    AssistantDraft,
    ContinuationDecision,
    PreStepDecision,
    PromptDecision,
    RequestDraft,
    RequestErrorAction,
)
from harness.agent.frames import StreamFrame
from harness.agent.types import AgentStatus, InboxTarget
from harness.llm import FinishReason, LlmFailure, Message, RetryPolicy
from vendor_shims.cordis import AbortSignal, Emit, Serial, Waterfall


def _agent_of(payload: Any, *_: Any) -> Any:  # noqa: ANN401 - any payload of this module
    return getattr(payload, "agent", payload)


@attrs.frozen(kw_only=True)
class SessionStarted:
    """Tell why an agent began."""

    agent: Agent
    source: Literal["startup", "resume", "clear", "compact"]


@attrs.frozen(kw_only=True)
class StatusChanged:
    """Tell of a change of the public status."""

    agent: Agent
    status: AgentStatus
    previous: AgentStatus


@attrs.frozen(kw_only=True)
class InboxInserted:
    """Tell of a message that was queued."""

    agent: Agent
    message: Message
    target: InboxTarget


@attrs.frozen(kw_only=True)
class InboxClaimed:
    """Tell of a queued message that a turn took up."""

    agent: Agent
    message: Message
    turn: int


@attrs.frozen(kw_only=True)
class InboxDiscarded:
    """Tell of a queued message that was thrown away."""

    agent: Agent
    message: Message
    outcome: str


@attrs.frozen(kw_only=True)
class PromptSubmitted:
    """Ask about a prompt that is about to enter the log."""

    agent: Agent
    turn: int
    message: Message
    signal: AbortSignal


@attrs.frozen(kw_only=True)
class StepPending:
    """Ask about a step that is about to begin."""

    agent: Agent
    turn: int
    step: int
    signal: AbortSignal
    collect: Callable[[], Sequence[Message]] = attrs.field(repr=False)

    @property
    def messages(self) -> tuple[Message, ...]:
        """What entered the history since the last request."""
        return tuple(self.collect())


@attrs.frozen(kw_only=True)
class RequestPending:
    """Ask about a request that is about to be sent."""

    agent: Agent
    turn: int
    step: int
    attempt: int
    signal: AbortSignal
    draft: RequestDraft


@attrs.frozen(kw_only=True)
class AttemptFailed:
    """Ask what to do about a request that failed."""

    agent: Agent
    turn: int
    step: int
    attempt: int
    provider: str
    failure: LlmFailure
    retry_policy: RetryPolicy | None
    signal: AbortSignal


@attrs.frozen(kw_only=True)
class StepAnswered:
    """Ask about an answer that is about to enter the log."""

    agent: Agent
    turn: int
    step: int
    draft: AssistantDraft


@attrs.frozen(kw_only=True)
class SteeringEntered:
    """Tell of a steering message that entered the log."""

    agent: Agent
    turn: int
    step: int
    message: Message


@attrs.frozen(kw_only=True)
class StepEnded:
    """Ask whether the turn goes on after a step."""

    agent: Agent
    turn: int
    step: int
    had_tool_calls: bool
    steered: bool
    finish: FinishReason
    signal: AbortSignal


@attrs.frozen(kw_only=True)
class TurnStopping:
    """Tell that the turn is about to stop; steer to keep it going."""

    agent: Agent
    turn: int
    signal: AbortSignal


@attrs.frozen(kw_only=True)
class AgentFailed:
    """Tell of a failure that the loop contained."""

    agent: Agent
    turn: int
    step: int
    error: BaseException
    where: str


@attrs.frozen(kw_only=True)
class AssistantStream:
    """Carry one frame of a live answer."""

    agent: Agent
    frame: StreamFrame


CREATED = Emit[[Agent]](
    "agent/created", scoped=_agent_of, doc="An agent entered the registry. An error vetoes it."
)
DISPOSED = Emit[[Agent]](
    "agent/disposed", contain=True, scoped=_agent_of, doc="An agent left the registry."
)
SESSION_START = Emit[[SessionStarted]](
    "agent/session-start", contain=True, scoped=_agent_of, doc="Once, before the first turn."
)
STATUS = Emit[[StatusChanged]](
    "agent/status", contain=True, scoped=_agent_of, doc="Only on a change; `disposed` comes last."
)
INBOX_INSERTED = Emit[[InboxInserted]](
    "agent/inbox/inserted", contain=True, scoped=_agent_of, doc="After the list changed."
)
INBOX_CLAIMED = Emit[[InboxClaimed]](
    "agent/inbox/claimed", contain=True, scoped=_agent_of, doc="After the list changed."
)
INBOX_DISCARDED = Emit[[InboxDiscarded]](
    "agent/inbox/discarded", contain=True, scoped=_agent_of, doc="After the list changed."
)
PROMPT_SUBMIT = Waterfall[[PromptSubmitted], PromptDecision](
    "agent/prompt-submit", is_async=True, scoped=_agent_of, doc="Once per prompt, inside its turn."
)
PRE_STEP = Waterfall[[StepPending], PreStepDecision](
    "agent/pre-step",
    is_async=True,
    accepts_serial=True,
    scoped=_agent_of,
    doc="Before step/start; the place to change the surface, as compaction does.",
)
REQUEST = Waterfall[[RequestPending], RequestDraft](
    "agent/request", is_async=True, scoped=_agent_of, doc="Once per attempt; may change the draft."
)
ASSISTANT_STREAM = Emit[[AssistantStream]](
    "agent/assistant-stream", contain=True, scoped=_agent_of, doc="Frames of a live answer."
)
REQUEST_ERROR = Waterfall[[AttemptFailed], RequestErrorAction](
    "agent/request-error", is_async=True, scoped=_agent_of, doc="After a failed attempt."
)
STEP_RESULT = Waterfall[[StepAnswered], AssistantDraft](
    "agent/step-result", is_async=True, scoped=_agent_of, doc="Before assistant/message."
)
STEERING = Emit[[SteeringEntered]](
    "agent/steering", contain=True, scoped=_agent_of, doc="After a steering/message."
)
TURN_CONTINUATION = Waterfall[[StepEnded], ContinuationDecision](
    "agent/turn-continuation", is_async=True, scoped=_agent_of, doc="After step/end."
)
TURN_STOPPING = Serial[[TurnStopping], None](
    "agent/turn-stopping", scoped=_agent_of, doc="Before the turn stops; steering keeps it going."
)
ERROR = Emit[[AgentFailed]](
    "agent/error", contain=True, scoped=_agent_of, doc="A failure that the loop contained."
)
