"""One holder at a time, between processes and within one; death frees the lock."""

import os
import subprocess
import sys

import anyio
import pytest

from harness.durable_files import (
    LockOwner,
    LockTimeoutError,
    file_lock,
    read_owner,
    try_file_lock,
)
from harness.testing import FakeClock

HOLDER = """
import sys
from harness.durable_files import try_file_lock
lock = try_file_lock(sys.argv[1])
print("held" if lock else "busy", flush=True)
sys.stdin.read()
"""


def take(path):
    lock = try_file_lock(path)
    assert lock is not None
    return lock


def owner_pid(path):
    owner = read_owner(path)
    assert owner is not None
    return owner.pid


@pytest.fixture
def guarded(tmp_path):
    path = tmp_path / "settings.yaml"
    path.write_text("content")
    return path


@pytest.fixture
def holder(guarded):
    """Another process that holds the lock until its stdin is closed."""
    command = [sys.executable, "-c", HOLDER, str(guarded)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdin is not None
        assert process.stdout.read(5) == b"held\n"
        yield process
        process.stdin.close()


async def test_the_lock_is_exclusive_within_this_process_too(guarded):
    async with file_lock(guarded) as lock:
        assert lock.held
        assert lock.path == guarded.with_name("settings.yaml.lock")
        assert lock.path.stat().st_mode & 0o777 == 0o600
        assert try_file_lock(guarded) is None
    assert not lock.held
    again = take(guarded)
    again.release()
    again.release()


async def test_an_error_in_the_block_frees_the_lock(guarded):
    with pytest.raises(LookupError):
        async with file_lock(guarded):
            raise LookupError
    async with file_lock(guarded, wait_s=0):
        pass


@pytest.mark.spec("07-20")
async def test_a_lock_held_for_longer_than_the_wait_is_an_error_that_names_it(guarded, holder):
    clock = FakeClock()
    errors = []

    async def wait():
        with pytest.raises(LockTimeoutError) as caught:
            async with file_lock(guarded, wait_s=0.5, clock=clock):
                pass
        errors.append(caught.value)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(wait)
        await clock.advance(0.49)
        assert errors == []
        await clock.advance(0.02)
    (error,) = errors
    assert isinstance(error, TimeoutError)
    assert str(guarded.with_name("settings.yaml.lock")) in str(error)
    assert f"process {holder.pid} on" in str(error)
    assert guarded.read_text() == "content"


async def test_the_waits_grow_and_the_last_one_ends_with_the_limit(guarded):
    clock = FakeClock()
    times = []

    class Noting(FakeClock):
        def time(self):
            return clock.time()

        async def sleep(self, delay_s):
            times.append(round(delay_s, 3))
            await clock.advance(delay_s)

    held = take(guarded)
    with pytest.raises(LockTimeoutError):
        async with file_lock(guarded, wait_s=1, clock=Noting()):
            pass
    held.release()
    assert times == [0.02, 0.04, 0.08, 0.16, 0.2, 0.2, 0.2, 0.1]


@pytest.mark.spec("07-19")
async def test_a_waiter_proceeds_when_the_holder_is_killed(guarded, holder):
    assert try_file_lock(guarded) is None
    assert owner_pid(guarded) == holder.pid
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(anyio.to_thread.run_sync, holder.kill)
        async with file_lock(guarded, wait_s=30) as lock:
            assert lock.held
            assert owner_pid(guarded) == os.getpid()


async def test_cancelling_the_wait_takes_nothing(guarded, holder):
    with anyio.move_on_after(0.01) as scope:
        async with file_lock(guarded, wait_s=60):
            raise AssertionError("the lock is held by another process")
    assert scope.cancelled_caught
    holder.stdin.close()
    holder.wait()
    async with file_lock(guarded):
        pass


def test_a_lock_file_left_behind_means_nothing(guarded):
    guarded.with_name("settings.yaml.lock").write_bytes(b'{"pid":1,"host":"gone"}')
    assert read_owner(guarded) == LockOwner(1, "gone")
    lock = take(guarded)
    assert owner_pid(guarded) == os.getpid()
    lock.release()


@pytest.mark.parametrize(
    "content", [b"", b"12345", b'{"pid":"x","host":"h"}', b"\xff", b"[" * 9000]
)
def test_a_record_that_nobody_can_read_is_no_owner(guarded, content):
    guarded.with_name("settings.yaml.lock").write_bytes(content)
    assert read_owner(guarded) is None


async def test_without_a_record_the_timeout_still_says_what_happened(guarded, holder):
    guarded.with_name("settings.yaml.lock").write_bytes(b"")
    with pytest.raises(LockTimeoutError, match="another process after 0 s"):
        async with file_lock(guarded, wait_s=0):
            pass


def test_a_lock_whose_file_was_removed_guards_nothing_and_is_taken_anew(guarded):
    path = guarded.with_name("settings.yaml.lock")
    first = take(guarded)
    path.unlink()
    second = take(guarded)
    assert try_file_lock(guarded) is None
    first.release()
    assert try_file_lock(guarded) is None
    second.release()


@pytest.mark.parametrize("replaced", [True, False])
def test_a_lock_file_removed_while_it_is_opened_is_opened_again(guarded, monkeypatch, replaced):
    path = guarded.with_name("settings.yaml.lock")
    opened = []
    open_file = os.open

    def open_and_lose(*args):
        opened.append(open_file(*args))
        if len(opened) == 1:
            path.unlink()
            if replaced:
                path.write_bytes(b"")
        return opened[-1]

    monkeypatch.setattr(os, "open", open_and_lose)
    lock = take(guarded)
    assert len(opened) == 2
    assert try_file_lock(guarded) is None
    lock.release()


def test_an_error_while_locking_closes_the_lock_file(guarded, monkeypatch):
    monkeypatch.setattr(os, "fstat", lambda _fd: (_ for _ in ()).throw(OSError("stat failed")))
    with pytest.raises(OSError, match="stat failed"):
        try_file_lock(guarded)
    monkeypatch.undo()
    lock = take(guarded)
    lock.release()


def test_a_link_in_the_place_of_the_lock_is_refused(guarded, tmp_path):
    guarded.with_name("settings.yaml.lock").symlink_to(tmp_path / "victim")
    with pytest.raises(OSError, match="link"):
        try_file_lock(guarded)
    assert not (tmp_path / "victim").exists()


async def test_many_processes_never_hold_it_together(tmp_path):
    counter = tmp_path / "counter"
    counter.write_text("0")
    program = """
import asyncio, sys
from pathlib import Path
from harness.durable_files import file_lock
async def main():
    path = Path(sys.argv[1])
    for _ in range(20):
        async with file_lock(path, wait_s=60):
            path.write_text(str(int(path.read_text()) + 1))
asyncio.run(main())
"""
    async with anyio.create_task_group() as tasks:
        for _ in range(3):
            tasks.start_soon(anyio.run_process, [sys.executable, "-c", program, str(counter)])
    assert counter.read_text() == "60"
