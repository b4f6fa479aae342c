"""Run commands under a bound and find their processes by a mark of their own."""

# The name of a test is its description, assertions are its point, and what it waits for happens
# in another process.
# ruff: noqa: ASYNC110

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio

from harness.bash.service import BashExecutor
from harness.bash.types import BashRequest, BashRunResult

LIMIT_S = 60
"""Generous bound on every wait, so that a hang fails instead of blocking the run."""


async def run(bash: BashExecutor, command: str, **request: Any) -> BashRunResult:
    """Resolve and run one command."""
    with anyio.fail_after(LIMIT_S):
        return await bash.run(await bash.resolve(BashRequest(command=command, **request)))


def running(marker: str) -> list[int]:
    """Return the pids of live processes whose command line or environment holds `marker`."""
    return list(_find(marker.encode()))


async def until_running(marker: str, n_processes: int = 1) -> None:
    """Wait until that many processes carry the marker."""
    with anyio.fail_after(LIMIT_S):
        while len(running(marker)) < n_processes:
            await anyio.sleep(0.01)


async def until_gone(marker: str) -> None:
    """Wait until no process carries the marker."""
    with anyio.fail_after(LIMIT_S):
        while running(marker):
            await anyio.sleep(0.01)


def _find(marker: bytes) -> Iterator[int]:
    for entry in os.listdir("/proc"):
        if not entry.isdigit():
            continue
        try:
            status = Path(f"/proc/{entry}/stat").read_bytes()
            text = Path(f"/proc/{entry}/cmdline").read_bytes()
            text += Path(f"/proc/{entry}/environ").read_bytes()
        except OSError:  # ended meanwhile
            continue
        if marker in text and status.rpartition(b") ")[2][:1] not in b"ZX":
            yield int(entry)


def zombie_children() -> list[int]:
    """Return the pids of our own children that ended and were not reaped."""
    children = [int(pid) for pid in os.listdir("/proc") if pid.isdigit()]
    return [pid for pid in children if _stat(pid)[:2] == ["Z", str(os.getpid())]]


def _stat(pid: int) -> list[str]:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:  # ended meanwhile
        return []
