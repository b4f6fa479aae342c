"""A mock server and an HTTP service in a kernel of its own."""

import pytest

from harness.http import HttpService
from harness.testing import MockServer
from vendor_shims.cordis import Context
from vendor_shims.timer import VirtualClock


@pytest.fixture
async def server():
    async with MockServer(any_path=True) as mock:
        yield mock


@pytest.fixture
async def context():
    async with Context() as ctx:
        yield ctx


@pytest.fixture
async def http(context):
    context.plugin(HttpService)
    await context.settle()
    return context.require("http")


@pytest.fixture
def clock():
    return VirtualClock()


@pytest.fixture
async def timed_http(clock):
    """A service whose time passes only when the test says so."""
    async with Context(clock=clock) as ctx:
        ctx.plugin(HttpService)
        await ctx.settle()
        yield ctx.require("http")
