"""Know which agent caused the work that runs now."""

from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

from harness.agent.agent import Agent
from harness.agent.errors import NoInitiatorError

T = TypeVar("T")

_initiator: ContextVar[Agent | None] = ContextVar("agent-initiator", default=None)


def current_initiator() -> Agent | None:
    """Return the agent whose turn this code runs for, if any."""
    return _initiator.get()


def require_initiator() -> Agent:
    """Return the agent whose turn this code runs for, or raise `NoInitiatorError`."""
    agent = _initiator.get()
    if agent is None:
        raise NoInitiatorError("this must run inside a turn of an agent, such as in a tool body")
    return agent


@contextmanager
def initiated_by(agent: Agent | None) -> Generator[None]:
    """Attribute the block, and tasks started in it, to `agent` or to nobody."""
    token = _initiator.set(agent)
    try:
        yield
    finally:
        _initiator.reset(token)


async def with_initiator(agent: Agent, fn: Callable[[], Awaitable[T]]) -> T:
    """Await `fn()` on behalf of `agent`."""
    with initiated_by(agent):
        return await fn()


async def without_initiator(fn: Callable[[], Awaitable[T]]) -> T:
    """Await `fn()` on behalf of nobody, for host work that a turn merely triggers."""
    with initiated_by(None):
        return await fn()
