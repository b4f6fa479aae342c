"""The providerless spine of an agent harness as one plugin; mount the package itself."""

from harness_plugins.agent_core.plugin import AgentCoreConfig, Config, apply, name

__all__ = ["AgentCoreConfig", "Config", "apply", "name"]
