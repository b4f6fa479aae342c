"""The adapter under the real loop: a tool call over HTTP, and what the next request carries."""

from typing import Any

import pytest

from harness.agent import AgentOptions, AgentRegistry, CreateAgentOptions
from harness.session import SessionStore
from harness.system_prompt import SystemPrompt
from harness.testing import text_reply, tool_call_reply
from harness.tools import ToolRegistry
from harness_plugins.agent_loop import AgentLoop

RAW = '{"a": 1}   '


@pytest.mark.spec("02-3", "02-118")
async def test_reasoning_and_raw_arguments_go_back_with_the_result(mount) -> None:
    call = tool_call_reply("no_such_tool", RAW, reasoning="Use the tool.", fragments=5)
    bench = await mount(call, text_reply("done"), config={"retryPolicy": {"maxRetries": 0}})
    for plugin in (SessionStore, SystemPrompt, ToolRegistry, AgentRegistry, AgentLoop):
        bench.root.plugin(plugin)
    await bench.root.settle()
    options = AgentOptions(provider="deepseek-official", model="deepseek-v4-pro")
    handle = await bench.root.require("agents").create(CreateAgentOptions(agent_options=options))
    agent: Any = handle.agent
    agent.send("go")
    await agent.when_idle()
    first, second = bench.server.requests
    assert second.headers["x-deepseek-harness-session-id"] == agent.id
    wire = second.json()["messages"]
    assert wire[: len(first.json()["messages"])] == first.json()["messages"]
    assistant, result = wire[-2:]
    assert assistant["reasoning_content"] == "Use the tool."
    assert assistant["tool_calls"][0]["function"] == {"name": "no_such_tool", "arguments": RAW}
    assert result["tool_call_id"] == assistant["tool_calls"][0]["id"]
    logged = [e.data["chunk"] for e in agent.session.events if e.type == "assistant/chunk"]
    assert "".join(c.get("argumentsDelta", "") for c in logged) == RAW
    assert agent.session.events[-1].data["reason"] == {"kind": "completed"}
    assert bench.server.connections == 1
