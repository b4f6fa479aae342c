"""Give the model three tools for files: `read`, `write` and `edit`."""

from harness_plugins.tool_fs.config import ToolFsConfig
from harness_plugins.tool_fs.plugin import ToolFs

__all__ = ["ToolFs", "ToolFsConfig"]
