"""Run one agent on real plugins until somebody kills the process; say what became durable.

Arguments: home directory, base URL, working directory. Lines on standard output: the session id
first, then `acked N` each time every event before seq N is on the device.
"""

import asyncio
import os
import sys

from harness.agent import AgentOptions, CreateAgentOptions, SessionMeta
from harness.bash import BashEnvRegistry
from harness.http import HttpService
from harness.session import STEP_END, Session, SessionEvent
from harness_plugins import agent_core
from harness_plugins.bash_local import BashLocal
from harness_plugins.llm_deepseek import DeepSeekPlugin
from harness_plugins.session_persistence_jsonl import JsonlPersistence
from harness_plugins.spill_local import SpillLocal
from harness_plugins.subprocess_local import SubprocessLocal
from harness_plugins.tool_bash import ToolBash
from vendor_shims.cordis import Context


def say(line: str) -> None:
    """Write a line past every buffer of the process."""
    os.write(1, f"{line}\n".encode())


class Acknowledging:
    """Flush after every step and say how far the log is durable then."""

    inject = ("sessions",)

    def __init__(self, ctx: Context) -> None:
        """Listen to every session."""
        self._ctx = ctx
        ctx.on("session/event", self._on_event, unfiltered=True)

    async def _on_event(self, session: Session, event: SessionEvent) -> None:
        if event.type == STEP_END:
            seq = event.seq
            await self._ctx.require("sessions").flush(session)
            say(f"acked {seq}")


async def main(home: str, base_url: str, cwd: str) -> None:
    """Compose, ask once, and end after the turn if nobody kills us before."""
    async with Context() as root:
        root.plugin(JsonlPersistence, {"root": f"{home}/py/sessions"})
        root.plugin(agent_core)
        root.plugin(HttpService)
        root.plugin(
            DeepSeekPlugin,
            {"provider": "local", "name": "local", "dialect": "openai", "baseURL": base_url},
        )
        root.plugin(SubprocessLocal)
        root.plugin(BashEnvRegistry)
        root.plugin(BashLocal)
        root.plugin(SpillLocal, {"root": f"{home}/py/spill"})
        root.plugin(ToolBash)
        root.plugin(Acknowledging)
        await root.settle(20)
        handle = await root.require("agents").create(
            CreateAgentOptions(
                meta=SessionMeta(cwd=cwd),
                agent_options=AgentOptions(provider="local", model="m"),
            )
        )
        say(handle.agent.id)
        handle.agent.send("count to fifty")
        await handle.agent.when_idle()
        say("done")


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
