"""A permission gate: a listener that decides about every tool call before it runs.

Run it with `python examples/permission_gate.py`; no model and no network are needed.
"""

import asyncio
from collections.abc import Awaitable

from harness.agent import AgentOptions, CreateAgentOptions
from harness.testing.model import ScriptedModel, calls, says
from harness.tools import PRE_EXECUTE, Deny, PreToolDecision, ToolExecution, tool
from harness_plugins import agent_core
from vendor_shims.cordis import Context, Next
from vendor_shims.schema import config, field


@config
class GateConfig:
    """Choose what the gate lets through."""

    read_only: bool = field(default=True, doc="Deny tools that change something.")


class PermissionGate:
    """Deny calls of tools that are not known to be harmless.

    Returning without calling `following` decides alone; calling it asks the other listeners, and
    the guards behind them, which nobody can overrule.
    """

    Config = GateConfig
    harmless = frozenset({"look"})

    def __init__(self, ctx: Context, config: GateConfig) -> None:
        """Listen in front of everybody else."""
        self.config = config
        ctx.on(PRE_EXECUTE, self.decide, prepend=True)

    def decide(
        self, execution: ToolExecution, following: Next[PreToolDecision]
    ) -> PreToolDecision | Awaitable[PreToolDecision]:
        """Let harmless calls pass on, refuse the others with a reason that the model reads."""
        if self.config.read_only and execution.name not in self.harmless:
            return Deny(f"{execution.name} changes files, and this run is read-only")
        return following()


@tool
async def look() -> str:
    """Look around."""
    return "a README and a Makefile"


@tool
async def delete_all() -> str:
    """Delete everything."""
    raise AssertionError("the gate must keep this from running")


async def main() -> None:
    """Let a scripted model try a harmless and a harmful tool."""
    async with Context() as root:
        root.plugin(agent_core)
        root.plugin(PermissionGate)
        root.plugin(ScriptedModel(calls("look", {}), calls("delete_all", {}), says("I stop here.")))
        await root.settle()
        root.require("tools").register(look)
        root.require("tools").register(delete_all)
        async with await root.require("agents").create(
            CreateAgentOptions(agent_options=AgentOptions(provider="scripted", model="scripted"))
        ) as handle:
            handle.agent.send("Tidy up.")
            await handle.agent.when_idle()
            for event in handle.agent.session.events:
                if event.type == "tool/result":
                    print(event.data["message"]["content"][0]["content"][0]["text"])


if __name__ == "__main__":
    asyncio.run(main())
