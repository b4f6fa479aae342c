"""Run one task: open the session, wait for the turn, store it, tell how it ended."""

from collections.abc import Callable
from signal import SIGINT
from typing import TypeVar

from anyio import CancelScope

from harness.agent import ASSISTANT_STREAM, ERROR, Agent, AgentFailed, AssistantStream
from harness.session import SESSION_EVENT, Session, SessionEvent, SessionStore
from harness.session_persistence import (
    PERSISTENCE_DEGRADED,
    PersistenceDegraded,
    SessionPersistence,
)
from harness_plugins.launcher.boot import boot
from harness_plugins.launcher.complaint import Complaint
from harness_plugins.launcher.composition import Composition
from harness_plugins.launcher.ending import Ending, read_ending
from harness_plugins.launcher.errors import CommandError
from harness_plugins.launcher.failures import (
    complaint_of,
    ending_complaint,
    interruption_complaint,
    output_complaint,
    storage_complaint,
)
from harness_plugins.launcher.interruption import SIGNALS, STORAGE, Cause, Interruption
from harness_plugins.launcher.output import Output
from harness_plugins.launcher.run_plan import RunPlan
from harness_plugins.launcher.session_start import (
    Started,
    create_session,
    resume_session,
    was_interrupted,
)
from harness_plugins.launcher.surface import Surface
from vendor_shims.cordis import Context

T = TypeVar("T")
MakeSurface = Callable[[Context, str], Surface]


class Run:
    """Run one task in a tree of plugins that the caller closes.

    Invariants: the surface is opened only after header and first event are stored, and closed
    exactly once after that; `error` is what made the turn fail, if it did.
    """

    def __init__(
        self,
        root: Context,
        plan: RunPlan,
        *,
        output: Output,
        stop: Interruption,
        is_strict: bool = False,
    ) -> None:
        """Prepare a run; `stop` ends it early, `is_strict` wants every row to run."""
        self._root = root
        self._plan = plan
        self._output = output
        self._stop = stop
        self._is_strict = is_strict
        self._defect: Exception | None = None
        self.notes: tuple[str, ...] = ()
        self.error: BaseException | None = None

    async def start(self, composition: Composition) -> Started:
        """Boot, and open the session.

        Raises:
            CommandError: something does not work, or the run was stopped before it began.
        """
        root, plan = self._root, self._plan
        with CancelScope() as scope, self._stop.stage(lambda _: scope.cancel()):
            self.notes = await boot(
                root,
                plan.home,
                composition.composed,
                env=composition.env,
                write_to=composition.write_to,
                is_strict=self._is_strict,
            )
            if plan.options.resume is None:
                return await create_session(root, plan)
            return await resume_session(root, plan, plan.options.resume)
        raise self._stopped()

    async def finish(self, started: Started, surface: Surface) -> Complaint | None:
        """Let the turn run to its end; return why the run is no success, if it is none.

        Raises:
            CommandError: the session cannot be stored, or the task never began.
        """
        agent, session = started.agent, started.agent.session
        first_seq = session.seq
        self._watch(session, surface)
        self._tell_first(session, surface)
        if self._stop.cause is not None:
            raise self._stopped()
        with self._stop.stage(lambda cause: self._cancel(agent, surface, cause)):
            await agent.send(self._plan.task)
            trouble = await self._store(session)
            if trouble is not None:
                self._stop.request(STORAGE)
            elif session.seq > first_seq:
                surface.open(started.opened)
            await agent.when_idle()
        if trouble is not None:
            raise CommandError(self._storage_complaint(trouble, session, status=3)) from trouble
        if session.seq == first_seq:
            raise self._stopped()
        ending = read_ending(session, first_seq)
        complaint = await self._judge(session, ending)
        surface.close(ending, complaint)
        if self._output.failure is not None:
            complaint = output_complaint(self._output.failure)
        if complaint is None:
            return None
        return complaint.with_hint(f"to go on: {self._plan.resume_command(session.id)}")

    async def _judge(self, session: Session, ending: Ending) -> Complaint | None:
        """Return the worst that happened: what was not stored, what was not shown, the turn."""
        trouble = await self._store(session)
        if trouble is not None:
            self.error = trouble
            return self._storage_complaint(trouble, session, status=1)
        if self._defect is not None:
            self.error = self._defect
            return complaint_of(self._defect)
        plan = self._plan
        return ending_complaint(
            ending, self._stop.cause, plan.target.route, max_tokens=plan.max_tokens
        )

    # -- watching ----------------------------------------------------------------------------

    def _watch(self, session: Session, surface: Surface) -> None:
        root = self._root

        def appended(of: Session, event: SessionEvent) -> None:
            if of is session:
                self._show(surface.event, event)

        def streamed(stream: AssistantStream) -> None:
            if stream.agent.session is session:
                self._show(surface.frame, stream.frame)

        def failed(failure: AgentFailed) -> None:
            if failure.agent.session is session:
                self.error = failure.error

        def degraded(news: PersistenceDegraded) -> None:
            if news.session_id == session.id:
                complaint = self._storage_complaint(news.error, session, status=1)
                text = f"the session is not stored for now: {complaint.sentence}"
                self._show(lambda message: surface.note(complaint.code, message), text)

        root.on(SESSION_EVENT, appended)
        root.on(ERROR, failed)
        root.on(PERSISTENCE_DEGRADED, degraded)
        if surface.wants_frames:
            root.on(ASSISTANT_STREAM, streamed)

    def _show(self, show: Callable[[T], None], item: T) -> None:
        """Show something; a defect in showing ends as a complaint, it does not disturb the turn."""
        try:
            show(item)
        except Exception as error:  # noqa: BLE001 - reported when the turn is over
            self._defect = self._defect or error

    def _tell_first(self, session: Session, surface: Surface) -> None:
        if self._plan.target.is_fallback and self._plan.options.resume is None:
            surface.note(
                "OFFLINE",
                "no model is configured, so the offline guide answers; it is no language model."
                " Set DEEPSEEK_API_KEY, or name a server with --base-url",
            )
        if was_interrupted(session):
            surface.note("SESSION_REPAIRED", "the last turn was interrupted; it has been closed")

    # -- ending ------------------------------------------------------------------------------

    def _cancel(self, agent: Agent, surface: Surface, cause: Cause) -> None:
        agent.cancel(cause.cancel)
        if cause is SIGNALS[SIGINT]:
            surface.note("INTERRUPTED", "stopping; Ctrl-C again leaves at once")

    def _stopped(self) -> CommandError:
        assert self._stop.cause is not None, "only a request to stop ends a run before its turn"
        return CommandError(interruption_complaint(self._stop.cause))

    def _storage_complaint(
        self, error: BaseException, session: Session, *, status: int
    ) -> Complaint:
        path = self._root[SessionPersistence].locate(session.header).path
        return storage_complaint(error, status=status, place=path)

    async def _store(self, session: Session) -> Exception | None:
        """Make what was appended durable; return what prevents it."""
        try:
            await self._root[SessionStore].flush(session)
        except Exception as error:  # noqa: BLE001 - whatever a backend raises is told to the user
            return error
        return None
