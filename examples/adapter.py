"""A model adapter: one method that turns a request into chunks.

Run it with `python examples/adapter.py`; no network is needed.
"""

import asyncio
from collections.abc import AsyncIterator

from harness.agent import AgentOptions, CreateAgentOptions
from harness.llm import (
    BlockEnd,
    BlockStart,
    Finish,
    FinishReason,
    GenerateOptions,
    LlmAdapter,
    StreamChunk,
    TextBlock,
    TextDelta,
)
from harness_plugins import agent_core
from vendor_shims.cordis import Context, plugin


class ParrotAdapter(LlmAdapter):
    """Answer with the words of the last message, in reverse order."""

    async def stream(self, options: GenerateOptions) -> AsyncIterator[StreamChunk]:
        """Yield one delta per word; the complete block at its end is what counts."""
        words = options.messages[-1].text.split()[::-1]
        yield BlockStart(0, "text")
        for index, word in enumerate(words):
            yield TextDelta(0, word if index == 0 else f" {word}")
        yield BlockEnd(0, TextBlock(" ".join(words)))
        yield Finish(FinishReason.STOP)


@plugin(inject=["llm"])
def parrot(ctx: Context) -> None:
    """Serve the route `parrot` for as long as this plugin is mounted."""
    ctx.llm.register_adapter(["parrot"], ParrotAdapter())


async def main() -> None:
    """Ask the parrot something."""
    async with Context() as root:
        root.plugin(agent_core)
        root.plugin(parrot)
        await root.settle()
        options = AgentOptions(provider="parrot", model="grey")
        async with await root.require("agents").create(
            CreateAgentOptions(agent_options=options)
        ) as handle:
            handle.agent.send("plugin a is everything")
            await handle.agent.when_idle()
            print(handle.agent.session.derive_messages()[-1].text)


if __name__ == "__main__":
    asyncio.run(main())
