"""Define what agents are made with, and the small words of their interface."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from enum import StrEnum
from typing import Any, Literal, NewType, Protocol, TypeAlias

import attrs

from harness.session import SessionEvent, SessionId
from vendor_shims.cordis import AbortSignal, Context

MessageId = NewType("MessageId", str)
_MAX_SAFE_INTEGER = 2**53 - 1


class AgentStatus(StrEnum):
    """What an agent does, as others see it."""

    IDLE = "idle"
    RUNNING = "running"
    DISPOSED = "disposed"


class InboxTarget(StrEnum):
    """When a queued message enters the log."""

    NEXT_TURN = "next-turn"
    NEXT_STEP = "next-step"


class Delivery(StrEnum):
    """As what a message was delivered."""

    PROMPT = "prompt"
    STEERING = "steering"
    CONTEXT = "context"


Envelope: TypeAlias = Literal["context", "raw"]
"""How injected text reaches the model: wrapped in `<context>`, or as it is."""


def _positive(_: object, attribute: Any, value: int | None) -> None:  # noqa: ANN401 - of attrs
    if value is None:
        return
    if type(value) is not int or not 0 < value <= _MAX_SAFE_INTEGER:
        raise ValueError(f"{attribute.name} must be a positive integer, found {value!r}")


@attrs.frozen(kw_only=True)
class AgentOptions:
    """Choose the model of an agent; what is `None` is left to `agent/request` listeners."""

    provider: str | None = None
    model: str | None = None
    reasoning_effort: str | None = None
    max_tokens: int | None = attrs.field(default=None, validator=_positive)
    subagent_depth: int = 0


@attrs.frozen(kw_only=True)
class SessionMeta:
    """Fill the header of a new session."""

    cwd: str | None = None
    parent_session: SessionId | None = None
    seed_length: int | None = None
    origin: Literal["subagent"] | None = None
    delegation_depth: int = 0
    agent_preset: str | None = None


class SetupCommit(Protocol):
    """What a `setup` may return: work to do right before the agent is published."""

    def commit(self) -> None:
        """Do it; synchronous, and not called when the creation was given up."""
        ...


Setup: TypeAlias = Callable[[Context], Awaitable[SetupCommit | None]]
"""Prepares the scope of a new agent: its tools, prompt sections and listeners."""


@attrs.frozen(kw_only=True)
class CreateAgentOptions:
    """Ask for a new agent."""

    session_id: SessionId | None = None
    meta: SessionMeta = attrs.field(factory=SessionMeta)
    seed: Sequence[SessionEvent] | None = None
    agent_options: AgentOptions = attrs.field(factory=AgentOptions)
    signal: AbortSignal | None = None
    setup: Setup | None = None


@attrs.frozen(kw_only=True)
class ResumeAgentOptions:
    """Ask for an agent over a stored session."""

    resume_session_id: SessionId
    agent_options: AgentOptions = attrs.field(factory=AgentOptions)
    signal: AbortSignal | None = None
    setup: Setup | None = None


@attrs.frozen
class CancelCause:
    """Say who stopped an agent; only these fields ever reach the log."""

    kind: Literal["user", "parent", "hook", "disposed"]
    reason: str | None = None

    def to_json(self) -> dict[str, str]:
        """Return the form that `turn/end` keeps."""
        if self.reason is None:
            return {"kind": self.kind}
        return {"kind": self.kind, "reason": self.reason}


def cancel_cause(cause: CancelCause | Mapping[str, Any] | str | None) -> CancelCause:
    """Return the cause that `Agent.cancel` was given, in one form.

    Nothing means the user, a string means a hook with that reason.

    Raises:
        TypeError: anything that is not a cause.
    """
    if cause is None:
        return CancelCause("user")
    if isinstance(cause, str):
        return CancelCause("hook", cause)
    kind, reason = None, None
    if isinstance(cause, CancelCause):
        kind, reason = cause.kind, cause.reason
    elif isinstance(cause, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance] - or a stranger
        kind, reason = cause.get("kind"), cause.get("reason")
    if kind in ("user", "parent", "disposed"):
        return CancelCause(kind)
    if kind == "hook" and isinstance(reason, str):
        return CancelCause("hook", reason)
    raise TypeError(f"not a cancel cause: {cause!r}")
