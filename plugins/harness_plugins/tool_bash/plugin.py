"""Register the tool `bash` and its prompt section."""

from __future__ import annotations

from pathlib import Path

from harness.bash import BashEnvRegistry, BashExecutor
from harness.system_prompt import SystemPrompt
from harness.tools import ToolRegistry
from harness_plugins.tool_bash.command import CommandRunner
from harness_plugins.tool_bash.tool import bash_tool
from vendor_shims.cordis import Context, Dep

SECTION_ORDER = 105


class ToolBash:
    """Offer `bash` for as long as an executor, the registries and this plugin are there."""

    name = "tool-bash"
    bash = Dep(BashExecutor)
    bash_env = Dep(BashEnvRegistry)
    tools = Dep(ToolRegistry)
    system_prompt = Dep(SystemPrompt)

    def __init__(self, ctx: Context) -> None:
        self.ctx = ctx

    def start(self) -> None:
        """Register the tool and tell the model how to read its results."""
        runner = CommandRunner(self.ctx, bash=self.bash, bash_env=self.bash_env)
        self.tools.register(bash_tool(runner.run, description=_text("bash.md")))
        self.system_prompt.section("tool:bash", SECTION_ORDER, _text("guidance.md"))


def _text(name: str) -> str:
    return Path(__file__).with_name(name).read_text(encoding="utf-8").strip()
