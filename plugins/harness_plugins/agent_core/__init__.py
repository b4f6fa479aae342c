"""The providerless spine of an agent harness as one plugin."""

from harness_plugins.agent_core.plugin import AgentCoreConfig, apply

__all__ = ["AgentCoreConfig", "apply"]
