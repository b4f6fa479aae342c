"""The end of an agent: one teardown, shared by everybody who may ask for it."""

import contextvars
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Protocol

from harness.agent import DisposeReentrancy, current_initiator
from harness.scope import Scope, create_scope, scope_of

if TYPE_CHECKING:
    from harness_plugins.agent_loop.agent import ReactLoopAgent
    from harness_plugins.agent_loop.service import AgentLoop
    from vendor_shims.cordis import Context, Effect


class Closable(Protocol):
    """A persistence handle, as far as the teardown knows it."""

    async def close(self) -> None:
        """Drain and release the lease."""
        ...


class Teardown:
    """Take an agent down exactly once; its handle, its owner and its loop may all ask.

    Invariants: it is an effect of the loop's fiber, and joined by the owner's, before there is
    anything to take down; unloading the loop reaches it before the agent's scope, which waits for
    the agent's turn; when it has run, no fiber holds it any more.
    """

    def __init__(
        self, loop: "AgentLoop", owner: "Context", label: str, *, on_begin: Callable[[], None]
    ) -> None:
        """Register the end of an agent to come with the loop and the owner."""
        self._loop = loop
        self._owner = owner
        # Tells the creation to give up; `None` once the agent is published.
        self.on_begin: Callable[[], None] | None = on_begin
        self._agent: ReactLoopAgent | None = None
        self._scope: Scope | None = None
        self.stored: Closable | None = None
        self.detach_session: Callable[[], None] | None = None
        self.detach_agent: Callable[[], None] | None = None
        self._label = label
        self._effect = loop.ctx.effect(lambda: self._run, label, dispose_timeout=None)
        self._joined: list[Effect] = []
        if owner.fiber is not loop.ctx.fiber:
            self._join(owner)
        loop.live[self] = None

    def adopt(self, agent: "ReactLoopAgent") -> None:
        """Give the agent its scope, and take it down from now on."""
        self._agent = agent
        self._scope = create_scope(self._loop.ctx, agent, scope_of(self._owner))
        agent.ctx = self._scope.ctx
        self._join(self._loop.ctx)

    def _join(self, ctx: "Context") -> None:
        self._joined.append(ctx.effect(lambda: self.request, self._label, dispose_timeout=None))

    def request(self) -> Awaitable[None]:
        """Begin the end; the result waits for the rest of it.

        The end runs in a context of its own, because it belongs to nobody who asks for it, least
        of all to a turn of the agent.
        """
        end = contextvars.Context().run(self._effect)
        assert end is not None  # it takes a turn of the event loop at least
        return end

    async def dispose(self) -> None:
        """End the agent and wait for its cleanup; see `AgentHandle.dispose`."""
        end = self.request()
        agent = self._agent
        if agent is not None and agent.is_busy and current_initiator() is agent:
            raise DisposeReentrancy(
                f"agent {agent.id} awaited its own end inside its turn; the end was requested and"
                " follows the turn. Use dispose_soon() there."
            )
        await end

    async def undo_quietly(self) -> None:
        """Undo a creation that failed, without hiding why it did."""
        try:
            await self.dispose()
        except Exception as error:  # noqa: BLE001 - the creation's own failure is on its way
            self._loop.ctx.logger.error(error)

    def _run(self) -> Awaitable[None]:
        """Stop the agent now; the result is the rest of its end."""
        loop = self._loop
        if self.on_begin is not None:
            self.on_begin()
        if self._agent is not None:
            self._agent.begin_disposal()
        if not loop.ctx.fiber.accepts:
            loop.request_all_ends()
        return self._follow()

    async def _follow(self) -> None:
        loop = self._loop
        errors: list[Exception] = []
        if self._agent is not None and self._scope is not None:
            await self._end(self._agent, self._scope, errors)
        del loop.live[self]
        for joined in self._joined:
            joined()
        if errors:
            raise errors[0] if len(errors) == 1 else ExceptionGroup("disposing an agent", errors)

    async def _end(self, agent: "ReactLoopAgent", scope: Scope, errors: list[Exception]) -> None:
        loop = self._loop
        timer = loop.ctx.kernel.clock.call_later(
            loop.config.dispose_grace_s, lambda: self._warn(agent)
        )
        await agent.when_idle()
        timer.cancel()
        await scope.dispose()
        agent.end_disposal()
        for detach in (self.detach_agent, self.detach_session):
            if detach is not None:
                detach()
        failures = scope.ctx.fiber.cleanup_errors
        errors.extend(error for error in failures if isinstance(error, Exception))
        if self.stored is not None:
            try:
                await self.stored.close()
            except Exception as error:  # noqa: BLE001 - raised by the caller, when all is undone
                errors.append(error)

    def _warn(self, agent: "ReactLoopAgent") -> None:
        doing = "a step" if agent.session.open_step is not None else "its turn to end"
        self._loop.ctx.logger.warn(
            "agent %s does not end: it still waits for %s after %s s",
            agent.id,
            doing,
            self._loop.config.dispose_grace_s,
        )
