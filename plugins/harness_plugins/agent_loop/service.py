"""The loop as a service: the factory that `ctx.agents` makes agents with."""

from typing import TYPE_CHECKING

from harness.agent import AgentHandle, AgentRegistry, CreateAgentOptions, ResumeAgentOptions
from harness.llm import LlmService
from harness.session import SessionStore
from harness.system_prompt import AssembleContext, SystemPrompt
from harness.tools import ToolRegistry
from harness_plugins.agent_loop.config import AgentLoopConfig
from harness_plugins.agent_loop.factory import Creation
from vendor_shims.cordis import Context, Dep, Service

if TYPE_CHECKING:
    from harness_plugins.agent_loop.teardown import Teardown


class AgentLoop(Service):
    """Make agents that run in turns, and end them all when it unloads.

    Optional services (persistence) are looked up when they are needed, so that their coming and
    going never restarts the loop; neither does a new configuration, which counts at once.

    Invariants: `live` holds the teardown of every agent that is not completely gone.
    """

    key = "agent_loop"
    Config = AgentLoopConfig
    agents = Dep(AgentRegistry)
    sessions = Dep(SessionStore)
    llm = Dep(LlmService)
    tools = Dep(ToolRegistry)
    system_prompt = Dep(SystemPrompt)

    def __init__(self, ctx: Context, config: AgentLoopConfig) -> None:
        """Provide the loop."""
        super().__init__(ctx)
        self.config: AgentLoopConfig = config
        self.live: dict[Teardown, None] = {}

    def start(self) -> None:
        """Become the factory, and offer what prompts may say about an agent."""
        self.ctx.on("internal/update", self._reconfigure)
        self.agents.set_factory(self)
        prompt = self.system_prompt
        prompt.variable("cwd", lambda context: _header_of(context, "cwd"))
        prompt.variable("provider", lambda context: _option_of(context, "provider"))
        prompt.variable("model", lambda context: _option_of(context, "model"))

    async def create(self, options: CreateAgentOptions, *, owner: Context) -> AgentHandle:
        """Make a new agent that ends with `owner`'s fiber, with its handle, or with the loop."""
        return await Creation(self, owner, options.signal).create(options)

    async def resume(self, options: ResumeAgentOptions, *, owner: Context) -> AgentHandle:
        """Make an agent over a stored session; ends like a created one."""
        return await Creation(self, owner, options.signal).resume(options)

    def request_all_ends(self) -> None:
        """Begin the end of all live agents, so that they end side by side."""
        for teardown in tuple(self.live):
            teardown.request()

    def _reconfigure(self, _fiber: object, config: AgentLoopConfig, *_: object) -> None:
        self.config = config


def _header_of(context: AssembleContext, name: str) -> str | None:
    return None if context.agent is None else getattr(context.agent.session.header, name)


def _option_of(context: AssembleContext, name: str) -> str | None:
    return None if context.agent is None else getattr(context.agent.options, name)
