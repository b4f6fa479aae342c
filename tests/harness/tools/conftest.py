"""Give tool tests a mounted registry, scoped agents and a recorder of the pipeline."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import attrs
import pytest

from harness.scope import create_scope, scope_target
from harness.system_prompt import SystemPrompt
from harness.tools import (
    EXECUTE,
    POST_EXECUTE,
    PRE_EXECUTE,
    RESULT,
    ToolDefinition,
    ToolExecution,
    ToolExecutionInput,
    ToolExecutionResult,
    ToolOutput,
    ToolRegistry,
    define_tool,
)
from vendor_shims.cordis import AbortSignal, Context, Next


class Agent:
    """A scope key that routes dispatches like an agent does."""

    def __init__(self, root: Context, parent: object | None = None) -> None:
        self.scope = create_scope(root, self, parent)
        self.ctx = self.scope.ctx
        self._target = scope_target(None, self)

    def __event_filter__(self, ctx: Context) -> bool:
        return self._target.__event_filter__(ctx)


@attrs.define
class Kit:
    """A mounted registry and what tests do with it all the time."""

    root: Context
    tools: ToolRegistry
    prompt: SystemPrompt

    def agent(self, parent: object | None = None) -> Agent:
        return Agent(self.root, parent)

    def of(self, agent: Agent) -> ToolRegistry:
        """Return the registry as `agent.ctx.tools` gives it."""
        return self.tools.as_caller(agent.ctx)

    async def call(
        self,
        name: str,
        arguments: Any = None,
        *,
        signal: AbortSignal | None = None,
        **identity: Any,
    ) -> ToolExecutionResult:
        return await self.tools.execute(
            ToolExecutionInput(
                call_id=identity.pop("call_id", "c1"),
                name=name,
                arguments={} if arguments is None else arguments,
                signal=signal or AbortSignal.never(),
                **identity,
            )
        )

    def record(self) -> list[str]:
        """Return a list that grows by one word per stage of every call."""
        trace: list[str] = []
        pairs = ((PRE_EXECUTE, "pre"), (EXECUTE, "execute"))
        for event, word in pairs:
            self.root.on(event, _noting(trace, word), prepend=True)
        self.root.on(POST_EXECUTE, _noting_post(trace), prepend=True)
        self.root.on(RESULT, lambda _execution, _result: trace.append("result"))
        return trace


def _noting(trace: list[str], word: str) -> Callable[..., Any]:
    async def note(_execution: ToolExecution, following: Next[Any]) -> Any:
        trace.append(word)
        return await following()

    return note


def _noting_post(trace: list[str]) -> Callable[..., Any]:
    async def note(
        _execution: ToolExecution, _result: ToolExecutionResult, following: Next[Any]
    ) -> Any:
        trace.append("post")
        return await following()

    return note


@pytest.fixture
async def kit() -> AsyncIterator[Kit]:
    """Return a mounted registry, closed after the test."""
    async with Context() as root:
        await root.plugin(SystemPrompt, {"includeHarnessIdentity": False})
        await root.plugin(ToolRegistry)
        tools, prompt = root.get(ToolRegistry), root.get(SystemPrompt)
        assert tools is not None
        assert prompt is not None
        yield Kit(root, tools, prompt)


TEXT_OUTPUT = ToolOutput({"type": "string"}, lambda _args, value: value)


def make_tool(
    name: str = "echo",
    execute: Callable[[Any, ToolExecution], Awaitable[Any]] | None = None,
    *,
    output: ToolOutput = TEXT_OUTPUT,
    **members: Any,
) -> ToolDefinition:
    """Define a tool that returns its name, unless told otherwise."""

    async def answer(_args: Any, _execution: ToolExecution) -> Any:
        return name

    return define_tool(
        name=name,
        description=f"The tool {name}.",
        parameters=members.pop("parameters", {"text": {"type": "string"}}),
        output=output,
        execute=execute or answer,
        **members,
    )


@pytest.fixture
def make() -> Callable[..., ToolDefinition]:
    """Return the function that defines test tools."""
    return make_tool
