"""Give prompt tests a mounted service."""

from collections.abc import AsyncIterator, Awaitable, Callable

import pytest

from harness.system_prompt import SystemPrompt
from vendor_shims.cordis import Context


@pytest.fixture
async def root() -> AsyncIterator[Context]:
    """Return a fresh root context, closed after the test."""
    async with Context() as context:
        yield context


@pytest.fixture
def mount(root: Context) -> Callable[..., Awaitable[SystemPrompt]]:
    """Return a function that mounts the service with a raw configuration."""

    async def mounted(**config: object) -> SystemPrompt:
        config.setdefault("includeHarnessIdentity", False)
        await root.plugin(SystemPrompt, config)
        prompt = root.get(SystemPrompt)
        assert prompt is not None
        return prompt

    return mounted
