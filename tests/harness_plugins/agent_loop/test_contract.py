"""The loop keeps the contract of loops, watched by the development guard."""

import pytest

from harness.agent.contract import AgentLoopContract
from harness_plugins import invariants
from harness_plugins.agent_loop import AgentLoop


class TestAgentLoop(AgentLoopContract):
    @pytest.fixture
    def mount_loop(self):
        guarded = set()

        def mount(ctx, options):
            if ctx not in guarded:
                guarded.add(ctx)
                ctx.plugin(invariants)
            return ctx.plugin(AgentLoop, options)

        return mount
