"""Make agents, publish them, and take them down again, whoever asks first."""

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeVar

import attrs

from harness.agent import (
    SESSION_START,
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
from harness_plugins.agent_loop.asking import tell
from harness_plugins.agent_loop.teardown import Teardown
from vendor_shims.cordis import AbortController, AbortSignal, Context, run_abortable

if TYPE_CHECKING:
    from harness.session_persistence import SessionPersistence
    from harness_plugins.agent_loop.service import AgentLoop

T = TypeVar("T")


class StoredHandle(Protocol):
    """What the teardown needs of a persistence handle."""

    async def close(self) -> None:
        """Drain and release the lease."""
        ...


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
        sources = [self._gone.signal]
        if signal is not None:
            sources.append(signal)
        self._signal = AbortSignal.any(sources)

    async def create(self, options: CreateAgentOptions) -> AgentHandle:
        """Make a new session and its agent."""
        self._check()
        meta = attrs.asdict(options.meta, filter=lambda _, value: value is not None)
        session = self._loop.ctx.sessions.prepare(options.session_id, seed=options.seed, meta=meta)
        agent = self._build(session, options)
        teardown = self._guard(agent)
        try:
            persistence = self._persistence()
            if persistence is not None:
                handle = await self._race(
                    lambda: persistence.create(
                        session.header, inherited_event_count=len(options.seed or ())
                    )
                )
                teardown.stored = handle
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
        if self._loop.ctx.sessions.get(session_id) is not None:
            raise SessionAlreadyLive(f"session {session_id} is live already")
        preparation = await self._race(lambda: persistence.prepare_resume(session_id))
        try:
            session = self._loop.ctx.sessions.prepare(
                seed=preparation.events, header=preparation.header
            )
            agent = self._build(session, options)
            inherited = preparation.header.seed_length or 0
            agent.inbox.restore(session.events_from(inherited))
        except BaseException:
            await preparation.release()
            raise
        teardown = self._guard(agent)
        teardown.stored = preparation.handle
        try:
            return await self._finish(agent, teardown, options.setup, "resume")
        except BaseException:
            await teardown.undo_quietly()
            raise

    # -- the common way ----------------------------------------------------------------------

    def _build(
        self, session: Session, options: CreateAgentOptions | ResumeAgentOptions
    ) -> ReactLoopAgent:
        return ReactLoopAgent(session, options.agent_options, self._loop.config, self._loop.ctx)

    def _guard(self, agent: ReactLoopAgent) -> Teardown:
        return Teardown(self._loop, agent, self._owner, on_begin=self._abandon)

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
        return AgentHandle(agent, teardown.dispose, teardown.request)

    def _publish(
        self, agent: ReactLoopAgent, teardown: Teardown, source: Literal["startup", "resume"]
    ) -> None:
        """Enter and announce; a veto or the loss of an owner unwinds what was entered."""
        ctx = self._loop.ctx
        sessions = agent.ctx.sessions
        owner = current_initiator() or scope_of(self._owner)
        teardown.detach_session = sessions.enter(agent.session)
        teardown.detach_agent = ctx.agents.enter(
            agent, owner if isinstance(owner, ReactLoopAgent) else None
        )
        for announce in (
            lambda: sessions.announce(agent.session),
            lambda: ctx.agents.announce(agent),
            lambda: tell(agent, SESSION_START, SessionStarted(agent=agent, source=source)),
        ):
            announce()
            self._check()
        agent.release()

    def _persistence(self) -> "SessionPersistence | None":
        return self._loop.ctx.get("session_persistence")

    def _abandon(self) -> None:
        if not self._loop.ctx.fiber.accepts:
            self._gone.abort(LoopInactiveError("the agent loop unloads"))
        else:
            self._gone.abort(SetupAbortedError("the owner of the agent went away during setup"))

    def _check(self) -> None:
        if not self._loop.ctx.fiber.accepts:
            raise LoopInactiveError("the agent loop is not active")
        self._raise_if_unwanted()

    def _raise_if_unwanted(self) -> None:
        if self._signal.aborted:
            reason: Any = self._signal.reason
            if isinstance(reason, (SetupAbortedError, LoopInactiveError)):
                raise reason
            raise SetupAbortedError(f"the creation was aborted: {reason}")

    async def _race(self, work: Callable[[], Awaitable[T]]) -> T:
        """Await `work()` unless the creation is not wanted any more."""
        self._raise_if_unwanted()
        try:
            return await run_abortable(self._signal, work)
        except BaseException:
            self._raise_if_unwanted()
            raise
