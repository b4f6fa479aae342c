"""Put the tests of a bash executor together."""

from __future__ import annotations

import secrets

import pytest

from harness.bash.contract.endings import EndingContract
from harness.bash.contract.limits import LimitContract
from harness.bash.contract.results import ResultContract
from harness.bash.contract.tasks import TaskContract


class BashContract(ResultContract, LimitContract, EndingContract, TaskContract):
    """Hold all tests; each one asks for the fixture `bash`, which the subclass provides."""

    @pytest.fixture
    def marker(self) -> str:
        """Name this test's processes, so that they can be told from all others."""
        return f"mark-{secrets.token_hex(8)}"
