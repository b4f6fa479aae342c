"""Nothing but regular files is ever opened for its content, and nothing blocks."""

import os
import socket
import threading
from pathlib import Path

import anyio
import pytest

from harness.fs import FileSystem, FsError, TextEdit


@pytest.fixture
def special(root: str) -> dict[str, str]:
    os.mkfifo(f"{root}/fifo")
    with socket.socket(socket.AF_UNIX) as server:
        here = os.getcwd()
        os.chdir(root)  # the address of a socket must be short
        try:
            server.bind("socket")
        finally:
            os.chdir(here)
    return {
        "a named pipe": f"{root}/fifo",
        "a socket": f"{root}/socket",
        "a device": "/dev/zero",
        "a directory": root,
    }


@pytest.mark.spec("07-165")
async def test_special_files_are_refused_at_once(
    fs: FileSystem, root: str, special: dict[str, str]
) -> None:
    with anyio.fail_after(10):
        for kind, path in special.items():
            target = await fs.resolve(path, cwd=root)
            for attempt in (
                fs.read_text(target),
                fs.read_bytes(target),
                anext(aiter(fs.stream_text(target))),
                fs.write_text(target, "x"),
                fs.edit_text(target, TextEdit(old="a", new="b")),
            ):
                with pytest.raises(FsError, match=kind) as refusal:
                    await attempt
                assert refusal.value.code == "FS_NOT_REGULAR_FILE"
    info = await fs.stat(await fs.resolve("fifo", cwd=root))
    assert info is not None
    assert (info.type, info.size) == ("other", None)
    entries = await fs.list_dir(await fs.resolve(".", cwd=root))
    assert [entry.type for entry in entries] == ["other", "other"]


@pytest.mark.spec("07-166")
async def test_a_pipe_that_takes_the_place_of_a_file_cannot_block_a_read(
    fs: FileSystem, root: str
) -> None:
    path = f"{root}/a.txt"
    target = await fs.resolve(path, cwd=root)
    stop = threading.Event()

    def swap() -> None:
        while not stop.is_set():
            Path(f"{root}/file").write_text("text")
            os.rename(f"{root}/file", path)
            os.mkfifo(f"{root}/pipe")
            os.rename(f"{root}/pipe", path)

    swapper = threading.Thread(target=swap)
    swapper.start()
    try:
        outcomes: set[str] = set()
        with anyio.fail_after(30):
            for _ in range(300):
                try:
                    outcomes.add(await fs.read_text(target))
                except FsError as exc:
                    outcomes.add(exc.code)
    finally:
        stop.set()
        swapper.join()
    assert outcomes <= {"text", "", "FS_NOT_REGULAR_FILE", "FS_NOT_FOUND"}


async def test_a_link_put_in_the_place_of_a_file_is_not_followed(
    fs: FileSystem, root: str, disk
) -> None:
    target = await fs.resolve("a.txt", cwd=root)
    disk.put("secret", "secret")
    os.symlink("secret", f"{root}/a.txt")
    for attempt in (fs.read_text(target), fs.write_text(target, "x")):
        with pytest.raises(FsError, match="symbolic link"):
            await attempt
    assert disk.get("secret") == b"secret"


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="needs a proc file system")
async def test_files_whose_size_is_not_told_are_read_to_their_end(fs: FileSystem) -> None:
    target = await fs.resolve("/proc/self/status", cwd="/")
    assert "Pid:" in await fs.read_text(target)
    with pytest.raises(FsError) as refusal:
        await fs.read_bytes(target, max_bytes=10)
    assert refusal.value.code == "FS_TOO_LARGE"
