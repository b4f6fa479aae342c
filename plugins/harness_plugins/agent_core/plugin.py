"""Mount the services that every agent needs, and the loop that drives it."""

from harness.agent import AgentRegistry
from harness.llm import LlmService
from harness.session import SessionStore
from harness.system_prompt import SystemPrompt, SystemPromptConfig
from harness.tools import ToolRegistry
from harness_plugins.agent_loop import AgentLoop, AgentLoopConfig
from vendor_shims.cordis import Context
from vendor_shims.schema import config, field, unstructure


@config
class AgentCoreConfig:
    """Configure the parts of the spine that have something to configure."""

    loop: AgentLoopConfig = field(factory=AgentLoopConfig, doc="How turns run.")
    prompt: SystemPromptConfig = field(
        factory=SystemPromptConfig, doc="What every system prompt holds."
    )


name = "agent-core"
Config = AgentCoreConfig


def apply(ctx: Context, config: AgentCoreConfig) -> None:
    """Mount the spine on the root's level of services, so that siblings can inject it.

    No model, no storage and no tool is part of it: those are plugins beside it.
    """
    ctx.plugin(SessionStore)
    ctx.plugin(LlmService)
    ctx.plugin(SystemPrompt, unstructure(config.prompt))
    ctx.plugin(ToolRegistry)
    ctx.plugin(AgentRegistry)
    ctx.plugin(AgentLoop, unstructure(config.loop))
