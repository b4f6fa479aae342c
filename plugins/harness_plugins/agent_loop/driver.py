"""The driver: runs turns while there is something to take up, then lets the agent rest."""

from typing import TYPE_CHECKING

from harness.agent import CancelCause, initiated_by
from harness.session import SESSION_FLUSH
from harness_plugins.agent_loop.shielded import finish
from harness_plugins.agent_loop.signal import TurnSignal
from harness_plugins.agent_loop.turn import Turn
from vendor_shims.cordis import AbortController, Latch

if TYPE_CHECKING:
    from harness_plugins.agent_loop.agent import ReactLoopAgent


class Activity:
    """Something that keeps an agent from being idle: a driver, or maintenance.

    Invariants: `signal` is that of the running turn or task; `done` opens when the agent has left
    the activity.
    """

    def __init__(self, *, is_maintenance: bool = False) -> None:
        """Begin, with a signal that nobody has fired."""
        self.is_maintenance = is_maintenance
        self.is_between_turns = True
        self.done = Latch()
        self._controller = AbortController(TurnSignal)

    @property
    def signal(self) -> TurnSignal:
        """The signal of what runs now."""
        return self._controller.signal

    def abort(self, cause: CancelCause) -> None:
        """Stop what runs now; the first cause stands."""
        self._controller.abort(cause)

    def renew(self) -> None:
        """Give the next turn a signal of its own."""
        self._controller = AbortController(TurnSignal)


class Driver:
    """Run the turns of one activity, from the waking call to rest."""

    def __init__(self, agent: "ReactLoopAgent", activity: Activity) -> None:
        """Drive `agent`."""
        self._agent = agent
        self._activity = activity

    async def run(self) -> None:
        """Run turns until nothing is wanted; contains every failure but host cancellation."""
        agent = self._agent
        try:
            with initiated_by(agent):
                while await self._run_turn():
                    self._activity.renew()
        finally:
            agent.rest(self._activity)

    async def _run_turn(self) -> bool:
        """Run one turn; returns whether another is wanted."""
        agent, activity = self._agent, self._activity
        if activity.signal.aborted:
            return agent.wants_turn(aborted=True, failed=False)
        turn = Turn(agent, activity.signal)
        agent.is_woken = False
        activity.is_between_turns = False
        try:
            await turn.run()
        except Exception as error:  # noqa: BLE001 - only a refused turn/start leaves a turn
            agent.report(error, where="turn-start")
            return False
        except BaseException:
            await self._flush(agent.config.shutdown_flush_s)
            raise
        finally:
            activity.is_between_turns = True
        await self._flush(agent.config.flush_timeout_s)
        has_failed = turn.outcome.has_failed
        if agent.is_unbalanced or (has_failed and not turn.has_claimed):
            return False  # the same would happen again
        agent.inbox.requeue_steering()
        return agent.wants_turn(aborted=activity.signal.aborted, failed=has_failed)

    async def _flush(self, timeout_s: float) -> None:
        """Make the turn durable; a failure is reported, the backend keeps what it has."""
        agent = self._agent
        ctx = agent.loop_ctx
        if not ctx.events.has_listeners(SESSION_FLUSH, agent.session):
            return
        error: Exception | None
        try:
            flushing = agent.sessions.flush(agent.session)
            is_flushed = await finish(ctx, flushing, timeout_s=timeout_s)
            late = TimeoutError(f"the session was not durable after {timeout_s} s")
            error = None if is_flushed else late
        except Exception as failure:  # noqa: BLE001 - a turn is over; its log stays with the backend
            error = failure
        if error is not None:
            agent.report(error, where="flush")
