"""A tool as a plugin: one typed function, registered by whoever mounts it.

Run it with `python examples/tool_plugin.py`; no model and no network are needed.
"""

import asyncio
from typing import Annotated

from harness.agent import AgentOptions, CreateAgentOptions
from harness.testing.model import ScriptedModel, calls, says
from harness.tools import tool
from harness_plugins import agent_core
from vendor_shims.cordis import Context, plugin
from vendor_shims.schema import Ge, Le


@tool
async def roll_dice(sides: Annotated[int, Ge(2), Le(100)], count: int = 1) -> list[int]:
    """Roll dice and return what each shows.

    Args:
        sides: How many sides each die has.
        count: How many dice to roll.
    """
    return [1 + (7 * index) % sides for index in range(1, count + 1)]


@plugin(inject=["tools"])
def dice(ctx: Context) -> None:
    """Offer the tool for as long as this plugin is mounted."""
    ctx.tools.register(roll_dice)


async def main() -> None:
    """Let a scripted model use the tool, then unmount it."""
    async with Context() as root:
        root.plugin(agent_core)
        root.plugin(ScriptedModel(calls("roll_dice", {"sides": 6, "count": 2}), says("2 and 3.")))
        mounted = root.plugin(dice)
        await root.settle()
        async with await root.require("agents").create(
            CreateAgentOptions(agent_options=AgentOptions(provider="scripted", model="scripted"))
        ) as handle:
            handle.agent.send("Roll two dice.")
            await handle.agent.when_idle()
            for message in handle.agent.session.derive_messages():
                print(f"{message.role}: {message.content[0]}")
        await mounted.dispose()
        print("tools left:", [schema.name for schema in root.require("tools").schemas()])


if __name__ == "__main__":
    asyncio.run(main())
