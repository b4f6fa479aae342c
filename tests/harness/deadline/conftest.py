"""A clock that moves only when told to."""

import pytest

from harness.testing import FakeClock


@pytest.fixture
def clock():
    return FakeClock()
