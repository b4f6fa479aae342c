"""Register the file tools and their prompt sections."""

import os

from harness.fs import FileSystem
from harness.launch import resolve_home
from harness.system_prompt import SystemPrompt
from harness.tools import ToolRegistry
from harness_plugins.tool_fs.access import FileAccess
from harness_plugins.tool_fs.config import ToolFsConfig
from harness_plugins.tool_fs.denied import DeniedFiles
from harness_plugins.tool_fs.edit import edit_tool
from harness_plugins.tool_fs.prose import guidance_of
from harness_plugins.tool_fs.read import read_tool
from harness_plugins.tool_fs.write import write_tool
from vendor_shims.cordis import Dep, Plugin

FIRST_SECTION_ORDER = 100


class ToolFs(Plugin):
    """Offer `read`, `write` and `edit` while a file system and the registries are there."""

    name = "tool-fs"
    Config = ToolFsConfig
    config: ToolFsConfig
    fs = Dep(FileSystem)
    tools = Dep(ToolRegistry)
    system_prompt = Dep(SystemPrompt)

    def start(self) -> None:
        """Register the tools and tell the model when to use which."""
        home = resolve_home(self.config.home, os.environ)
        access = FileAccess(self.ctx, self.fs, denied=DeniedFiles(self.config.deny, home.root))
        tools = (read_tool(access), write_tool(access), edit_tool(access))
        for order, tool in enumerate(tools, start=FIRST_SECTION_ORDER):
            self.tools.register(tool)
            self.system_prompt.section(f"tool:{tool.name}", order, guidance_of(tool.name))
