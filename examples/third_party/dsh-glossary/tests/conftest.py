"""What all tests share."""

import pytest


@pytest.fixture
def anyio_backend() -> str:
    """Run the tests on asyncio."""
    return "asyncio"
