from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from harness.bash import BashExecutor
from harness.bash.contract import BashContract
from harness_plugins.bash_local import BashLocal
from harness_plugins.subprocess_local import SubprocessLocal
from vendor_shims.cordis import Context


class TestBashLocal(BashContract):
    @pytest.fixture
    async def bash(self) -> AsyncIterator[BashExecutor]:
        async with Context() as root:
            await root.plugin(SubprocessLocal, {"cleanupPeriodDays": 0})
            await root.plugin(BashLocal, {"graceMs": 500})
            yield root[BashExecutor]
