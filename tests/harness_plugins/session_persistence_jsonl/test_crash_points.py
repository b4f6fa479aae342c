"""Stop the process at every system call, and cut the power after every one."""

import random
import shutil
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from harness.session import SessionEvent, interrupted_turn_closers
from harness.session_persistence.contract import a_header, a_log
from harness.testing import SimulatedCrash
from harness_plugins.session_persistence_jsonl import JsonlBackend

Make = Callable[..., JsonlBackend]
LOG = a_log(1, open_turn=True)
CUTS = [0, 1, 3, 7, 11, len(LOG)]


async def write(backend: JsonlBackend, acknowledged: list[SessionEvent]):
    """Store the log in batches and note what was acknowledged; end without cleaning up."""
    lease: Any = await backend.acquire_lease(a_header())
    try:
        for start, end in pairwise(CUTS):
            await backend.append_batch(lease, LOG[start:end])
            acknowledged[:] = LOG[:end]
    finally:
        lease.lock.release()  # the kernel does, when a process dies


async def recover(backend: JsonlBackend) -> list[SessionEvent]:
    """Repair the log like `load` does and return all of it."""
    found = await backend.load_stored("session-a")
    if found is None:
        return []
    lease: Any = await backend.acquire_lease(found.header)
    try:
        closers = interrupted_turn_closers(found.events)
        await backend.commit_repair(lease, found.torn, closers)
    finally:
        lease.lock.release()
    again = await backend.load_stored("session-a")
    assert again is not None
    return list(again.events)


def check(events: list[SessionEvent], acknowledged: list[SessionEvent]):
    """Hold that nothing acknowledged is lost, nothing is invented, and the log is balanced."""
    possible = [LOG[:n] + interrupted_turn_closers(LOG[:n]) for n in range(len(LOG) + 1)]
    assert events in possible[len(acknowledged) :]


@pytest.mark.spec("05-34", "05-38", "05-68")
@pytest.mark.parametrize("partial_bytes", [0, 1, 400])
async def test_a_crash_at_any_call_loses_nothing(
    make_backend: Make, root: Path, fault_files: Any, partial_bytes: int
):
    crash_at, finished = 0, False
    while not finished:
        files = fault_files(crash_at, partial_bytes=partial_bytes)
        acknowledged: list[SessionEvent] = []
        try:
            await write(make_backend(files), acknowledged)
            finished = True
        except SimulatedCrash:
            pass
        check(await recover(make_backend()), acknowledged)
        check(await recover(make_backend()), acknowledged)
        shutil.rmtree(root, ignore_errors=True)
        crash_at += 1
    assert crash_at > 30


@pytest.mark.spec("05-68")
@pytest.mark.parametrize("partial_bytes", [0, 1, 100])
async def test_a_crash_at_any_call_of_a_repair_leaves_it_to_the_next_one(
    make_backend: Make, root: Path, fault_files: Any, partial_bytes: int
):
    await write(make_backend(), [])
    (path,) = root.glob("*/*/session.v1000.jsonl")
    crashed = path.read_bytes() + b'{"type":"todo/wr'
    crash_at, finished = 0, False
    while not finished:
        path.write_bytes(crashed)
        files = fault_files(crash_at, partial_bytes=partial_bytes)
        try:
            await recover(make_backend(files))
            finished = True
        except SimulatedCrash:
            pass
        check(await recover(make_backend()), LOG)
        crash_at += 1
    assert crash_at > 15


@pytest.mark.spec("05-36", "05-38")
@pytest.mark.parametrize("seed", range(3))
async def test_a_power_failure_after_any_call_loses_nothing_acknowledged(
    make_backend: Make, root: Path, fault_files: Any, seed: int
):
    rng = random.Random(seed)  # which unsynced bytes survive
    crash_at, finished = 0, False
    while not finished:
        files = fault_files(crash_at, partial_bytes=rng.randint(0, 300))
        acknowledged: list[SessionEvent] = []
        try:
            await write(make_backend(files), acknowledged)
            finished = True
        except SimulatedCrash:
            pass
        files.power_loss(root, lambda n_bytes: rng.randint(0, n_bytes))
        check(await recover(make_backend()), acknowledged)
        shutil.rmtree(root, ignore_errors=True)
        crash_at += 1
