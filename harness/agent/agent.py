"""Define the agent: the handle through which everybody talks to one running session."""

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from typing import Any, Protocol, Self, TypeVar

from harness.agent.decisions import Content
from harness.agent.frames import LiveAttempt
from harness.agent.receipt import EnqueueReceipt
from harness.agent.types import (
    AgentOptions,
    AgentStatus,
    CancelCause,
    Delivery,
    Envelope,
    InboxTarget,
    MessageId,
)
from harness.llm import Message
from harness.scope import iter_scope_chain, scope_of
from harness.session import Session, SessionEvent, SessionId
from harness.wire import Json
from vendor_shims.cordis import AbortSignal, Context

T = TypeVar("T")


class PendingMessage(Protocol):
    """One entry of an inbox."""

    @property
    def message(self) -> Message:
        """The message."""
        ...

    @property
    def delivery(self) -> Delivery:
        """As what it was delivered."""
        ...


class InboxView(Protocol):
    """Read and change what an agent has not taken up yet."""

    @property
    def has_pending(self) -> bool:
        """Whether anything is queued."""
        ...

    def snapshot(self, target: InboxTarget | None = None) -> tuple[PendingMessage, ...]:
        """Return the queued entries, next step before next turn, or those of one target."""
        ...

    def append(self, target: InboxTarget, *messages: Message) -> None:
        """Queue messages at the end; they wake nobody."""
        ...

    def prepend(self, target: InboxTarget, *messages: Message) -> None:
        """Queue messages at the front; they wake nobody."""
        ...

    def replace(self, message_id: str, message: Message) -> None:
        """Put another message in the place of a queued one; `KeyError` when there is none."""
        ...

    def remove(self, message_id: str) -> Message:
        """Take a queued message out; `KeyError` when there is none."""
        ...

    def splice(
        self, target: InboxTarget, start: float, delete_count: float, *insert: Message
    ) -> tuple[Message, ...]:
        """Remove a run and insert messages in its place; returns what was removed."""
        ...

    def clear(self) -> None:
        """Throw everything away."""
        ...


class Agent(ABC):
    """A session with something that drives it.

    Deliveries, `inject`, `annotate` and `cancel` are synchronous and may be called from any
    listener on the agent's own thread. An agent is a scope key: `target=agent` reaches its own
    listeners and those of every wider scope.
    """

    session: Session
    options: AgentOptions
    ctx: Context

    @property
    def id(self) -> SessionId:
        """The id of the session, for life."""
        return self.session.id

    @property
    @abstractmethod
    def status(self) -> AgentStatus:
        """What the agent does, as others see it."""

    @property
    @abstractmethod
    def inbox(self) -> InboxView:
        """What the agent has not taken up yet."""

    @abstractmethod
    def deliver(
        self, message: Message, target: InboxTarget, *, wakeup: bool, delivery: Delivery
    ) -> EnqueueReceipt:
        """Queue a message; the primitive behind `send` and `steer`.

        Raises:
            AgentDisposedError: the agent is disposed or being disposed.
            DuplicatePendingMessage: a message with that id is queued.
            ValueError: the message has no content.
        """

    @abstractmethod
    def send(
        self, content: Content | Message, *, source: Mapping[str, Any] | None = None
    ) -> EnqueueReceipt:
        """Queue a prompt for a turn of its own and wake the agent; raises as `deliver`."""

    def followup(
        self, content: Content | Message, *, source: Mapping[str, Any] | None = None
    ) -> EnqueueReceipt:
        """Do what `send` does, under the name that protocol drivers use."""
        return self.send(content, source=source)

    @abstractmethod
    def steer(
        self, content: Content | Message, *, source: Mapping[str, Any] | None = None
    ) -> EnqueueReceipt:
        """Queue a message for the next step of the open turn; a prompt when none is open."""

    @abstractmethod
    def inject(
        self,
        content: Content | Message,
        *,
        source: Mapping[str, Any],
        envelope: Envelope = "context",
        meta: Json = None,
    ) -> EnqueueReceipt:
        """Add context for the next request without waking the agent.

        It never lands between a tool call and its result. While the agent is idle it becomes a
        turn of its own.
        """

    @abstractmethod
    def annotate(
        self, event_type: str, data: Mapping[str, Any], *, plugin: str | None = None
    ) -> SessionEvent | None:
        """Append a log-only fact, in the open turn or in a one-shot turn.

        Returns:
            The event, or `None` when it is written a moment later.

        Raises:
            ValueError: the type is a surface type.
        """

    @abstractmethod
    def cancel(
        self,
        cause: CancelCause | Mapping[str, Any] | str | None = None,
        *,
        keep_inbox: bool = False,
    ) -> None:
        """Ask the agent to stop what it does; returns at once, never raises for its state.

        The first cause wins. Queued messages are thrown away unless `keep_inbox`, which leaves them
        for the next delivery or `wake`.
        """

    @abstractmethod
    async def when_idle(self) -> None:
        """Wait until the agent rests; observing it only."""

    @abstractmethod
    def wake(self) -> None:
        """Take queued prompts up, if there are any and the agent is idle."""

    @abstractmethod
    async def run_maintenance(self, task: Callable[[AbortSignal], Awaitable[T]]) -> T:
        """Run `task(signal)` while the agent is held idle; deliveries wait.

        Raises:
            AgentBusyError: the agent is not idle.
            AgentDisposedError: it is disposed.
        """

    @abstractmethod
    def maintenance_turn(
        self, task: str, *, allow_context: bool = False
    ) -> AbstractAsyncContextManager[Callable[[], int]]:
        """Enclose what a maintenance task appends in one turn.

        Yields a function that opens the turn, unless it is open, and returns its number: call it
        before the first append. `annotate` does that itself, and so does `inject` when
        `allow_context` lets injected messages in. A task that writes nothing leaves no turn.
        """

    @abstractmethod
    def live_attempt(self) -> LiveAttempt | None:
        """Return the answer that is streaming now, for observers that join late."""

    def __event_filter__(self, ctx: Context) -> bool:
        tag = scope_of(ctx)
        return tag is None or any(key is tag for key in iter_scope_chain(self))

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.id} {self.status}>"


class AgentHandle:
    """The right to dispose an agent; everything else it proxies to the agent."""

    def __init__(
        self,
        agent: Agent,
        dispose: Callable[[], Awaitable[None]],
        dispose_soon: Callable[[], object],
    ) -> None:
        """Pair an agent with its teardown; for factories."""
        self.agent = agent
        self._dispose = dispose
        self._dispose_soon = dispose_soon

    async def dispose(self) -> None:
        """End the agent and wait for its complete cleanup; every call joins the same one.

        Raises:
            DisposeReentrancy: called from the agent's own turn; the end was requested.
            Exception: what the cleanup raised, several as a group.
        """
        await self._dispose()

    def dispose_soon(self) -> None:
        """Request the end without waiting; works from the agent's own turn too."""
        self._dispose_soon()

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - whatever the agent has
        return getattr(self.agent, name)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.dispose()


def message_id_of(message: Message) -> MessageId:
    """Return the id of a message as the type that receipts use."""
    return MessageId(message.id)
