from __future__ import annotations

import itertools
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import attrs
import pytest

from harness.bash import BashEnvRegistry
from harness.session import Session, SessionHeader, SessionId
from harness.system_prompt import SystemPrompt
from harness.tools import ToolExecutionInput, ToolExecutionResult, ToolRegistry
from harness_plugins.bash_local import BashLocal
from harness_plugins.subprocess_local import SubprocessLocal
from harness_plugins.tool_bash import ToolBash
from vendor_shims.cordis import Context

Call = Callable[..., Awaitable[ToolExecutionResult]]
_numbers = itertools.count(1)


@attrs.frozen(eq=False)
class Owner:
    """Own a session and a context, which is all that the tool asks of an agent."""

    ctx: Context
    session: Session


@pytest.fixture
async def root() -> AsyncIterator[Context]:
    async with Context() as ctx:
        await ctx.plugin(SubprocessLocal)
        await ctx.plugin(BashLocal, {"graceMs": 300, "maxOutputBytes": 4_000})
        await ctx.plugin(SystemPrompt)
        await ctx.plugin(ToolRegistry)
        await ctx.plugin(BashEnvRegistry, {"home": "/the/home"})
        await ctx.plugin(ToolBash)
        yield ctx


@pytest.fixture
def new_agent(root: Context) -> Callable[[Path], Any]:
    def make(cwd: Path) -> Any:
        session_id = f"session-{next(_numbers)}"
        header = SessionHeader(id=SessionId(session_id), created_at=0, cwd=str(cwd))
        fiber = root.plugin(lambda _ctx: None)
        return Owner(fiber.ctx, Session.create(session_id, header=header))

    return make


@pytest.fixture
async def agent(new_agent, tmp_path: Path) -> Any:
    return new_agent(tmp_path)


@pytest.fixture
def call(root: Context, agent) -> Call:
    """Call the tool; what is not said is a harmless description and the first session."""

    async def execute(command: Any, /, **said: Any) -> ToolExecutionResult:
        extra = {key: said.pop(key) for key in ("signal", "agent") if key in said}
        arguments = {"command": command, "description": "Test something", **said}
        return await root[ToolRegistry].execute(
            ToolExecutionInput(
                call_id=f"call-{next(_numbers)}",
                name="bash",
                arguments={key: value for key, value in arguments.items() if value is not None},
                **{"agent": agent, **extra},
            )
        )

    return execute
