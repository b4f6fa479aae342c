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

    def send(self, content, *, source=None) -> Any:
        return content, source


# The rest of an agent is a loop's to write; nothing here calls it.
HandMadeAgent.__abstractmethods__ = frozenset()


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
