"""The end of an agent: one teardown, shared by everybody who may ask for it."""

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Protocol

from harness.agent import DisposeReentrancy, current_initiator
from harness.scope import create_scope, scope_of

if TYPE_CHECKING:
    from harness_plugins.agent_loop.agent import ReactLoopAgent
    from harness_plugins.agent_loop.service import AgentLoop
    from vendor_shims.cordis import Context


class Closable(Protocol):
    """A persistence handle, as far as the teardown knows it."""

    async def close(self) -> None:
        """Drain and release the lease."""
        ...


class Teardown:
    """Take an agent down exactly once; its handle, its owner and its loop may all ask.

    Invariants: it is an effect of the loop's fiber and of the owner's fiber from the start; when
    it has run, neither holds it any more.
    """

    def __init__(
        self,
        loop: "AgentLoop",
        agent: "ReactLoopAgent",
        owner: "Context",
        *,
        on_begin: Callable[[], None],
    ) -> None:
        """Give the agent its scope, and register its end with the loop and the owner."""
        self._loop = loop
        self._agent = agent
        self._on_begin = on_begin
        self.stored: Closable | None = None
        self.detach_session: Callable[[], None] | None = None
        self.detach_agent: Callable[[], None] | None = None
        label = f"agent {agent.id}"
        parent = scope_of(owner)
        self._scope = create_scope(loop.ctx, agent, parent)
        agent.ctx = self._scope.ctx
        self._effect = loop.ctx.effect(lambda: self._run, label, dispose_timeout=None)
        self._owned = None
        if owner.fiber is not loop.ctx.fiber:
            self._owned = owner.effect(lambda: self._request, label, dispose_timeout=None)
        loop.live[agent.id] = self

    def request(self) -> None:
        """Begin the end without waiting for it."""
        self._effect()

    def _request(self) -> Awaitable[None] | None:
        return self._effect()

    async def dispose(self) -> None:
        """End the agent and wait for its cleanup; see `AgentHandle.dispose`."""
        pending = self._effect()
        if current_initiator() is self._agent and self._agent.is_busy:
            raise DisposeReentrancy(
                f"agent {self._agent.id} awaited its own end inside its turn; the end was"
                " requested and follows the turn. Use dispose_soon() there."
            )
        if pending is not None:
            await pending

    async def undo_quietly(self) -> None:
        """Undo a creation that failed, without hiding why it did."""
        try:
            await self.dispose()
        except Exception as error:  # noqa: BLE001 - the creation's own failure is on its way
            self._loop.ctx.logger.error(error)

    async def _run(self) -> None:
        agent, loop = self._agent, self._loop
        self._on_begin()
        agent.begin_disposal()
        if not loop.ctx.fiber.accepts:
            loop.request_all_ends()
        errors: list[Exception] = []
        timer = loop.ctx.fiber.tree.clock.call_later(loop.config.dispose_grace_s, self._warn)
        await agent.when_idle()
        timer.cancel()
        await self._scope.dispose()
        agent.end_disposal()
        for detach in (self.detach_agent, self.detach_session):
            if detach is not None:
                detach()
        if self.stored is not None:
            try:
                await self.stored.close()
            except Exception as error:  # noqa: BLE001 - raised below, after everything is undone
                errors.append(error)
        del loop.live[agent.id]
        if self._owned is not None:
            self._owned()
        errors.extend(self._scope_errors())
        if errors:
            raise errors[0] if len(errors) == 1 else ExceptionGroup("disposing an agent", errors)

    def _scope_errors(self) -> list[Exception]:
        return [
            error for error in self._scope.ctx.fiber.cleanup_errors if isinstance(error, Exception)
        ]

    def _warn(self) -> None:
        agent = self._agent
        doing = "a step" if agent.session.open_step is not None else "its turn to end"
        self._loop.ctx.logger.warn(
            "agent %s does not end: it still waits for %s after %s s",
            agent.id,
            doing,
            self._loop.config.dispose_grace_s,
        )
