"""The guide in the real loop with the real tools, on a real folder."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from harness.agent import (
    Agent,
    AgentOptions,
    AgentRegistry,
    CreateAgentOptions,
    SessionMeta,
)
from harness.bash import BashEnvRegistry
from harness.llm import LlmService, Message
from harness.session import SessionStore
from harness.system_prompt import SystemPrompt
from harness.tools import ToolRegistry
from harness_plugins.agent_loop import AgentLoop
from harness_plugins.bash_local import BashLocal
from harness_plugins.fs_local import FsLocal
from harness_plugins.llm_offline import MODEL, PROVIDER, OfflinePlugin
from harness_plugins.subprocess_local import SubprocessLocal
from harness_plugins.tool_bash import ToolBash
from harness_plugins.tool_fs import ToolFs
from vendor_shims.cordis import Context

SPINE = (SessionStore, LlmService, SystemPrompt, ToolRegistry, AgentRegistry, AgentLoop)


@pytest.fixture
async def agent(tmp_path: Path) -> AsyncIterator[Agent]:
    (tmp_path / "README.md").write_text("# Sample\n\nA sample of a project.\n")
    (tmp_path / "pyproject.toml").write_text('[project]\nname = "sample"\n')
    async with Context() as root:
        for plugin in (*SPINE, OfflinePlugin, SubprocessLocal, BashLocal, FsLocal, ToolFs):
            root.plugin(plugin)
        root.plugin(BashEnvRegistry, {"home": str(tmp_path)})
        root.plugin(ToolBash)
        await root.settle()
        options = CreateAgentOptions(
            meta=SessionMeta(cwd=str(tmp_path)),
            agent_options=AgentOptions(provider=PROVIDER, model=MODEL),
        )
        handle = await root.require("agents").create(options)
        yield handle.agent


async def ask(agent: Agent, text: str) -> list[Message]:
    """Run one turn and return the messages it added."""
    before = len(agent.session.derive_messages())
    agent.send(text)
    await agent.when_idle()
    ends = [event for event in agent.session.events if event.type == "turn/end"]
    assert ends[-1].data["reason"] == {"kind": "completed"}, ends[-1].data
    return agent.session.derive_messages()[before:]


@pytest.mark.spec("09-C191")
async def test_a_command_is_really_run_and_its_output_quoted(agent) -> None:
    messages = await ask(agent, "run ls -la && exit 3")
    assert [message.role for message in messages] == ["user", "assistant", "user", "assistant"]
    assert "README.md" in messages[-1].text
    assert "exit code 3" in messages[-1].text


async def test_files_are_really_read_and_written(agent, tmp_path) -> None:
    messages = await ask(agent, f"read {tmp_path}/README.md")
    assert "A sample of a project." in messages[-1].text
    messages = await ask(agent, f"write {tmp_path}/new.txt: hello")
    assert (tmp_path / "new.txt").read_text() == "hello"
    assert "`write`" in messages[-1].text


async def test_a_digest_takes_several_steps(agent) -> None:
    messages = await ask(agent, "summarize this repository")
    assert "A sample of a project." in messages[-1].text
    assert 'name = "sample"' in messages[-1].text
