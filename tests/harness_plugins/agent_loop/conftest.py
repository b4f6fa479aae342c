"""Give tests of the loop a world with it, watched by the development guard."""

import pytest

from harness.agent.contract import another_world
from harness_plugins import invariants
from harness_plugins.agent_loop import AgentLoop


@pytest.fixture
def mount_loop():
    guarded = set()

    def mount(ctx, options):
        if ctx not in guarded:
            guarded.add(ctx)
            ctx.plugin(invariants)
        return ctx.plugin(AgentLoop, options)

    return mount


@pytest.fixture
async def world(mount_loop):
    async with another_world(mount_loop) as world:
        yield world
