"""The agent of this loop: deliveries in, turns out."""

from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Mapping
from contextlib import asynccontextmanager, contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

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
from harness.llm import LlmService, Message
from harness.session import Session, SessionEvent, SessionStore, TurnTrigger
from harness.system_prompt import SystemPrompt
from harness.tools import ToolRegistry
from harness.wire import Json
from harness_plugins.agent_loop.admission import check_fact, check_message, make_message
from harness_plugins.agent_loop.asking import tell
from harness_plugins.agent_loop.attempt import Attempt
from harness_plugins.agent_loop.buffer import InjectedContext, LogBuffer
from harness_plugins.agent_loop.config import AgentLoopConfig
from harness_plugins.agent_loop.driver import Activity, Driver
from harness_plugins.agent_loop.inbox import Inbox, InboxEntry
from harness_plugins.agent_loop.maintenance import MaintenanceTurn
from harness_plugins.agent_loop.request import RequestMaker
from harness_plugins.agent_loop.runtime_context import RuntimeContext
from vendor_shims.cordis import AbortSignal, Emit, current_fiber

if TYPE_CHECKING:
    from harness_plugins.agent_loop.service import AgentLoop

T = TypeVar("T")


class ReactLoopAgent(Agent):
    """Drive a session in turns: prompt, answer, tools, answer, until nothing asks for more.

    An idle agent has no task. A waking delivery starts a driver, which ends when nothing is left.

    Invariants: at most one activity at a time; `status` is running while a driver is; `is_woken`
    says that the end of the activity, or of the hold, starts a driver; after `begin_disposal`
    nothing is taken in any more.
    """

    def __init__(self, session: Session, options: AgentOptions, loop: "AgentLoop") -> None:
        """Make an idle agent; the factory gives it its scope and publishes it."""
        self.session = session
        self.options = options
        self.loop = loop
        self.loop_ctx = loop.ctx
        self.llm: LlmService = loop.ctx.llm
        self.sessions: SessionStore = loop.ctx.sessions
        self.system_prompt: SystemPrompt = loop.ctx.system_prompt
        self.tools: ToolRegistry = loop.ctx.tools
        self.buffer = LogBuffer(self)
        self.requests = RequestMaker(self)
        self.runtime_context = RuntimeContext(session)
        self.attempt: Attempt | None = None
        self.n_attempts = 0
        self.revision = 0
        self.is_woken = False
        self.is_unbalanced = False
        self.maintenance: MaintenanceTurn | None = None
        self._inbox = Inbox(self, is_durable=self.config.durable_inbox)
        self._status = AgentStatus.IDLE
        self._activity: Activity | None = None
        self._is_held = True
        self._is_disposing = False

    # -- state -------------------------------------------------------------------------------

    @property
    def config(self) -> AgentLoopConfig:
        """How the loop is configured now."""
        return self.loop.config

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

    @property
    def is_driven(self) -> bool:
        """Whether a driver runs."""
        return self._activity is not None and not self._activity.is_maintenance

    @property
    def is_turn_coming(self) -> bool:
        """Whether a driver runs with no turn open, so that one may open right away."""
        activity = self._activity
        return activity is not None and not activity.is_maintenance and activity.is_between_turns

    @property
    def is_stopping(self) -> bool:
        """Whether the activity was asked to stop and has not ended."""
        return self._activity is not None and self._activity.signal.aborted

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
        message = make_message(content, source)
        return self.deliver(message, InboxTarget.NEXT_TURN, wakeup=True, delivery=Delivery.PROMPT)

    def steer(
        self, content: Content | Message, *, source: Mapping[str, Any] | None = None
    ) -> EnqueueReceipt:
        """Queue a message for the next step of the open turn; a prompt when none is open."""
        message = make_message(content, source)
        return self.deliver(message, InboxTarget.NEXT_STEP, wakeup=True, delivery=Delivery.STEERING)

    def deliver(
        self, message: Message, target: InboxTarget, *, wakeup: bool, delivery: Delivery
    ) -> EnqueueReceipt:
        """Queue a message; the primitive behind `send` and `steer`."""
        self._require_open()
        check_message(message)
        if wakeup and (not self.is_driven or self.is_turn_coming or self.is_stopping):
            target, delivery = InboxTarget.NEXT_TURN, Delivery.PROMPT
        receipt = EnqueueReceipt(message_id_of(message), target, self._flush)
        was_woken = self.is_woken
        if wakeup and (self._is_held or self.is_stopping or (self.is_busy and not self.is_driven)):
            self.is_woken = True
        try:
            self._inbox.add(target, InboxEntry(message, delivery, receipt))
        except BaseException:
            self.is_woken = was_woken
            raise
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
        message = make_message(content, source)
        check_message(message)
        receipt = EnqueueReceipt(message_id_of(message), "log", self._flush)
        self.buffer.inject(InjectedContext(message, envelope, meta), receipt)
        return receipt

    def annotate(
        self, event_type: str, data: Mapping[str, Any], *, plugin: str | None = None
    ) -> SessionEvent | None:
        """Append a log-only fact, in the open turn or in a one-shot turn."""
        self._require_open()
        check_fact(event_type)
        if plugin is None:
            fiber = current_fiber()
            plugin = "plugin" if fiber is None else fiber.name
        return self.buffer.annotate(event_type, data, plugin)

    def cancel(
        self,
        cause: CancelCause | Mapping[str, Any] | str | None = None,
        *,
        keep_inbox: bool = False,
    ) -> None:
        """Ask the agent to stop what it does."""
        why = cancel_cause(cause)
        if not keep_inbox:
            self.is_woken = False
            if self._inbox.has_pending:
                try:
                    self._inbox.clear("canceled")
                except Exception as error:  # noqa: BLE001 - a listener refused the journal entry
                    self.report(error, where="inbox")
        if self._activity is not None:
            self._activity.abort(why)

    def wake(self) -> None:
        """Take queued prompts up, if there are any and the agent is idle."""
        if self._activity is None:
            if self._inbox.has_prompts and not self.is_unbalanced:
                self._start_driver()
        elif self.is_stopping or not self.is_driven:
            self.is_woken = True

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

    @contextmanager
    def enclosed(self, trigger: TurnTrigger) -> Generator[None]:
        """Append in the open turn, or in one of the block's own; see `Session.enclosed`."""
        session = self.session
        was_open = session.open_turn is not None
        try:
            with session.enclosed(trigger):
                yield
        except Exception as error:
            if not was_open and session.open_turn is not None:
                self.mark_unbalanced(error)
            raise

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
        self.buffer.settle()
        # Listeners of what settled, and of the status, may have started the next activity.
        if not self.is_busy and not self._is_disposing:
            self._set_status(AgentStatus.IDLE)
        if not self.is_busy:
            is_woken, self.is_woken = self.is_woken, False
            if is_woken:
                self.wake()
        activity.done.open()

    async def _flush(self) -> None:
        await self.sessions.flush(self.session)

    def _start_driver(self) -> None:
        if self._is_held or self._is_disposing or self.is_busy:
            return
        activity = self._activity = Activity()
        self._set_status(AgentStatus.RUNNING)
        with initiated_by(None):
            self.ctx.spawn(Driver(self, activity).run, name=f"agent {self.id}", shield=True)

    def _set_status(self, status: AgentStatus) -> None:
        previous, self._status = self._status, status
        if previous is not status:
            self.tell(STATUS, StatusChanged(agent=self, status=status, previous=previous))

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
        if self.is_busy:
            raise AgentBusyError(f"agent {self.id} is not idle; cancel it or wait for when_idle")
        activity = self._activity = Activity(is_maintenance=True)
        try:
            return await task(activity.signal)
        finally:
            self.rest(activity)

    @asynccontextmanager
    async def maintenance_turn(
        self, task: str, *, allow_context: bool = False
    ) -> AsyncGenerator[Callable[[], int]]:
        """Enclose what a maintenance task appends in one turn; see `Agent.maintenance_turn`."""
        activity = self._activity
        if activity is None or not activity.is_maintenance or self.maintenance is not None:
            raise AgentBusyError("a maintenance turn needs run_maintenance, and only one at a time")
        turn = self.maintenance = MaintenanceTurn(self, task, allow_context=allow_context)
        try:
            yield turn.open
        except BaseException as error:
            turn.close(error, activity.signal.cause)
            raise
        turn.close(None, activity.signal.cause)

    # -- the factory's side ------------------------------------------------------------------

    def release(self) -> None:
        """Let deliveries start turns, now that the agent is published."""
        self._is_held = False
        is_woken, self.is_woken = self.is_woken, False
        if is_woken or self.config.resume_pending == "run":
            self.wake()

    def begin_disposal(self) -> None:
        """Take nothing in any more and stop what runs."""
        self._is_disposing = True
        self._inbox.forget()
        self.is_woken = False
        if self._activity is not None:
            self._activity.abort(CancelCause("disposed"))

    def end_disposal(self) -> None:
        """Become disposed, for good; told only of an agent that was published."""
        self.buffer.discard()
        if self._is_held:
            self._status = AgentStatus.DISPOSED
        else:
            self._set_status(AgentStatus.DISPOSED)
