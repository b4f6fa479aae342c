"""Editing what a working agent is made of: its tools in the middle of a turn, and its loop."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import anyio
import pytest

import harness_plugins.agent_loop as real_loop
from harness.agent import (
    AgentOptions,
    AgentRegistry,
    CreateAgentOptions,
    ResumeAgentOptions,
)
from harness.invariants import check_log
from harness.llm import LlmService
from harness.session import SessionStore
from harness.system_prompt import SystemPrompt
from harness.testing.model import ScriptedModel, calls, says
from harness.tools import ToolRegistry
from harness_plugins import invariants
from harness_plugins.session_persistence_jsonl import JsonlPersistence

SCRIPTED = AgentOptions(provider="scripted", model="test")
TOOL = """
    from harness.tools import tool

    inject = ["tools"]

    @tool
    async def version() -> str:
        '''Tell the version.'''
        return "{value}"

    def apply(ctx):
        ctx.tools.register(version)
"""


def results(session: Any) -> list[str]:
    """Return what the tools answered, oldest first."""
    found = [event.data for event in session.events if event.type == "tool/result"]
    blocks = [block for data in found for block in data["message"]["content"]]
    return ["".join(part["text"] for part in block["content"]) for block in blocks]


async def until(condition: Callable[[], object]) -> None:
    """Wait for what happens in files and threads."""
    while not condition():
        await anyio.sleep(0.005)


def turn_ends(session: Any) -> list[str]:
    ends = [event for event in session.events if event.type == "turn/end"]
    return [event.data["reason"]["kind"] for event in ends]


@pytest.fixture
async def world(tmp_path: Path, a_project: Any) -> AsyncIterator[Any]:
    """A project whose rows are a tool in a file, and a copy of the real loop."""
    copy = tmp_path / "lib" / "my_loop"
    shutil.copytree(os.path.dirname(real_loop.__file__), copy, ignore=lambda *_: ["__pycache__"])
    for file in copy.glob("*.py"):
        file.write_text(file.read_text().replace("harness_plugins.agent_loop", "my_loop"))
    async with a_project() as project:
        k = project.k
        await project.start()
        for plugin in (SessionStore, LlmService, SystemPrompt, ToolRegistry, AgentRegistry):
            k.root.plugin(plugin)
        k.root.plugin(invariants)
        k.root.plugin(JsonlPersistence, {"root": str(tmp_path / "data")})
        await project.loader.create({"id": "loop", "name": "my_loop:AgentLoop"})
        project.write("tool.py", TOOL.replace("{value}", "1"))
        await project.run("tool")
        await k.settle()
        yield project


async def created(p: Any, *script: Any) -> Any:
    p.k.root.plugin(ScriptedModel(*script))
    await p.k.settle()
    return await p.k.root[AgentRegistry].create(CreateAgentOptions(agent_options=SCRIPTED))


async def test_a_tool_edited_in_the_middle_of_a_turn_counts_from_the_next_call_on(world):
    p = world
    gate = anyio.Event()
    first = [gate.wait, *calls("version", {}, call_id="c1")]
    handle = await created(
        p,
        calls("version", {}, call_id="c0"),
        first,
        says("Done."),
        calls("version", {}, call_id="c2"),
        says("Done."),
    )
    agent = handle.agent
    agent.send("go")
    await p.k.settle()
    assert results(agent.session) == ["1"]
    await p.edit("tool.py", TOOL.replace("{value}", "2"))
    assert p.reloads == [["tool.py"]]
    gate.set()
    await agent.when_idle()
    agent.send("again")
    await agent.when_idle()
    assert results(agent.session) == ["1", "2", "2"]
    assert turn_ends(agent.session) == ["completed", "completed"]
    assert check_log(agent.session.events, is_complete=True) == ()


async def test_a_tool_edited_while_it_runs_ends_its_call_with_one_result(world):
    p = world
    slow = TOOL.replace("return", "await gate.wait()\n        return").replace(
        "inject", "from anyio import Event\n    gate = Event()\n    inject", 1
    )
    await p.edit("tool.py", slow.replace("{value}", "slow"))
    module = sys.modules[p.loader.resolve("tool").module]
    handle = await created(
        p,
        calls("version", {}, call_id="c0"),
        says("Done."),
        calls("version", {}, call_id="c1"),
        says("Done."),
    )
    agent = handle.agent
    agent.send("go")
    await p.k.settle()
    await p.edit("tool.py", TOOL.replace("{value}", "2"))
    module.gate.set()
    await agent.when_idle()
    agent.send("again")
    await agent.when_idle()
    assert len(results(agent.session)) == 2
    assert results(agent.session)[1] == "2"
    assert turn_ends(agent.session) == ["completed", "completed"]
    assert check_log(agent.session.events, is_complete=True) == ()


async def test_a_broken_tool_file_changes_nothing_for_the_turn(world):
    p = world
    gate = anyio.Event()
    handle = await created(p, [gate.wait, *calls("version", {})], says("Done."))
    handle.agent.send("go")
    await p.k.settle()
    await p.edit("tool.py", "def apply(ctx:\n")
    gate.set()
    await handle.agent.when_idle()
    assert results(handle.agent.session) == ["1"]
    assert check_log(handle.agent.session.events, is_complete=True) == ()


async def edit_loop(p: Any) -> None:
    path = p.folder / "lib" / "my_loop" / "turn.py"
    path.write_text(path.read_text() + "\nEDITED = True\n")
    await p.edited("lib/my_loop/turn.py")


async def test_a_loop_edited_between_turns_runs_the_next_one_over_the_same_session(world):
    p = world
    handle = await created(p, says("One."), says("Two."))
    handle.agent.send("go")
    await handle.agent.when_idle()
    old = sys.modules["my_loop.turn"]
    await edit_loop(p)
    await until(lambda: p.reloads)
    assert p.reloads == [["__init__.py"]]
    assert sys.modules["my_loop.turn"] is not old
    assert sys.modules["my_loop.turn"].EDITED
    assert p.k.root[AgentRegistry].list() == []
    again = await p.k.root[AgentRegistry].resume(
        ResumeAgentOptions(resume_session_id=handle.agent.session.id, agent_options=SCRIPTED)
    )
    assert type(again.agent) is not type(handle.agent)
    again.agent.send("go on")
    await again.agent.when_idle()
    session = again.agent.session
    assert turn_ends(session) == ["completed", "completed"]
    assert [
        message.text for message in session.derive_messages() if message.role == "assistant"
    ] == ["One.", "Two."]
    assert check_log(session.events, is_complete=True) == ()


async def test_a_loop_edited_in_the_middle_of_a_turn_ends_it_in_the_log(world):
    p = world
    gate = anyio.Event()
    handle = await created(p, [gate.wait, *says("Never.")], says("Two."))
    handle.agent.send("go")
    await p.k.settle()
    await edit_loop(p)
    gate.set()
    await until(lambda: p.reloads)
    assert p.reloads == [["__init__.py"]]
    assert len(turn_ends(handle.agent.session)) == 1
    assert check_log(handle.agent.session.events, is_complete=True) == ()
    again = await p.k.root[AgentRegistry].resume(
        ResumeAgentOptions(resume_session_id=handle.agent.session.id, agent_options=SCRIPTED)
    )
    again.agent.send("go on")
    await again.agent.when_idle()
    assert turn_ends(again.agent.session)[-1] == "completed"
    assert check_log(again.agent.session.events, is_complete=True) == ()
