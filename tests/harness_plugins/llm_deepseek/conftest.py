"""Mount the adapter on a real kernel, against a scripted server on loopback."""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import Any

import pytest
from attrs import define, field

from harness.http import HttpService
from harness.llm import (
    GenerateOptions,
    LlmCallConfig,
    LlmFailure,
    LlmService,
    Message,
    create_user_message,
)
from harness.testing import MockServer
from harness_plugins.llm_deepseek import DeepSeekPlugin
from vendor_shims.cordis import Context, Fiber

ROUTE = "deepseek-official"


@define
class Bench:
    """One mounted adapter and its server."""

    root: Context
    server: MockServer
    fiber: Fiber
    warnings: list[str] = field(factory=list)

    @property
    def llm(self) -> LlmService:
        return self.root.require("llm")

    def options(self, *messages: Message, provider: str = ROUTE, **facts: Any) -> GenerateOptions:
        config = {
            key: facts.pop(key)
            for key in ("reasoning_effort", "temperature", "max_tokens", "stop")
            if key in facts
        }
        messages = messages or (create_user_message("hi"),)
        return GenerateOptions(
            LlmCallConfig(provider, "deepseek-v4-pro", **config), messages, **facts
        )

    async def ask(self, *messages: Message, **facts: Any) -> list[Any]:
        return [chunk async for chunk in self.llm.stream(self.options(*messages, **facts))]

    async def body(self, *messages: Message, **facts: Any) -> dict[str, Any]:
        """Ask once and return the body that the server received."""
        self.server.enqueue("success")
        chunks = await self.ask(*messages, **facts)
        assert chunks[-1].reason.kind == "stop", chunks[-1]
        return self.server.requests[-1].json()

    async def failure(self, *messages: Message, **facts: Any) -> LlmFailure:
        """Ask once and return the failure that the stream ends with."""
        return failure_of(await self.ask(*messages, **facts))


def failure_of(chunks: Sequence[Any]) -> LlmFailure:
    reason = chunks[-1].reason
    assert reason.failure is not None, reason
    return reason.failure


Mount = Callable[..., Awaitable[Bench]]


@pytest.fixture
async def mount(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Mount]:
    """Return a function that mounts the adapter with a config and a scripted server."""
    monkeypatch.setenv("DEEPSEEK_API_KEY", "sk-test")
    monkeypatch.delenv("DEEPSEEK_BASE_URL", raising=False)
    async with MockServer(any_path=True) as server, Context() as root:

        async def mounted(*replies: Any, config: dict[str, Any] | None = None) -> Bench:
            server.enqueue(*replies)
            root.plugin(HttpService)
            root.plugin(LlmService)
            raw = {"baseURL": server.base_url, **(config or {})}
            fiber = root.plugin(DeepSeekPlugin, raw)
            await root.settle()
            return Bench(root, server, fiber)

        yield mounted
