"""Offer the model the tool `bash`."""

from harness_plugins.tool_bash.plugin import ToolBash

__all__ = ["ToolBash"]
