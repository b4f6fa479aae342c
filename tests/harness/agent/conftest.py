"""Give registry tests agents made by hand."""

from typing import Any

import pytest

from harness.agent import Agent, AgentOptions, AgentRegistry, AgentStatus
from harness.session import Session
from vendor_shims.cordis import Context


class HandMadeAgent(Agent):
    """An agent that nobody drives."""

    def __init__(self, session_id: str) -> None:
        self.session = Session.create(session_id)
        self.options = AgentOptions()

    @property
    def status(self):
        return AgentStatus.IDLE

    @property
    def inbox(self) -> Any:
        return None

    def send(self, content, *, source=None) -> Any:
        return content, source

    deliver = steer = inject = annotate = cancel = wake = send
    when_idle = run_maintenance = maintenance_turn = send

    def live_attempt(self):
        return None


@pytest.fixture
async def root():
    async with Context() as root:
        await root.plugin(AgentRegistry)
        yield root


@pytest.fixture
def agents(root):
    return root[AgentRegistry]


@pytest.fixture
def make_agent():
    return HandMadeAgent
