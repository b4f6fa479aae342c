"""Make agents, and publish them; a creation that is given up leaves nothing behind."""

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import attrs

from harness.agent import (
    SESSION_START,
    Agent,
    AgentHandle,
    CreateAgentOptions,
    LoopInactiveError,
    ResumeAgentOptions,
    ResumeUnavailable,
    SessionAlreadyLive,
    SessionStarted,
    Setup,
    SetupAbortedError,
    current_initiator,
)
from harness.scope import scope_of
from harness.session import Session
from harness_plugins.agent_loop.agent import ReactLoopAgent
from harness_plugins.agent_loop.teardown import Teardown
from vendor_shims.cordis import AbortController, AbortSignal, Context, run_abortable

if TYPE_CHECKING:
    from harness.session_persistence import SessionPersistence
    from harness_plugins.agent_loop.service import AgentLoop

T = TypeVar("T")


class Creation:
    """One creation, from its request to the published agent.

    Invariants: the teardown is registered before anything that it must undo; a creation that
    fails or is given up leaves nothing in any registry.
    """

    def __init__(self, loop: "AgentLoop", owner: Context, signal: AbortSignal | None) -> None:
        """Begin a creation on behalf of `owner`."""
        self._loop = loop
        self._owner = owner
        self._gone = AbortController()
        gone = self._gone.signal
        self._signal = gone if signal is None else AbortSignal.any((gone, signal))

    async def create(self, options: CreateAgentOptions) -> AgentHandle:
        """Make a new session and its agent."""
        self._check()
        meta = attrs.asdict(options.meta, filter=lambda _, value: value is not None)
        n_inherited = len(options.seed or ())
        if n_inherited:
            meta.setdefault("seed_length", n_inherited)
        session = self._loop.ctx.sessions.prepare(options.session_id, seed=options.seed, meta=meta)
        teardown = self._teardown(session.id)
        try:
            agent = self._build(session, options, teardown)
            persistence = self._persistence()
            if persistence is not None:
                teardown.stored = await self._race(
                    lambda: persistence.create(session.header, inherited_event_count=n_inherited),
                    lambda handle: handle.close(),
                )
            return await self._finish(agent, teardown, options.setup, "startup")
        except BaseException:
            await teardown.undo_quietly()
            raise

    async def resume(self, options: ResumeAgentOptions) -> AgentHandle:
        """Take a stored session up again; its interrupted turn is closed by then."""
        self._check()
        session_id = options.resume_session_id
        persistence = self._persistence()
        if persistence is None:
            raise ResumeUnavailable(
                f"session {session_id} cannot be resumed: no persistence service is configured"
            )
        sessions = self._loop.ctx.sessions
        if sessions.get(session_id) is not None:
            raise SessionAlreadyLive(f"session {session_id} is live already")
        teardown = self._teardown(session_id)
        try:
            preparation = await self._race(
                lambda: persistence.prepare_resume(session_id),
                lambda preparation: preparation.release(),
            )
            teardown.stored = preparation.handle
            session = sessions.prepare(seed=preparation.events, header=preparation.header)
            agent = self._build(session, options, teardown)
            agent.inbox.restore(session.events_from(preparation.header.seed_length or 0))
            return await self._finish(agent, teardown, options.setup, "resume")
        except BaseException:
            await teardown.undo_quietly()
            raise

    # -- the common way ----------------------------------------------------------------------

    def _teardown(self, session_id: str) -> Teardown:
        return Teardown(self._loop, self._owner, f"agent {session_id}", on_begin=self._abandon)

    def _build(
        self,
        session: Session,
        options: CreateAgentOptions | ResumeAgentOptions,
        teardown: Teardown,
    ) -> ReactLoopAgent:
        agent = ReactLoopAgent(session, options.agent_options, self._loop)
        teardown.adopt(agent)
        return agent

    async def _finish(
        self,
        agent: ReactLoopAgent,
        teardown: Teardown,
        setup: Setup | None,
        source: Literal["startup", "resume"],
    ) -> AgentHandle:
        commit = None
        if setup is not None:
            commit = await self._race(lambda: setup(agent.ctx))
        self._check()
        if commit is not None:
            commit.commit()
        self._publish(agent, teardown, source)
        teardown.on_begin = None  # nothing is left to give up, nor to keep for that
        return AgentHandle(agent, teardown.dispose, teardown.request)

    def _publish(
        self, agent: ReactLoopAgent, teardown: Teardown, source: Literal["startup", "resume"]
    ) -> None:
        """Enter and announce; a veto or the loss of an owner unwinds what was entered."""
        agents = self._loop.ctx.agents
        sessions = agent.ctx.sessions
        owner = current_initiator() or scope_of(self._owner)
        teardown.detach_session = sessions.enter(agent.session)
        teardown.detach_agent = agents.enter(agent, owner if isinstance(owner, Agent) else None)
        sessions.announce(agent.session)
        self._check()
        agents.announce(agent)
        self._check()
        agent.tell(SESSION_START, SessionStarted(agent=agent, source=source))
        self._check()
        agent.release()

    def _persistence(self) -> "SessionPersistence | None":
        return self._loop.ctx.get("session_persistence")

    # -- giving up ---------------------------------------------------------------------------

    def _abandon(self) -> None:
        if not self._loop.ctx.fiber.accepts:
            self._gone.abort(LoopInactiveError("the agent loop is not active: it unloads"))
        else:
            self._gone.abort(SetupAbortedError("the owner was disposed during setup"))

    def _check(self) -> None:
        if not self._loop.ctx.fiber.accepts:
            raise LoopInactiveError("the agent loop is not active")
        if not self._owner.fiber.accepts:
            raise SetupAbortedError("the owner was disposed during setup")
        if self._signal.aborted:
            reason: Any = self._signal.reason
            if isinstance(reason, (SetupAbortedError, LoopInactiveError)):
                raise reason
            raise SetupAbortedError(f"the creation was aborted: {reason}")

    async def _race(
        self,
        work: Callable[[], Awaitable[T]],
        release: Callable[[T], Awaitable[object]] | None = None,
    ) -> T:
        """Await `work()` unless the creation is not wanted any more; `release` a late result."""
        self._check()
        try:
            result = await run_abortable(self._signal, work)
        except Exception:
            self._check()
            raise
        if self._signal.aborted and release is not None:
            await release(result)
        self._check()
        return result
