"""A mock server and an HTTP service in a kernel of its own."""

import pytest

from harness.http import HttpService
from harness.testing import MockServer
from vendor_shims.cordis import Context


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
