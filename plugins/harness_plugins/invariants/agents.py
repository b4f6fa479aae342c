"""The companion of agents: the public status tells the truth."""

from harness.agent import DISPOSED, STATUS, Agent, AgentStatus, StatusChanged
from harness.invariants import InvariantError
from vendor_shims.cordis import Context

PACKAGE = "harness.agent"


class AgentCompanion:
    """Follow the status of every agent; a lie is raised into the log of the dispatch."""

    def __init__(self, ctx: Context) -> None:
        """Watch the agents to come."""
        self._last: dict[Agent, AgentStatus] = {}
        ctx.on(STATUS, self._check, unfiltered=True)
        ctx.on(DISPOSED, self._forget, unfiltered=True)

    def _check(self, change: StatusChanged) -> None:
        agent = change.agent
        if self._last.get(agent) is change.status:
            raise InvariantError(f"{agent.id} is {change.status} twice", package=PACKAGE)
        self._last[agent] = change.status
        if change.status is AgentStatus.IDLE and agent.session.open_turn is not None:
            raise InvariantError(f"{agent.id} is idle with an open turn", package=PACKAGE)

    def _forget(self, agent: Agent) -> None:
        self._last.pop(agent, None)
