"""Creating without replacing, with and without the system call for it."""

import asyncio
import ctypes
import errno
import os
import stat
from collections.abc import Awaitable, Callable
from types import SimpleNamespace

import pytest

from harness.fs import CreateIfAbsent, FileSystem, FsError, TextEdit


def refusing(number: int):
    def renameat2(*_arguments: object) -> int:
        ctypes.set_errno(number)
        return -1

    return lambda *_args, **_kwargs: SimpleNamespace(renameat2=renameat2)


@pytest.mark.spec("07-171", "07-173")
@pytest.mark.parametrize(
    "library", [lambda *_args, **_kwargs: SimpleNamespace(), refusing(errno.ENOSYS)]
)
async def test_without_the_system_call_creators_still_do_not_overwrite(
    fs: FileSystem, root: str, disk, monkeypatch: pytest.MonkeyPatch, library
) -> None:
    monkeypatch.setattr(ctypes, "CDLL", library)
    target = await fs.resolve("a.txt", cwd=root)
    outcome = await fs.write_text(target, "one", expected=CreateIfAbsent())
    info = await fs.stat(target)
    assert info is not None
    assert info.version == outcome.version
    assert os.stat(f"{root}/a.txt").st_nlink == 1
    with pytest.raises(FsError) as refusal:
        await fs.write_text(target, "two", expected=CreateIfAbsent())
    assert refusal.value.code == "FS_NOT_OBSERVED"
    assert os.listdir(root) == ["a.txt"]


async def test_a_failing_rename_is_reported(
    fs: FileSystem, root: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ctypes, "CDLL", refusing(errno.EIO))
    target = await fs.resolve("a.txt", cwd=root)
    with pytest.raises(FsError, match="Input/output error") as refusal:
        await fs.write_text(target, "one", expected=CreateIfAbsent())
    assert refusal.value.code == "FS_IO_ERROR"
    assert os.listdir(root) == []


@pytest.mark.parametrize("case", [(errno.EINVAL, "done"), (errno.EIO, "failed")])
async def test_a_directory_that_cannot_be_flushed(
    fs: FileSystem, root: str, disk, monkeypatch: pytest.MonkeyPatch, case: tuple[int, str]
) -> None:
    number, outcome = case
    flush = os.fsync

    def fsync(fd: int) -> None:
        if stat.S_ISDIR(os.fstat(fd).st_mode):
            raise OSError(number, os.strerror(number))
        flush(fd)

    monkeypatch.setattr(os, "fsync", fsync)
    target = await fs.resolve("a.txt", cwd=root)
    if outcome == "done":
        assert (await fs.write_text(target, "one")).operation == "create"
    else:
        with pytest.raises(FsError, match="Input/output error"):
            await fs.write_text(target, "one")
    assert disk.get("a.txt") == b"one"
    assert os.listdir(root) == ["a.txt"]


async def raced(change: Callable[[], Awaitable[object]], root: str, interfere: Callable[[], None]):
    """Run `change` and interfere while its new content is being staged; return its refusal."""
    for _ in range(20):  # on a busy machine the change may be over before it was seen
        before = len(os.listdir(root))
        task = asyncio.ensure_future(change())
        while len(os.listdir(root)) == before and not task.done():
            await asyncio.sleep(0)
        interfere()
        await asyncio.wait([task])
        if task.exception() is not None:
            return task.exception()
    return None


@pytest.mark.spec("07-171")
async def test_a_creator_that_loses_to_another_program_does_not_overwrite(
    fs: FileSystem, root: str, disk
) -> None:
    target = await fs.resolve("a.txt", cwd=root)

    async def create() -> None:
        await fs.write_text(target, "ours" * 5_000_000, expected=CreateIfAbsent())

    refusal = await raced(create, root, lambda: disk.put("a.txt", "theirs"))
    assert isinstance(refusal, FsError)
    assert refusal.code == "FS_NOT_OBSERVED"
    assert disk.get("a.txt") == b"theirs"
    assert os.listdir(root) == ["a.txt"]


@pytest.mark.spec("07-172")
@pytest.mark.parametrize("gone", [False, True])
async def test_a_change_during_an_edit_is_not_lost(
    fs: FileSystem, root: str, disk, gone: bool
) -> None:
    target = await fs.resolve("a.txt", cwd=root)

    async def edit() -> None:
        disk.put("a.txt", "token" + "x" * 40_000_000)
        await fs.edit_text(target, TextEdit(old="token", new="TOKEN"))

    def interfere() -> None:
        if gone:
            os.unlink(f"{root}/a.txt")
        else:
            disk.put("a.txt", "theirs")

    disk.put("a.txt", "")
    refusal = await raced(edit, root, interfere)
    assert isinstance(refusal, FsError)
    assert refusal.code == "FS_STALE_VERSION"
    assert os.listdir(root) == ([] if gone else ["a.txt"])
    assert gone or disk.get("a.txt") == b"theirs"
