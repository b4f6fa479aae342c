"""The service `ctx.agents`: which agents are live, and who makes new ones."""

from collections.abc import Callable
from functools import partial
from typing import Protocol

import attrs

from harness.agent.agent import Agent, AgentHandle
from harness.agent.errors import (
    AgentExistsError,
    FactoryConflictError,
    NoAgentFactoryError,
)
from harness.agent.events import CREATED, DISPOSED
from harness.agent.types import CreateAgentOptions, ResumeAgentOptions
from vendor_shims.cordis import Context, Effect, Service


class AgentFactory(Protocol):
    """Makes agents; an agent loop provides it."""

    async def create(self, options: CreateAgentOptions, *, owner: Context) -> AgentHandle:
        """Make a new agent that ends with `owner`'s fiber."""
        ...

    async def resume(self, options: ResumeAgentOptions, *, owner: Context) -> AgentHandle:
        """Make an agent over a stored session that ends with `owner`'s fiber."""
        ...


@attrs.define(eq=False)
class AgentEntry:
    """An agent in the registry, and on whose behalf it is there."""

    agent: Agent
    owner: Agent | None
    is_announced: bool = False
    is_announcing: bool = False
    is_detached: bool = False
    wants_detach: bool = False


class AgentRegistry(Service):
    """Hold the live agents of a tree and the one factory that makes them.

    Invariants: an entry's id is its agent's session id; `agent/disposed` follows exactly the
    entries whose announcement began.
    """

    key = "agents"

    def __init__(self, ctx: Context) -> None:
        """Start without agents and without a factory."""
        super().__init__(ctx)
        self._entries: dict[str, AgentEntry] = {}
        self._factory: AgentFactory | None = None

    def set_factory(self, factory: AgentFactory) -> Effect:
        """Let `factory` make agents until the calling plugin ends.

        Raises:
            FactoryConflictError: there is one already.
        """

        def body() -> Callable[[], None]:
            if self._factory is not None:
                raise FactoryConflictError("an agent loop is mounted already; unload it first")
            self._factory = factory
            return forget

        def forget() -> None:
            self._factory = None

        return self.caller.effect(body, "ctx.agents.set_factory()")

    async def create(self, options: CreateAgentOptions | None = None) -> AgentHandle:
        """Make a new agent; it ends with the handle, the calling plugin, or the loop.

        Raises:
            NoAgentFactoryError: no agent loop is mounted.
            SetupAbortedError, LoopInactiveError: it is not wanted any more.
            Exception: what the set-up or a listener of the creation raised; nothing is left.
        """
        return await self._require_factory().create(
            options or CreateAgentOptions(), owner=self.caller
        )

    async def resume(self, options: ResumeAgentOptions) -> AgentHandle:
        """Make an agent over a stored session; raises as `create`, and for unknown sessions."""
        return await self._require_factory().resume(options, owner=self.caller)

    def get(self, agent_id: str) -> Agent | None:
        """Return a live agent."""
        entry = self._entries.get(agent_id)
        return None if entry is None else entry.agent

    def list(self) -> list[Agent]:
        """Return the live agents, in the order they entered; a fresh list."""
        return [entry.agent for entry in self._entries.values()]

    def roots(self) -> "list[Agent]":
        """Return the live agents that no agent owns."""
        return [entry.agent for entry in self._entries.values() if entry.owner is None]

    def is_owned_by(self, agent_id: str, owner: Agent) -> bool:
        """Return whether an agent is there on behalf of `owner`, directly or further down."""
        entry = self._entries.get(agent_id)
        while entry is not None and entry.owner is not None:
            if entry.owner is owner:
                return True
            entry = self._entries.get(entry.owner.id)
        return False

    def enter(self, agent: Agent, owner: Agent | None = None) -> Callable[[], None]:
        """Make an agent findable; returns the detach. For factories.

        Raises:
            AgentExistsError: the id is taken.
        """
        if agent.id in self._entries:
            raise AgentExistsError(f"agent id {agent.id!r} is taken by a live agent")
        entry = self._entries[agent.id] = AgentEntry(agent, owner)
        return partial(self._detach, entry)

    def announce(self, agent: Agent) -> None:
        """Tell others of an entered agent; an error of a listener vetoes it. For factories."""
        entry = self._entries[agent.id]
        entry.is_announced = entry.is_announcing = True
        try:
            self.ctx.emit(CREATED, agent, target=agent)
        except BaseException:
            entry.wants_detach = True
            raise
        finally:
            entry.is_announcing = False
            if entry.wants_detach:
                self._detach(entry)

    def register(self, agent: Agent, owner: Agent | None = None) -> Callable[[], None]:
        """Enter and announce in one step, for agents made by hand in tests."""
        detach = self.enter(agent, owner)
        self.announce(agent)
        return detach

    def _detach(self, entry: AgentEntry) -> None:
        if entry.is_detached:
            return
        if entry.is_announcing:
            entry.wants_detach = True
            return
        entry.is_detached = True
        del self._entries[entry.agent.id]
        if entry.is_announced:
            self.ctx.emit(DISPOSED, entry.agent, target=entry.agent)

    def _require_factory(self) -> AgentFactory:
        if self._factory is None:
            raise NoAgentFactoryError("no agent loop is mounted; mount harness_plugins.agent_loop")
        return self._factory
