"""The agent of this loop: deliveries in, turns out."""

from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any, TypeVar

from harness.agent import (
    ERROR,
    STATUS,
    Agent,
    AgentBusyError,
    AgentDisposedError,
    AgentFailed,
    AgentOptions,
    AgentStatus,
    AgentUnbalancedError,
    CancelCause,
    Content,
    Delivery,
    EnqueueReceipt,
    Envelope,
    InboxTarget,
    LiveAttempt,
    StatusChanged,
    cancel_cause,
    initiated_by,
    message_id_of,
)
from harness.llm import LlmService, Message, create_user_message
from harness.session import SURFACE_TYPES, Session, SessionEvent, SessionStore
from harness.system_prompt import SystemPrompt
from harness.tools import ToolRegistry
from harness.wire import Json
from harness_plugins.agent_loop.asking import tell
from harness_plugins.agent_loop.attempt import Attempt
from harness_plugins.agent_loop.buffer import Fact, InjectedContext, LogBuffer
from harness_plugins.agent_loop.config import AgentLoopConfig
from harness_plugins.agent_loop.driver import Activity, Driver
from harness_plugins.agent_loop.inbox import Inbox, InboxEntry
from harness_plugins.agent_loop.maintenance import MaintenanceTurn
from harness_plugins.agent_loop.request import RequestMaker
from harness_plugins.agent_loop.runtime_context import RuntimeContext
from vendor_shims.cordis import AbortSignal, Context, Emit, current_fiber

T = TypeVar("T")


class ReactLoopAgent(Agent):
    """Drive a session in turns: prompt, answer, tools, answer, until nothing asks for more.

    An idle agent has no task. A waking delivery starts a driver, which ends when nothing is left.

    Invariants: at most one activity at a time; `status` is running exactly while a driver is;
    after `begin_disposal` nothing is taken in any more.
    """

    def __init__(
        self, session: Session, options: AgentOptions, config: AgentLoopConfig, loop_ctx: Context
    ) -> None:
        """Make an idle agent; the factory gives it its scope and publishes it."""
        self.session = session
        self.options = options
        self.config = config
        self.loop_ctx = loop_ctx
        self.llm: LlmService = loop_ctx.llm
        self.sessions: SessionStore = loop_ctx.sessions
        self.system_prompt: SystemPrompt = loop_ctx.system_prompt
        self.tools: ToolRegistry = loop_ctx.tools
        self.buffer = LogBuffer(self)
        self.requests = RequestMaker(self)
        self.runtime_context = RuntimeContext(session)
        self.attempt: Attempt | None = None
        self.n_attempts = 0
        self.revision = 0
        self.is_woken = False
        self.is_unbalanced = False
        self.is_held = True
        self._inbox = Inbox(self, is_durable=config.durable_inbox)
        self._status = AgentStatus.IDLE
        self._activity: Activity | None = None
        self._maintenance: MaintenanceTurn | None = None
        self._is_disposing = False

    # -- state -------------------------------------------------------------------------------

    @property
    def status(self) -> AgentStatus:
        """What the agent does, as others see it."""
        return self._status

    @property
    def inbox(self) -> Inbox:
        """What the agent has not taken up yet."""
        return self._inbox

    @property
    def is_busy(self) -> bool:
        """Whether a driver or maintenance runs."""
        return self._activity is not None

    def live_attempt(self) -> LiveAttempt | None:
        """Return the answer that is streaming now, for observers that join late."""
        return None if self.attempt is None else self.attempt.live()

    def next_revision(self) -> int:
        """Return the number of the next frame."""
        revision = self.revision
        self.revision += 1
        return revision

    # -- deliveries --------------------------------------------------------------------------

    def send(
        self, content: Content | Message, *, source: Mapping[str, Any] | None = None
    ) -> EnqueueReceipt:
        """Queue a prompt for a turn of its own and wake the agent."""
        return self.deliver(
            _message(content, source),
            InboxTarget.NEXT_TURN,
            wakeup=True,
            delivery=Delivery.PROMPT,
        )

    def steer(
        self, content: Content | Message, *, source: Mapping[str, Any] | None = None
    ) -> EnqueueReceipt:
        """Queue a message for the next step of the open turn; a prompt when none is open."""
        activity = self._activity
        if activity is None or activity.is_maintenance or activity.is_between_turns:
            return self.send(content, source=source)
        return self.deliver(
            _message(content, source),
            InboxTarget.NEXT_STEP,
            wakeup=True,
            delivery=Delivery.STEERING,
        )

    def deliver(
        self, message: Message, target: InboxTarget, *, wakeup: bool, delivery: Delivery
    ) -> EnqueueReceipt:
        """Queue a message; the primitive behind `send` and `steer`."""
        self._require_open()
        if not message.content:
            raise ValueError(f"message {message.id!r} has no content")
        is_late = wakeup and self._activity is not None and self._activity.signal.aborted
        if is_late:
            target, delivery = InboxTarget.NEXT_TURN, Delivery.PROMPT
            self.is_woken = True
        receipt = EnqueueReceipt(message_id_of(message), target, self._flush)
        self._inbox.add(target, InboxEntry(message, delivery, receipt))
        if wakeup:
            self._start_driver()
        return receipt

    def inject(
        self,
        content: Content | Message,
        *,
        source: Mapping[str, Any],
        envelope: Envelope = "context",
        meta: Json = None,
    ) -> EnqueueReceipt:
        """Add context for the next request without waking the agent."""
        self._require_open()
        message = _message(content, source)
        if not message.content:
            raise ValueError(f"message {message.id!r} has no content")
        receipt = EnqueueReceipt(message_id_of(message), "log", self._flush)
        self.buffer.hold_context(InjectedContext(message, envelope, meta, receipt))
        self.session.after_publication(self._settle_buffer)
        return receipt

    def annotate(
        self, event_type: str, data: Mapping[str, Any], *, plugin: str | None = None
    ) -> SessionEvent | None:
        """Append a log-only fact, in the open turn or in a one-shot turn."""
        self._require_open()
        if event_type in SURFACE_TYPES:
            raise ValueError(f"{event_type!r} is a surface type; use inject")
        fiber = current_fiber()
        fact = Fact(event_type, data, plugin or ("plugin" if fiber is None else fiber.name))
        if self.session.is_publishing or self._is_turn_coming():
            self.buffer.hold_fact(fact)
            self.session.after_publication(self._settle_buffer)
            return None
        if self._maintenance is not None:
            self._maintenance.open()
        return self.buffer.append_fact(fact)

    def cancel(
        self,
        cause: CancelCause | Mapping[str, Any] | str | None = None,
        *,
        keep_inbox: bool = False,
    ) -> None:
        """Ask the agent to stop what it does."""
        why = cancel_cause(cause)
        if not keep_inbox and self._inbox.has_pending:
            self._inbox.clear("canceled")
        if not keep_inbox:
            self.is_woken = False
        if self._activity is not None:
            self._activity.abort(why)

    def wake(self) -> None:
        """Take queued prompts up, if there are any and the agent is idle."""
        if self._activity is not None:
            if self._activity.signal.aborted or self._activity.is_maintenance:
                self.is_woken = True
        elif self._inbox.has_prompts and not self._is_disposing:
            self._start_driver()

    async def when_idle(self) -> None:
        """Wait until the agent rests; observing it only."""
        while self._activity is not None:
            await self._activity.done

    # -- the driver's side -------------------------------------------------------------------

    def tell(self, event: Emit[[T]], payload: T) -> None:
        """Notify listeners of something that happened to the agent."""
        tell(self, event, payload)

    def report(self, error: BaseException, *, where: str, step: int = 0) -> None:
        """Log a contained failure and tell of it."""
        self.loop_ctx.logger.error(error)
        self.tell(
            ERROR,
            AgentFailed(
                agent=self, turn=self.session.last_turn, step=step, error=error, where=where
            ),
        )

    def mark_unbalanced(self, error: BaseException) -> None:
        """Refuse deliveries from now on, because a turn could not be closed."""
        self.is_unbalanced = True
        self.report(error, where="turn-end")

    def wants_turn(self, *, aborted: bool, failed: bool) -> bool:
        """Return whether another turn follows the one that just ended."""
        if self._is_disposing or not self._inbox.has_prompts:
            return False
        if aborted:
            return self.is_woken
        return not (failed and self.config.stop_on_error)

    def rest(self, activity: Activity) -> None:
        """Leave an activity: become idle, and start again if something came in meanwhile."""
        self._activity = None
        self._settle_buffer()
        if not self._is_disposing:
            self._set_status(AgentStatus.IDLE)
            if self.is_woken and self._inbox.has_prompts:
                self._start_driver()
        activity.done.open()

    def settle_inbox(self) -> None:
        """Bring the inbox's journal up to date, once that is possible."""
        if self.session.open_turn is not None and not self.session.is_publishing:
            self._inbox.settle_debt()

    def _start_driver(self) -> None:
        if self.is_held or self._activity is not None:
            return
        activity = self._activity = Activity()
        self._set_status(AgentStatus.RUNNING)
        with initiated_by(None):
            self.ctx.spawn(Driver(self, activity).run, name=f"agent {self.id}", shield=True)

    def _set_status(self, status: AgentStatus) -> None:
        previous, self._status = self._status, status
        if previous is not status:
            self.tell(STATUS, StatusChanged(agent=self, status=status, previous=previous))

    def _is_turn_coming(self) -> bool:
        """Return whether a driver runs with no turn open, so that one may open right away."""
        activity = self._activity
        return activity is not None and not activity.is_maintenance and activity.is_between_turns

    def _settle_buffer(self) -> None:
        """Append what is held, if this is a place for it."""
        if self._is_turn_coming() or self.is_unbalanced:
            return
        maintenance = self._maintenance
        if maintenance is not None and maintenance.allow_context:
            maintenance.open()
        if self._activity is None:
            self.buffer.settle_idle()
        elif self.session.open_turn is not None:
            self.buffer.drain_facts()
            if self.session.open_step is None and (
                maintenance is None or maintenance.allow_context
            ):
                self.buffer.drain_contexts()

    async def _flush(self) -> None:
        await self.sessions.flush(self.session)

    def _require_open(self) -> None:
        if self._is_disposing:
            raise AgentDisposedError(f"agent {self.id} is disposed")
        if self.is_unbalanced:
            raise AgentUnbalancedError(
                f"the log of agent {self.id} could not be closed; dispose it and resume the session"
            )

    # -- maintenance -------------------------------------------------------------------------

    async def run_maintenance(self, task: Callable[[AbortSignal], Awaitable[T]]) -> T:
        """Run `task(signal)` while the agent is held idle; deliveries wait."""
        self._require_open()
        if self._activity is not None:
            raise AgentBusyError(f"agent {self.id} is not idle; cancel it or wait for when_idle")
        activity = self._activity = Activity(is_maintenance=True)
        try:
            return await task(activity.signal)
        finally:
            self.is_woken = self.is_woken or self._inbox.has_prompts
            self.rest(activity)

    @asynccontextmanager
    async def maintenance_turn(
        self, task: str, *, allow_context: bool = False
    ) -> AsyncGenerator[None]:
        """Enclose what a maintenance task appends in one turn, opened at the first append."""
        activity = self._activity
        if activity is None or not activity.is_maintenance or self._maintenance is not None:
            raise AgentBusyError("a maintenance turn needs run_maintenance, and only one at a time")
        turn = self._maintenance = MaintenanceTurn(self.session, task, allow_context=allow_context)
        try:
            yield
        except BaseException as error:
            turn.close(error, activity.signal.cause)
            raise
        else:
            turn.close(None, activity.signal.cause)
        finally:
            self._maintenance = None

    # -- the factory's side ------------------------------------------------------------------

    def release(self) -> None:
        """Let deliveries start turns, now that the agent is published."""
        self.is_held = False
        if self._inbox.has_prompts and (self.is_woken or self._has_deliveries()):
            self._start_driver()

    def _has_deliveries(self) -> bool:
        if self.config.resume_pending == "run":
            return True
        return any(entry.receipt is not None for entry in self._inbox.snapshot())

    def begin_disposal(self) -> None:
        """Take nothing in any more and stop what runs."""
        self._is_disposing = True
        self._inbox.forget()
        self.is_woken = False
        if self._activity is not None:
            self._activity.abort(CancelCause("disposed"))

    def end_disposal(self) -> None:
        """Become disposed, for good."""
        self.buffer.discard()
        self._set_status(AgentStatus.DISPOSED)


def _message(content: Content | Message, source: Mapping[str, Any] | None) -> Message:
    if isinstance(content, Message):
        return content
    return create_user_message(content, source=source or {"kind": "user"})
