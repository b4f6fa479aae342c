"""Aborts, cancellation and unloading while work is under way."""

import asyncio
import os

import anyio
import anyio.lowlevel
import pytest

from harness.fs import FileSystem, FsError, TextEdit
from harness_plugins.fs_local import FsLocal
from vendor_shims.cordis import AbortController, Context

BIG = "x" * 60_000_000


async def until_staged(root: str) -> None:
    """Wait until a change has begun to write beside its target."""
    with anyio.fail_after(20):
        while not any(name.endswith(".tmp") for name in os.listdir(root)):
            await anyio.lowlevel.checkpoint()


@pytest.mark.spec("07-174", "07-177")
async def test_aborting_a_write_under_way_leaves_the_old_file(
    fs: FileSystem, root: str, disk
) -> None:
    disk.put("a.txt", "old")
    target = await fs.resolve("a.txt", cwd=root)
    controller = AbortController()
    async with asyncio.TaskGroup() as group:
        write = group.create_task(attempt(fs.write_text(target, BIG, signal=controller.signal)))
        await until_staged(root)
        controller.abort()
    assert (write.result(), len(disk.get("a.txt"))) in {("FS_ABORTED", 3), ("done", len(BIG))}
    assert os.listdir(root) == ["a.txt"]


@pytest.mark.spec("07-174")
@pytest.mark.parametrize("n_cancels", [1, 3])
async def test_a_cancelled_write_has_ended_when_its_task_has(
    fs: FileSystem, root: str, disk, n_cancels: int
) -> None:
    disk.put("a.txt", "old")
    target = await fs.resolve("a.txt", cwd=root)
    write = asyncio.ensure_future(fs.write_text(target, BIG))
    await until_staged(root)
    for _ in range(n_cancels):
        write.cancel()
        await asyncio.sleep(0)
    with pytest.raises(asyncio.CancelledError):
        await write
    assert os.listdir(root) == ["a.txt"]
    assert len(disk.get("a.txt")) in {3, len(BIG)}
    await fs.write_text(target, "next")
    assert disk.get("a.txt") == b"next"


async def test_a_change_cancelled_before_it_got_a_thread_does_nothing(root: str, disk) -> None:
    disk.put("a.txt", "old")
    os.mkfifo(f"{root}/gate")
    async with Context() as ctx:
        await ctx.plugin(FsLocal, {"threads": 1})
        fs = ctx[FileSystem]
        target = await fs.resolve("a.txt", cwd=root)
        busy = await fs.resolve("busy.txt", cwd=root)
        async with asyncio.TaskGroup() as group:
            first = group.create_task(fs.write_text(busy, BIG))
            await until_staged(root)
            second = group.create_task(fs.write_text(target, "new"))
            await asyncio.sleep(0)
            await asyncio.sleep(0)
            second.cancel()
        assert first.result().operation == "create"
    assert second.cancelled()
    assert disk.get("a.txt") == b"old"


@pytest.mark.spec("07-177")
async def test_aborting_in_the_queue_lets_the_others_proceed(
    fs: FileSystem, root: str, disk
) -> None:
    target = await fs.resolve("a.txt", cwd=root)
    controller = AbortController()
    async with asyncio.TaskGroup() as group:
        group.create_task(fs.write_text(target, BIG))
        await until_staged(root)
        edit = TextEdit(old="x", new="never")
        queued = group.create_task(attempt(fs.edit_text(target, edit, signal=controller.signal)))
        last = group.create_task(fs.write_text(target, "last"))
        await asyncio.sleep(0)
        controller.abort("no more")
        await asyncio.sleep(0)
    assert queued.result() == "FS_ABORTED"
    assert last.result().before is None
    assert disk.get("a.txt") == b"last"


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="counts open descriptors in /proc")
async def test_a_stream_gives_its_descriptor_back_however_it_ends(
    fs: FileSystem, root: str, disk
) -> None:
    disk.put("a.txt", BIG)
    target = await fs.resolve("a.txt", cwd=root)
    n_open = len(os.listdir("/proc/self/fd"))
    left = fs.stream_text(target)
    await anext(left)
    assert len(os.listdir("/proc/self/fd")) == n_open + 1
    await left.aclose()
    assert len(os.listdir("/proc/self/fd")) == n_open
    for attempt_number in range(60):  # cancelled before, while and after a thread reads
        stream = fs.stream_text(target)
        await anext(stream)
        reading = asyncio.ensure_future(anext(stream))
        for _ in range(attempt_number % 10):
            await asyncio.sleep(0)
        reading.cancel()
        await asyncio.wait([reading])
        await stream.aclose()
    with anyio.fail_after(10):
        while len(os.listdir("/proc/self/fd")) != n_open:
            await anyio.sleep(0.001)


async def test_a_failed_stream_ends(fs: FileSystem, root: str, disk) -> None:
    disk.put("a.txt", b"\xff")
    stream = fs.stream_text(await fs.resolve("a.txt", cwd=root))
    with pytest.raises(FsError):
        await anext(stream)
    with pytest.raises(StopAsyncIteration):
        await anext(stream)


async def attempt(work) -> str:
    try:
        await work
    except FsError as exc:
        return exc.code
    return "done"
