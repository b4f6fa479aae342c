from __future__ import annotations

import secrets
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from harness.subprocess import Collect, ProcessHandle, SpawnSpec, Spill
from harness_plugins.subprocess_local import SubprocessLocal
from vendor_shims.cordis import Context

Spawn = Callable[..., ProcessHandle]


@pytest.fixture
async def runtime() -> AsyncIterator[SubprocessLocal]:
    async with Context() as root:
        # A sweep in the background would disturb tests that count open descriptors.
        await root.plugin(SubprocessLocal, {"cleanupPeriodDays": 0})
        yield root[SubprocessLocal]


@pytest.fixture
def spawn(runtime: SubprocessLocal, tmp_path: Any) -> Spawn:
    """Start a process with everything filled in that the test does not care about."""

    def start(*argv: str, **fields: Any) -> ProcessHandle:
        whole = Collect(max_bytes=64_000, spill=Spill(max_bytes=64 * 1024 * 1024))
        known: dict[str, Any] = {
            "cwd": str(tmp_path),
            "stdin": "ignore",
            "stdout": whole,
            "stderr": whole,
            "grace_s": 0.5,
            "signal": None,
        }
        return runtime.spawn(SpawnSpec(argv=argv, **{**known, **fields}))

    return start


@pytest.fixture
def marker() -> str:
    return f"mark-{secrets.token_hex(8)}"
