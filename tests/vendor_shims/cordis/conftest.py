"""Give each test a fresh kernel that must be empty again when the test ends."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from vendor_shims.testing import Kernel, kernel


@pytest.fixture
async def k() -> AsyncIterator[Kernel]:
    """A root context on a virtual clock, checked for leaks afterwards."""
    async with kernel() as made:
        yield made
